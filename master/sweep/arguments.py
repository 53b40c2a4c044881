"""The same sweeps from a command line: `-p alpha=0.1:1:0.1 -- python sim.py {alpha}`."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError, quoted
from bats.master.model_checks import check
from bats.master.sweep.columns import Column, Listed, looks_like_range, range_of
from bats.master.sweep.one_liner import expanded, more_like
from bats.master.sweep.policy import Policy
from bats.master.sweep.recipe import axes_of
from bats.master.sweep.space import Space
from bats.master.sweep.sweep_model import LinesOf, SweepFile, parameter_name
from bats.master.sweep.sweep_reading import KINDS, build
from bats.master.sweep.value_files import line_axis
from bats.master.sweep.work import Work
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation
from bats.master.sweep.workflow.workflow import Workflow
from bats.master.userfile import Document, read_document, sentence

_NO_FILE: Final = Document(
    "",
    {},
    flags={
        "grid": "-p",
        "command": "The command",
        "argv": "The command",
        **{f"policy.{name}": f"--{name}" for name in Policy.model_fields},
    },
)


def from_arguments(
    words: Sequence[str] = (),
    *,
    file: str | Path = "",
    parameters: Sequence[str] = (),
    zipped: Sequence[str] = (),
    array: str = "",
    csv_file: str = "",
    lines: Iterable[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    emulation: Emulation | None = None,
    in_python: bool = False,
    to_be_open: bool = False,
) -> Work:
    """The sweep that options mean, alone or over what a `file` says.

    `words` stand after `--`: a program and its arguments, or one text with blanks for the shell.
    Values may follow it after `:::`, for `{}`. `parameters` are `-p NAME=VALUES`, `zipped` likewise
    but go together row by row, `lines` come from standard input: each is a command, or fills
    `{line}`. `settings` are further keys of the sweep file, `policy` those of its table of that
    name; None values are passed over. One `to_be_open` gets tasks later. `in_python`: a program
    gives them, and mistakes are told by their keys. Raises UsageError with one sentence.
    """
    said = {key: value for key, value in (settings or {}).items() if value is not None}
    chosen = {key: value for key, value in (policy or {}).items() if value is not None}
    if file and (workflow := foreign_workflow(file, emulation)) is not None:
        if words or parameters or zipped or array or csv_file or lines is not None:
            raise UsageError(f"{file} is a workflow: it has its commands and values already.")
        if to_be_open:
            raise UsageError(f"{file} is a workflow: it has all its tasks from the beginning.")
        return _with_limits(workflow, said, chosen)
    if emulation is not None:
        raise UsageError(
            "--emulate is for workflows with recorded runtimes: WfFormat, DAX, lists of tasks."
        )
    document = read_document(file, "the sweep file", kinds=KINDS) if file else _NO_FILE
    data = dict(document.data)
    axis = None if lines is None else line_axis(lines, "standard input")
    words, more = expanded(words, axis) if words else (words, [axis] if axis else [])
    if words:
        data.pop("command", None)
        data.pop("argv", None)
        data |= _what_to_run(words)
    if parameters:
        grid = data.get("grid", {})
        data["grid"] = (grid if isinstance(grid, dict) else {}) | _given(parameters, "-p")
    if zipped:
        data["zip"] = [_given(zipped, "--zip")]
    if array:
        data["array"] = array
    if csv_file:
        data["csv"] = str(Path(csv_file).absolute())
    data |= said
    if chosen:
        table = data.get("policy", {})
        data["policy"] = table | chosen if isinstance(table, dict) else table
    if axis and not data.get("command") and not data.get("argv"):
        data["command"] = "{line!raw}"
    given = replace(document, data=data, options=frozenset(said), in_python=in_python)
    return build(given, more=more, to_be_open=to_be_open)


def values_to_add(
    names: Sequence[str],
    words: Sequence[str] = (),
    *,
    parameters: Sequence[str] = (),
    zipped: Sequence[str] = (),
    csv_file: str = "",
    lines: Iterable[str] | None = None,
) -> Space:
    """The tasks to add to an open bag with these parameters; words are values of its only one.

    Those that `{.}` and the like made of one of `:::` are made again. Raises UsageError.
    """
    given = list(words) if lines is None else [*words, *line_axis(lines, "input").columns[0]]
    axes = []
    if given:
        like = more_like(names, given)
        if like is None:
            raise UsageError(
                f"Each task has values for {', '.join(names)}: give them by -p, --zip or --csv."
            )
        axes.append(like)
    if parameters or zipped or csv_file:
        data = {
            "command": "true",
            "grid": _given(parameters, "-p"),
            "zip": [_given(zipped, "--zip")] if zipped else [],
            **({"csv": str(Path(csv_file).absolute())} if csv_file else {}),
        }
        document = replace(_NO_FILE, data=data)
        axes += axes_of(check(SweepFile, document), document)
    if not axes:
        raise UsageError("There is nothing to add: give values.")
    try:
        return Space(tuple(axes))
    except ValueError as error:
        raise UsageError(f"{str(error)[0].upper()}{str(error)[1:]}.") from None


def _with_limits(
    workflow: Workflow, said: Mapping[str, Any], policy: Mapping[str, Any]
) -> Workflow:
    """The workflow with what options say of all its tasks, and of the whole."""
    data = {"command": "true", **said, "policy": policy}
    document = replace(_NO_FILE, data=data, options=frozenset(said))
    file = check(SweepFile, document)
    if "compat" in said:
        raise UsageError("--compat is for job arrays; this is a workflow.")
    more: dict[str, Any] = {}
    if "timeout" in said:
        more["timeout_seconds"] = file.timeout
    if "memory" in said:
        more["memory_bytes"] = file.memory
    if "pids" in said:
        more["pids"] = file.pids
    if "cpus" in said:
        more["slots"] = file.cpus
    if "gpus" in said:
        more["gpus"] = file.gpus
    if "cwd" in said:
        more["cwd"] = str(Path(file.cwd or "").expanduser().absolute())
    usual = file.retries if "retries" in said else None
    return replace(
        workflow,
        steps=tuple(replace(step, **more) for step in workflow.steps),
        retries=tuple(usual if own is None else own for own in workflow.retries),
        name=file.name or workflow.name,
        max_failures=file.max_failures,
        budget=file.budget,
        deadline_seconds=file.deadline,
        pick=file.pick,
        notify=file.notify,
        policy=file.policy.settings(),
    )


def values_given(text: str) -> Column | LinesOf:
    """Values after `NAME=`: a range, a list with commas (quotes as in CSV) or `@file`."""
    if text.startswith("@"):
        return LinesOf(str(Path(text[1:]).absolute()))
    if looks_like_range(text):
        return range_of(text)
    try:
        (values,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise ValueError(
            f"{quoted(text)} cannot be split at its commas; check the quotes"
        ) from None
    if not all(value.strip() for value in values):
        raise ValueError(f"{quoted(text)} has an empty value between its commas")
    return Listed(values)


def _what_to_run(words: Sequence[str]) -> dict[str, Any]:
    if len(words) == 1 and any(sign in words[0] for sign in " \t\n|&;<>$"):
        return {"command": words[0]}
    return {"argv": list(words)}


def _given(options: Sequence[str], option: str) -> dict[str, Column | LinesOf]:
    given: dict[str, Column | LinesOf] = {}
    for text in options:
        name, equals, values = text.partition("=")
        place = f"{option} {text if text.isprintable() else quoted(text)}"
        if not equals or not values.strip():
            raise UsageError(
                f"{place}: write {option} NAME=VALUES, for example {option} seed=1,2,3 "
                f"or {option} alpha=0.1:1:0.1."
            )
        try:
            values_by_name = {parameter_name(name.strip()): values_given(values.strip())}
        except ValueError as error:
            raise UsageError(sentence(place, str(error))) from None
        if given.keys() & values_by_name.keys():
            raise UsageError(f"{place}: {name} is given twice; put its values in one list.")
        given |= values_by_name
    return given
