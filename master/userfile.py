"""Files that users write, in TOML, YAML or JSON; where in them something stands."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from bats.common.errors import UsageError, quoted
from bats.common.records import dataclass

LARGEST: Final = 64 << 20  # bytes of a file that is read whole
MOST_VALUES: Final = 4_000_000  # that a YAML file may stand for; aliases make much of little

_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(r"""\s*(?:-\s+)?["']?([\w.-]+)["']?\s*[=:]""")


class Written(str):
    """A number with a point, kept as the user wrote it: `0.10` stays `0.10`, exactly."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content, or the options of a command line that stand for one (`path` is "")."""

    path: str
    data: Mapping[str, Any]
    kind: str = ""  # toml, json or yaml
    text: str = field(default="", repr=False)
    flags: Mapping[str, str] = field(default_factory=dict)  # options named otherwise than their key
    options: frozenset[str] = frozenset()  # keys that options set, over what the file says
    in_python: bool = False  # those options are arguments of a program

    def where(self, keys: Sequence[str | int]) -> str:
        """The name of a place in a message: "sweep.toml, line 3: `grid.alpha`", or "--timeout"."""
        dotted = ""
        for key in keys:
            step = f"[{key + 1}]" if isinstance(key, int) else _printable(key)
            dotted += f".{step}" if dotted and isinstance(key, str) else step
        if not self.path or (keys and keys[0] in self.options):
            return f"`{dotted}`" if self.in_python and dotted else self._option(keys)
        line = self.line_of(keys)
        place = f"{self.path}, line {line}" if line else self.path
        return f"{place}: `{dotted}`" if dotted else place

    def _option(self, keys: Sequence[str | int]) -> str:
        if not keys:
            return "The command line"
        first, *rest = (str(key) for key in keys if isinstance(key, str))
        if option := self.flags.get(".".join([first, *rest])):
            return option
        return " ".join([self.flags.get(first, f"--{first.replace('_', '-')}"), *rest])

    def line_of(self, keys: Sequence[str | int]) -> int | None:
        """The line that sets the innermost of these keys, as far as a look at the text can tell."""
        if self.kind == "toml":
            best, line = 0, None
            for number, path in _toml_keys(self.text):
                depth = len(path)
                if depth > best and list(keys[:depth]) == path:
                    best, line = depth, number
            return line
        names = [key for key in keys if isinstance(key, str)]
        lines = [
            number
            for number, line in enumerate(self.text.splitlines(), 1)
            if names and (found := _KEY.match(line)) and found[1] == names[-1]
        ]
        return lines[0] if len(lines) == 1 else None


def read_text(path: str | Path, what: str) -> str:
    """The text of a file; `what` says what it is for, in messages."""
    what = what[:1].upper() + what[1:]
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise UsageError(f"{what} {path} is not there{_near(Path(path))}") from None
    except IsADirectoryError:
        raise UsageError(f"{what} {path} is a folder; name the file.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{what} {path} cannot be read: {reason}.") from None
    if len(content) > LARGEST:
        raise UsageError(
            f"{what} {path} is larger than {LARGEST >> 20} MiB, the most that is read."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{what} {path}, line {line}: not UTF-8 text; save the file in that encoding."
        ) from None


def read_document(path: str | Path, what: str, *, kinds: Sequence[str] = ("toml",)) -> Document:
    """Read and parse by the file's ending, one of `kinds`; without an ending it is TOML."""
    kind = Path(path).suffix.lower().removeprefix(".").replace("yml", "yaml") or "toml"
    if kind not in kinds and Path(path).exists():  # one that does not is told with names alike
        endings = " or ".join(f".{one}" for one in kinds)
        raise UsageError(
            f"{what.capitalize()} {path}: what is .{kind}? The name should end in {endings}."
        )
    text = read_text(path, what)
    try:
        data = _PARSERS[kind](text)
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply to be read.") from None
    except ValueError as error:
        raise UsageError(f"{path}: this is not {kind.upper()}: {_one_line(error)}.") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}: should hold keys and values and holds {quoted(data)}.")
    return Document(str(path), data, kind, text)


def sentence(place: str, said: str) -> str:
    """The form of a message: where, and what."""
    return f"{place}: {said}" + ("" if said.endswith((".", "?")) else ".")


def _toml_keys(text: str) -> Iterator[tuple[int, list[str | int]]]:
    """Each line that sets a key or opens a table, with the path it sets."""
    table: list[str | int] = []
    arrays: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            name = header[2]
            table = [part.strip().strip("\"'") for part in name.split(".")]
            if header[1] == "[[":
                table.append(arrays[name])
                arrays[name] += 1
            elif arrays and table[0] in arrays:
                table.insert(1, arrays[cast("str", table[0])] - 1)
            yield number, list(table)
        elif found := _KEY.match(line):
            yield number, [*table, *found[1].split(".")]


def _printable(key: str) -> str:
    return key if key.isprintable() and len(key) < 60 else quoted(key)


def _near(path: Path) -> str:
    try:
        names = [one.name for one in path.parent.iterdir()]
    except (OSError, ValueError):
        return "."
    near = get_close_matches(path.name, names, 1, 0.75)
    return f"; did you mean {path.with_name(near[0])}?" if near else "."


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text[:1].lower() + text[1:]).rstrip(".")[:200]


def _from_toml(text: str) -> Any:
    return tomllib.loads(text, parse_float=Written)


def _from_json(text: str) -> Any:
    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = Counter(key for key, _ in pairs)
            raise ValueError(f"the key {quoted(keys.most_common(1)[0][0])} is given twice")
        return made

    return json.loads(text, parse_float=Written, object_pairs_hook=table)


def _from_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ValueError("reading it needs PyYAML; install it, or write TOML") from None
    try:
        loader = yaml.BaseLoader(text)  # all as written: no octal 010, no false for `no`
        try:
            data = loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f" (at line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ValueError(f"{getattr(error, 'problem', None) or error}{at}") from None
    if (count := _stands_for(data, {})) > MOST_VALUES:
        raise ValueError(
            f"it stands for {count:.2g} values, its aliases written out; at most "
            f"{MOST_VALUES:.2g} are read"
        )
    return data


def _stands_for(data: Any, known: dict[int, int]) -> int:
    """The number of values when each alias is written out; nothing contains itself here."""
    if not isinstance(data, list | dict):
        return 1
    if (count := known.get(id(data))) is None:
        held = data if isinstance(data, list) else data.values()
        known[id(data)] = count = 1 + sum(_stands_for(one, known) for one in held)
    return count


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "toml": _from_toml,
    "json": _from_json,
    "yaml": _from_yaml,
}
