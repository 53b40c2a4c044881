"""Workflows in WfFormat (wfcommons.org), schema versions 1.5 and 1.6."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError, quoted
from bats.master.sweep.workflow.task_list import ListedTask, TaskList

VERSIONS: Final = ("1.5", "1.6")


def is_wfformat(written: Any) -> bool:
    return isinstance(written, Mapping) and "schemaVersion" in written and "workflow" in written


def wfformat(path: Path, written: Mapping[str, Any], text: str) -> TaskList:
    """Raises UsageError for what is no workflow; of the rest what is not used is noted."""
    version = str(written["schemaVersion"])
    if version not in VERSIONS:
        raise UsageError(
            f"{_at(path, text, 'schemaVersion')}: WfFormat {version} is not read, only "
            f"{' and '.join(VERSIONS)}; WfCommons has a tool that migrates older files."
        )
    try:
        specified = written["workflow"]["specification"]["tasks"]
        ran = {one["id"]: one for one in written["workflow"].get("execution", {}).get("tasks", [])}
        tasks = [_task(path, text, one, ran.get(one["id"], {})) for one in specified]
        if len({task.step for task in tasks}) * 2 > len(tasks):  # each has a name of its own
            tasks = [
                replace(task, step=_program(ran.get(task.id, {})) or task.step) for task in tasks
            ]
        _agree(path, text, specified)
    except (LookupError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path}: this is no WfFormat {version}: {type(error).__name__} {error} in its "
            "`workflow`."
        ) from None
    notes = []
    if several := sum((one.get("coreCount") or 1) > 1 for one in ran.values()):
        place = _at(path, text, "coreCount")
        notes.append(
            f"{place}: `coreCount` of {several} tasks is above 1; each takes one slot here"
        )
    files = ""
    if any(one.get("inputFiles") for one in specified):
        files = _at(path, text, "inputFiles")
    name = written.get("name")
    return TaskList(
        str(name or path.name.partition(".")[0]),
        tasks,
        str(path.absolute().parent),
        notes=tuple(notes),
        files=files,
    )


def _task(path: Path, text: str, one: Mapping[str, Any], ran: Mapping[str, Any]) -> ListedTask:
    number = one["id"]
    command = ran.get("command") or {}
    program, arguments = command.get("program", ""), command.get("arguments") or []
    seconds = ran.get("runtimeInSeconds")
    if seconds is not None and (type(seconds) not in {int, float} or seconds < 0):
        raise UsageError(
            f"{_at(path, text, number)}: `runtimeInSeconds` of {quoted(number)} should be a "
            f"number, 0 or more, not {quoted(seconds)}."
        )
    return ListedTask(
        str(number),
        tuple(map(str, one.get("parents", []))),
        # A program with blanks is a script, as recorders write those of some engines.
        " ".join([program if any(c.isspace() for c in program) else shlex.quote(program),
                  *map(shlex.quote, map(str, arguments))]) if program else "",
        _kind(str(one.get("name") or "task"), str(number)),
        seconds,
        where=_at(path, text, number),
    )  # fmt: skip


def _program(ran: Mapping[str, Any]) -> str:
    """The name of its program; "" of what is rather a script."""
    program = (ran.get("command") or {}).get("program", "")
    return "" if any(c.isspace() for c in program) else program.rpartition("/")[2]


def _kind(name: str, number: str) -> str:
    """The name of its kind: names of some recorders end in the task's own number."""
    if name == number or name.rpartition("_")[2].isdecimal():
        kind = name.rpartition("_")
        return kind[0] if kind[0] and kind[2].lstrip("ID").isdecimal() else name
    return name


def _agree(path: Path, text: str, tasks: list[Mapping[str, Any]]) -> None:
    """Parents count; a pair that `children` tells otherwise is refused."""
    said = {(str(up), str(one["id"])) for one in tasks for up in one.get("parents", [])}
    children = {(str(one["id"]), str(down)) for one in tasks for down in one.get("children", [])}
    if odd := sorted(children - said) or sorted(said - children):
        parent, child = odd[0]
        whose = "`children` of the first" if odd[0] in children else "`parents` of the second"
        raise UsageError(
            f"{_at(path, text, parent)}: {quoted(parent)} comes before {quoted(child)} by {whose} "
            "alone; both must say so."
        )


def _at(path: Path, text: str, what: Any) -> str:
    """The line where a text first stands in quotes."""
    found = text.find(json.dumps(str(what)))
    return f"{path}, line {text.count(chr(10), 0, found) + 1}" if found >= 0 else str(path)
