"""HTCondor DAGMan files: JOB, PARENT … CHILD, VARS, RETRY, SCRIPT, DONE, and rescue files."""

import re
import shlex
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.records import dataclass
from bats.master.sweep.workflow.submit_description import (
    Description,
    description,
    read_description,
    shell_command,
)
from bats.master.sweep.workflow.task_list import ListedTask, TaskList
from bats.master.userfile import read_text

_ELSEWHERE: Final = {
    "SUBDAG": "a DAG within a DAG is not read; list its nodes here",
    "SPLICE": "a DAG within a DAG is not read; list its nodes here",
    "INCLUDE": "other files are not read; put their lines here",
}
_WITHOUT: Final = frozenset(
    {
        "PRIORITY", "CATEGORY", "MAXJOBS", "CONFIG", "ABORT-DAG-ON", "DOT", "NODE_STATUS_FILE",
        "JOBSTATE_LOG", "SET_JOB_ATTR", "PRE_SKIP", "FINAL", "PROVISIONER", "SERVICE", "REJECT",
        "CONNECT", "PIN_IN", "PIN_OUT", "ENV", "SAVE_POINT_FILE",
    }
)  # fmt: skip
"""Commands that mean nothing here: they are noted, and what they name is not run."""

_VARIABLE: Final = re.compile(r'([A-Za-z_+]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')


@dataclass(slots=True)
class _Node:
    name: str
    file: str  # its submit description, or one of those named in the file itself
    line: int
    folder: str = ""
    nothing: bool = False  # NOOP
    done: bool = False
    macros: dict[str, str] = field(default_factory=dict)
    before: str = ""  # SCRIPT PRE
    after: str = ""  # SCRIPT POST
    retries: int = 0
    parents: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[str, _Node] = {}
        self.notes: list[str] = []
        self.line = 0
        self.for_all: dict[str, str] = {}
        self.descriptions: dict[str, Description] = {}
        self._text = read_text(path, "the DAG").splitlines()

    def fail(self, said: str) -> UsageError:
        return UsageError(f"{self.path}, line {self.line}: {said}.")

    def note(self, said: str) -> None:
        self.notes.append(f"{self.path}, line {self.line}: {said}")

    def read(self) -> None:
        lines = iter(enumerate(self._text, 1))
        for self.line, raw in lines:
            words = raw.split()
            if not words or raw.lstrip().startswith("#"):
                continue
            command = words[0].upper()
            if command in {"JOB", "SUBMIT-DESCRIPTION"} and words[-1] == "{":
                first, body = self.line + 1, []
                for _, inner in lines:
                    if inner.strip() == "}":
                        break
                    body.append(inner)
                made = description("\n".join(body), str(self.path), first)
                self.descriptions[f"{{{words[1]}}}" if command == "JOB" else words[1]] = made
                if command == "JOB":
                    self.job([*words[:2], f"{{{words[1]}}}"])
            elif command in _COMMANDS:
                _COMMANDS[command](self, words)
            elif command in _ELSEWHERE:
                raise self.fail(f"{command}: {_ELSEWHERE[command]}")
            elif command in _WITHOUT:
                self.note(f"{command} means nothing here")
            else:
                raise self.fail(f"{quoted(words[0])} is no command of DAGMan that is known")

    def job(self, words: list[str]) -> None:
        if len(words) < 3:
            raise self.fail("JOB needs a name and a submit description")
        _, name, file, *rest = words
        if name in self.nodes:
            raise self.fail(f"the node {name} is given before, in line {self.nodes[name].line}")
        node = self.nodes[name] = _Node(name, file, self.line)
        while rest:
            word = rest.pop(0).upper()
            if word == "DIR" and rest:
                node.folder = rest.pop(0)
            elif word == "NOOP":
                node.nothing = True
            elif word == "DONE":
                node.done = True
            else:
                raise self.fail(f"{word} is not known after JOB")

    def order(self, words: list[str]) -> None:
        upper = [word.upper() for word in words]
        if "CHILD" not in upper or not 1 < upper.index("CHILD") < len(words) - 1:
            raise self.fail("write PARENT a b CHILD c d")
        middle = upper.index("CHILD")
        for child in self.named(words[middle + 1 :]):
            child.parents += [one.name for one in self.named(words[1:middle])]

    def vars(self, words: list[str]) -> None:
        text = self._text[self.line - 1].split(maxsplit=2)
        rest = text[2] if len(text) > 2 else ""
        found = {
            name.lower().lstrip("+"): re.sub(r"\\(.)", r"\1", value)
            for name, value in _VARIABLE.findall(rest)
        }
        if not found:
            raise self.fail('write VARS node name="value"')
        for node in self.named(words[1:2]):
            node.macros |= found

    def retry(self, words: list[str]) -> None:
        if len(words) < 3 or not words[2].isdecimal():
            raise self.fail("write RETRY node number")
        if len(words) > 3:
            self.note("UNLESS-EXIT means nothing here: whatever its exit code, it is tried again")
        for node in self.named(words[1:2]):
            node.retries = min(int(words[2]), 1000)

    def script(self, words: list[str]) -> None:
        words = words[1:]
        while words and words[0].upper() in {"DEFER", "DEBUG"}:
            self.note(f"{words[0].upper()} means nothing here")
            words = words[3:]
        if len(words) < 3 or words[0].upper() not in {"PRE", "POST"}:
            if words and words[0].upper() == "HOLD":
                self.note("SCRIPT HOLD means nothing here")
                return
            raise self.fail("write SCRIPT PRE node program, or SCRIPT POST")
        for node in self.named(words[1:2]):
            line = " ".join(words[2:])
            if words[0].upper() == "PRE":
                node.before = line
            else:
                node.after = line

    def finished(self, words: list[str]) -> None:
        for node in self.named(words[1:]):
            node.done = True

    def named(self, names: list[str]) -> list[_Node]:
        if [name.upper() for name in names] == ["ALL_NODES"]:
            return list(self.nodes.values())
        for name in names:
            if name not in self.nodes:
                raise self.fail(f"there is no node {quoted(name)} above")
        return [self.nodes[name] for name in names]


_COMMANDS: Final[dict[str, Callable[[_Reader, list[str]], None]]] = {
    "JOB": _Reader.job,
    "NODE": _Reader.job,
    "PARENT": _Reader.order,
    "VARS": _Reader.vars,
    "RETRY": _Reader.retry,
    "SCRIPT": _Reader.script,
    "DONE": _Reader.finished,
}


def dagman(path: Path) -> TaskList:
    """The nodes that are not done yet. Raises UsageError with the line of the first mistake."""
    reader = _Reader(path)
    reader.read()
    notes = list(reader.notes)
    if rescue := _rescue(path):
        done = _done_by(rescue)
        for name in done & reader.nodes.keys():
            reader.nodes[name].done = True
        notes.append(f"{rescue}: {len(done)} of {len(reader.nodes)} nodes are done and left out")
    folder = path.absolute().parent
    open_nodes = {name: node for name, node in reader.nodes.items() if not node.done}
    if not open_nodes:
        raise UsageError(f"{path}: every node is done.")
    described: dict[str, Description] = {}
    tasks = []
    for node in open_nodes.values():
        made = _described(node, reader, described, folder)
        tasks.append(
            ListedTask(
                node.name,
                tuple(one for one in dict.fromkeys(node.parents) if one in open_nodes),
                _command(node, made, folder),
                "noop" if made is None else Path(node.file.strip("{}")).stem,
                retries=node.retries,
                where=f"{path}, line {node.line}",
            )
        )
    notes += dict.fromkeys(note for made in described.values() for note in made.notes)
    return TaskList(path.stem, tasks, str(folder), notes=tuple(notes))


def _described(
    node: _Node, reader: _Reader, known: dict[str, Description], folder: Path
) -> Description | None:
    if node.nothing:
        return None
    if node.file in reader.descriptions:
        return known.setdefault(node.file, reader.descriptions[node.file])
    path = folder / node.folder / node.file
    if not path.exists():
        where = f"{reader.path}, line {node.line}"
        raise UsageError(f"{where}: the submit description {path} is not there.")
    if str(path) not in known:
        known[str(path)] = read_description(path)
    return known[str(path)]


def _command(node: _Node, made: Description | None, folder: Path) -> str:
    """Its script before, its program, its script after, which says whether it has succeeded."""
    where = str(folder / node.folder)
    macros = {**node.macros, "job": node.name, "retry": "0", "jobid": "0"}
    parts = []
    if node.before:
        parts.append(f"(cd {shlex.quote(where)} && {_script(node.before, node)})")
    if made is not None:
        # One that has its own folder counts from the node's.
        own = made.keys.get("initialdir", "")
        made = replace(made, keys={**made.keys, "initialdir": str(Path(where, own))})
        parts.append(f"({shell_command(made, macros, where)})")
    line = " && ".join(parts) or "true"
    if node.after:
        line += f"; RETURN=$?; cd {shlex.quote(where)} && {_script(node.after, node)}"
    return line


def _script(line: str, node: _Node) -> str:
    """A script's line; of DAGMan's macros it may have $JOB and $RETURN."""
    words = []
    for word in line.split():
        known = {"$JOB": shlex.quote(node.name), "$RETURN": '"$RETURN"', "$RETRY": "0"}
        words.append(known.get(word, shlex.quote(word)))
    if "/" not in words[0]:
        words[0] = f"./{words[0]}"
    return " ".join(words)


def _rescue(path: Path) -> Path | None:
    """The newest rescue file, which DAGMan would go on from."""
    found = sorted(path.parent.glob(f"{path.name}.rescue[0-9][0-9][0-9]"))
    return found[-1] if found else None


def _done_by(rescue: Path) -> set[str]:
    lines = (line.split() for line in read_text(rescue, "the rescue file").splitlines())
    return {words[1] for words in lines if len(words) == 2 and words[0].upper() == "DONE"}
