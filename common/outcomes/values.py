"""Values that tasks tell, in what they print or in a file: lines `name=number`, a JSON object."""

import json
import re
from typing import Any, Final

Value = int | float | str | bool
TYPES: Final = {kind.__name__: kind for kind in (int, float, str, bool)}
"""By the names that stand for them among facts."""

FILE: Final = "BATS_VALUES"
"""The variable that names the file in which a task may tell its values, for task and worker."""

LINE_CHARACTERS: Final = 500  # what is kept of a last line that is no value
MOST_BYTES: Final = 4096  # of what a file tells

_NAME: Final = r"[A-Za-z_][\w.]*"
_NUMBER: Final = r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)"
_PAIR: Final = re.compile(rf"({_NAME})\s*=\s*({_NUMBER})", re.ASCII)
_ONE: Final = rf"{_NAME}\s*=\s*{_NUMBER}"
_PAIRS: Final = re.compile(rf"\s*{_ONE}(?:(?:\s*[,;]\s*|\s+){_ONE})*\s*", re.ASCII)
_GREATEST: Final = (1 << 63) - 1  # a larger whole number is told as the nearest float


def kept(written: str) -> str:
    """The end of an output as a result carries it: the lines that tell values, and the last."""
    lines = written.rstrip().splitlines()
    if not lines:
        return ""
    last = lines.pop().strip()
    told = [line.strip() for line in lines if "=" in line and _PAIRS.fullmatch(line)]
    return "\n".join([*told, last if _object(last) else last[:LINE_CHARACTERS]])


def told_in(file: str) -> str:
    """The values that a file holds, as lines to stand before those of `kept`. Raises ValueError."""
    if (table := _object(file.strip())) is not None:
        told = json.dumps(table, separators=(",", ":"))
    else:
        lines = [line.strip() for line in file.strip().splitlines()]
        told = "\n".join(line for line in lines if _PAIRS.fullmatch(line) or _object(line))
    if not values_of(told):
        raise ValueError("holds no values: no line name=number, no JSON object")
    if len(told) > MOST_BYTES:
        raise ValueError(f"tells {len(told):,} bytes of values, and {MOST_BYTES:,} are kept")
    return told


def last_line(kept: str) -> str:
    return kept.rpartition("\n")[2]


def values_of(kept: str) -> dict[str, Value]:
    """The values told, by name; the last counts. Those of nested tables are `outer.inner`."""
    found: dict[str, Value] = {}
    if "=" not in kept and "{" not in kept:
        return found
    for line in kept.splitlines():
        if (table := _object(line)) is not None:
            _flatten(table, "", found)
        elif _PAIRS.fullmatch(line):
            found |= {name: _number(text) for name, text in _PAIR.findall(line)}
    return found


def as_typed(value: Value, kind: type) -> Value:
    """A value, or the text of one, as its column's `int`, `float`, `bool` or `str`."""
    if kind is bool:
        return value in {True, "true"}
    typed: Value = kind(value)
    return typed


def _object(line: str) -> dict[str, Any] | None:
    if line[:1] != "{" or line[-1:] != "}":
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _flatten(table: dict[str, Any], prefix: str, into: dict[str, Value]) -> None:
    for key, value in table.items():
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", into)
        elif isinstance(value, str):
            into[_whole(f"{prefix}{key}")] = _whole(value)
        elif isinstance(value, bool | int | float):
            into[_whole(f"{prefix}{key}")] = _fitting(value)


def _whole(text: str) -> str:
    """Without half characters, which JSON can name and nothing else can carry."""
    return text.encode(errors="replace").decode()


def _number(text: str) -> int | float:
    try:
        return _fitting(int(text))
    except ValueError:
        return float(text)


def _fitting(number: float) -> int | float:
    if isinstance(number, int) and not -_GREATEST <= number <= _GREATEST:
        try:
            return float(number)
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")
    return number
