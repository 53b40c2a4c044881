"""Abstract workflows of Pegasus 4 and older: DAX, versions 2.1 to 3.6."""

import shlex
from dataclasses import field
from pathlib import Path
from typing import Final
from xml.parsers import expat

from bats.common.errors import UsageError, quoted
from bats.common.records import dataclass
from bats.master.sweep.workflow.task_list import ListedTask, TaskList
from bats.master.userfile import read_text

_WITHIN: Final = {"dax": "a DAX within a DAX", "dag": "a DAG within a DAX"}
_SILENT: Final = frozenset({"adag", "filename", "file", "uses", "parent", "child", "argument"})


@dataclass(slots=True)
class _Job:
    id: str
    name: str
    line: int
    seconds: float | None = None
    words: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name.partition(".")[0]
        self.jobs: dict[str, _Job] = {}
        self.notes: dict[str, int] = {}
        self._job: _Job | None = None
        self._child: list[str] | None = None
        self._argument: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity

    def read(self, text: str) -> None:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise UsageError(
                f"{self.path}, line {error.lineno}: this is not XML: {error}."
            ) from None

    def _here(self) -> str:
        return f"{self.path}, line {self._parser.CurrentLineNumber}"

    def _entity(self, *_: object) -> None:
        raise UsageError(f"{self._here()}: entities are not read.")

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag in _WITHIN:
            raise UsageError(f"{self._here()}: {_WITHIN[tag]} is not read; list its jobs here.")
        try:
            self._open(tag, given)
        except KeyError as error:
            raise UsageError(f"{self._here()}: <{tag}> has no {error}.") from None
        except ValueError:
            raise UsageError(
                f"{self._here()}: `runtime` should be a number, not {quoted(given['runtime'])}."
            ) from None

    def _open(self, tag: str, given: dict[str, str]) -> None:
        if tag == "adag":
            self.name = given.get("name", self.name)
        elif tag == "job":
            runtime = float(given["runtime"]) if "runtime" in given else None
            self._job = _Job(given["id"], given["name"], self._parser.CurrentLineNumber, runtime)
            if self._job.id in self.jobs:
                raise UsageError(f"{self._here()}: the job {quoted(self._job.id)} is given before.")
            self.jobs[self._job.id] = self._job
        elif tag == "argument":
            self._argument = []
        elif tag in {"file", "filename"} and self._argument is not None:
            self._argument.append(f" {given['name'] if tag == 'file' else given['file']} ")
        elif tag == "child":
            if given["ref"] not in self.jobs:
                raise UsageError(f"{self._here()}: there is no job {quoted(given['ref'])}.")
            self._child = self.jobs[given["ref"]].parents
        elif tag == "parent" and self._child is not None:
            self._child.append(given["ref"])
        elif tag not in _SILENT:
            self.notes.setdefault(tag, self._parser.CurrentLineNumber)

    def _text(self, text: str) -> None:
        if self._argument is not None:
            self._argument.append(text)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "argument" and self._job is not None and self._argument is not None:
            self._job.words = "".join(self._argument).split()
            self._argument = None
        elif tag == "child":
            self._child = None
        elif tag == "job":
            self._job = None


def dax(path: Path) -> TaskList:
    """The jobs of a DAX: programs by their names, as they lie on the path."""
    reader = _Reader(path)
    reader.read(read_text(path, "the DAX"))
    if not reader.jobs:
        raise UsageError(f"{path}: there is no job in it.")
    recorded = all(job.seconds is not None and not job.words for job in reader.jobs.values())
    tasks = [
        ListedTask(
            job.id,
            tuple(dict.fromkeys(job.parents)),
            "" if recorded else " ".join(map(shlex.quote, [job.name, *job.words])),
            job.name,
            job.seconds,
            where=f"{path}, line {job.line}",
        )
        for job in reader.jobs.values()
    ]
    notes = [
        f"{path}, line {line}: <{tag}> means nothing here" for tag, line in reader.notes.items()
    ]
    return TaskList(
        reader.name,
        tasks,
        str(path.absolute().parent),
        notes=tuple(notes),
        files="" if recorded else str(path),
    )
