"""HTCondor submit descriptions: the program a DAG's node runs, as a line for the shell."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.records import dataclass
from bats.master.userfile import read_text

_USED: Final = frozenset(
    {
        "executable", "arguments", "environment", "initialdir", "input", "output", "error", "queue",
    }
)  # fmt: skip
_SILENT: Final = frozenset({"log", "universe", "notification", "getenv"})
"""Keys that mean nothing here and change nothing about what runs."""

_PIECES: Final = re.compile(r"\s+|'((?:[^']|'')*)'|[^'\s]+")
"""Blanks, something in single quotes, in which two stand for one, or anything else."""

_MACRO: Final = re.compile(r"\$\(([A-Za-z_][\w.]*)(?::([^)]*))?\)")


@dataclass(frozen=True, slots=True)
class Description:
    """`lines` has the line of each key."""

    path: str
    keys: Mapping[str, str]
    lines: Mapping[str, int]

    @property
    def notes(self) -> list[str]:
        return [
            f"{self.path}, line {self.lines[key]}: `{key}` means nothing here"
            for key in self.keys
            if key not in _USED | _SILENT and not key.startswith(("+", "my."))
        ]


def read_description(path: Path) -> Description:
    return description(read_text(path, "the submit description"), str(path))


def description(text: str, path: str, first_line: int = 1) -> Description:
    """Raises UsageError for what would start several processes, or none."""
    keys: dict[str, str] = {}
    lines: dict[str, int] = {}
    pending = ""
    for number, raw in enumerate(text.splitlines(), first_line):
        line = pending + raw.strip()
        pending = ""
        if line.endswith("\\"):
            pending = line[:-1]
            continue
        if not line or line.startswith("#"):
            continue
        if line.lower().split()[0] == "queue":
            if line.split()[1:] not in ([], ["1"]):
                raise UsageError(
                    f"{path}, line {number}: `{line}` starts several processes; a node of a DAG "
                    "is one task here. Give each its own node."
                )
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise UsageError(f"{path}, line {number}: {line!r} is no `key = value`.")
        keys[key.strip().lower()] = value.strip()
        lines[key.strip().lower()] = number
    if not keys.get("executable"):
        raise UsageError(f"{path}: there is no `executable`.")
    return Description(path, keys, lines)


def shell_command(of: Description, macros: Mapping[str, str], folder: str) -> str:
    """The line that runs it in `folder`, or in its own `initialdir` below that."""

    def value(key: str) -> str:
        return _expanded(of.keys.get(key, ""), {**of.keys, **macros})

    where = value("initialdir") or folder
    parts = [f"cd {shlex.quote(where)} &&"] if where else []
    environment = _environment(value("environment"))
    if environment:
        parts.append("env " + " ".join(map(shlex.quote, environment)))
    parts.append(shlex.quote(_program(value("executable"))))
    arguments = value("arguments")
    parts += [shlex.quote(word) for word in _words(arguments)]
    for key, sign in (("input", "<"), ("output", ">"), ("error", "2>")):
        if value(key):
            parts.append(f"{sign} {shlex.quote(value(key))}")
    return " ".join(parts)


def _program(name: str) -> str:
    """HTCondor takes a program without a path from the folder itself."""
    return name if "/" in name else f"./{name}"


def _expanded(text: str, macros: Mapping[str, str]) -> str:
    for _ in range(10):  # macros may name macros
        more = _MACRO.sub(lambda found: macros.get(found[1].lower(), found[2] or ""), text)
        if more == text:
            break
        text = more
    return text


def _words(arguments: str) -> list[str]:
    """The new syntax, in double quotes, has single quotes around blanks; the old one has none."""
    if len(arguments) < 2 or not arguments[0] == arguments[-1] == '"':
        return arguments.split()
    words: list[str] = []
    goes_on = False
    for found in _PIECES.finditer(arguments[1:-1].replace('""', '"')):
        if found[0].isspace():
            goes_on = False
            continue
        text = found[0] if found[1] is None else found[1].replace("''", "'")
        if goes_on:
            words[-1] += text
        else:
            words.append(text)
        goes_on = True
    return words


def _environment(text: str) -> list[str]:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _words(text)
    return [one.strip() for one in text.split(";") if one.strip()]
