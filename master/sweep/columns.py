"""The values of one parameter, row by row, as text: listed, evenly spaced, or one after another."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate, chain
from typing import Any, Final

from bats.common.errors import quoted
from bats.common.records import dataclass

MOST_ROWS: Final = 10_000_000
"""No sweep is longer: a few more noughts than meant should be noticed, not tried."""

_NUMBER: Final = r"[+-]?(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_RANGE: Final = re.compile(rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*(?::\s*({_NUMBER})\s*)?")
_INTEGER: Final = r"-?(?:0|[1-9]\d{0,17})"
_WRITTEN: Final = {
    int: re.compile(_INTEGER),
    float: re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"),
    bool: re.compile("true|false"),
}
_COUNT: Final = r"\d[\d_]{0,20}"
_ARRAY_PART: Final = re.compile(rf"({_COUNT})(?:-({_COUNT})(?::({_COUNT}))?)?")
_FINEST: Final = 30  # digits after the point
_LARGEST: Final = 30  # digits before it
_FEW: Final = 10_000  # numbers that are kept as a list


class Listed:
    """Any texts. A million of them take their bytes and four each, not a million strings."""

    __slots__ = ("_ends", "_text")

    def __init__(self, values: Iterable[str]) -> None:
        texts = list(values)
        self._text = _encoded("".join(texts))
        lengths = map(
            len, texts if len(self._text) == sum(map(len, texts)) else map(_encoded, texts)
        )
        wide = len(self._text) >= 1 << 32
        self._ends = array("Q" if wide else "I", accumulate(lengths))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, row: int) -> str:
        begin = self._ends[row - 1] if row else 0
        return self._text[begin : self._ends[row]].decode()

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listed):
            return NotImplemented
        return self._text == other._text and self._ends == other._ends

    def __hash__(self) -> int:
        return hash((self._text, len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} values>"


@dataclass(frozen=True, slots=True)
class Spaced:
    """`start`, `start + step`, ... in units of 10 to the power -`places`: exact, all alike."""

    start: int
    step: int
    rows: int
    places: int = 0

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> str:
        if not 0 <= row < self.rows:
            raise IndexError(row)
        units = self.start + row * self.step
        if not self.places:
            return str(units)
        digits = f"{abs(units):0{self.places + 1}d}"
        sign = "-" if units < 0 else ""
        return f"{sign}{digits[: -self.places]}.{digits[-self.places :]}"

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(self.rows))


@dataclass(frozen=True, slots=True)
class Chained:
    """Several columns one below the other; few, so they are searched in turn."""

    parts: tuple[Spaced, ...]

    def __len__(self) -> int:
        return sum(part.rows for part in self.parts)

    def __getitem__(self, row: int) -> str:
        rest = row
        for part in self.parts:
            if rest < part.rows:
                return part[rest]
            rest -= part.rows
        raise IndexError(row)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts)


Column = Listed | Spaced | Chained


def spaced(start: Decimal, stop: Decimal, step: Decimal | None = None) -> Spaced:
    """Numbers from `start` to `stop`, that included if a step falls on it; exact decimals."""
    step = Decimal(1 if stop >= start else -1) if step is None else step
    for number in (start, stop, step):
        if not number.is_finite() or number.adjusted() >= _LARGEST:
            raise ValueError(f"{number:.6g} is too large for a range")
    if not step:
        raise ValueError("the step must not be 0")
    if start != stop and (stop > start) != (step > 0):
        raise ValueError(
            f"{start}:{stop}:{step} is empty: "
            f"{'a falling range needs a negative step' if step > 0 else 'the step leads away'}"
        )
    places = max(_places(start), _places(step))
    finest = max(places, _places(stop))
    if finest > _FINEST:
        raise ValueError(f"more than {_FINEST} digits after the point in a range")
    first, last, by = (_units(number, finest) for number in (start, stop, step))
    count = (last - first) // by + 1
    if count > MOST_ROWS:
        raise ValueError(
            f"{start}:{stop}:{step} has {count:,} values; at most {MOST_ROWS:,} are possible"
        )
    return Spaced(_units(start, places), _units(step, places), count, places)


def looks_like_range(text: str) -> bool:
    """True if `text` is written `start:stop` or `start:stop:step`."""
    return _RANGE.fullmatch(text) is not None


def range_of(text: str) -> Spaced:
    """Read `start:stop` or `start:stop:step`; the stop is included."""
    found = _RANGE.fullmatch(text)
    if not found:
        raise ValueError(f"{quoted(text)} is not a range; write start:stop or start:stop:step")
    start, stop, step = found.groups()
    return spaced(decimal(start), decimal(stop), None if step is None else decimal(step))


def array_of(text: str) -> tuple[Column, int]:
    """Read Slurm's `1-1000:2,2000%50`: the numbers, and how many may run at a time (0: any)."""
    numbers, percent, limit = text.replace(" ", "").partition("%")
    if percent and (not limit.isdecimal() or int(limit[:10]) < 1):
        raise ValueError(
            f"{quoted(text)}: after % stands how many may run at a time, for example 1-100%8"
        )
    parts = []
    for part in numbers.split(","):
        found = _ARRAY_PART.fullmatch(part)
        if not found:
            raise ValueError(
                f"{quoted(part)} is not an array of numbers; "
                "write for example 1-1000, 0-31:2 or 1,3,5-8"
            )
        first = int(decimal(found[1]))
        last, step = (None if one is None else int(decimal(one)) for one in found.groups()[1:])
        if last is not None and last < first:
            raise ValueError(f"{part} is empty: {last} is less than {first}")
        if step == 0:
            raise ValueError(f"{part}: the step must not be 0")
        stop = Decimal(first if last is None else last)
        parts.append(spaced(Decimal(first), stop, Decimal(step or 1)))
    column = parts[0] if len(parts) == 1 else _chained(parts)
    if len(column) > MOST_ROWS:
        raise ValueError(f"{len(column):,} numbers; at most {MOST_ROWS:,} are possible")
    return column, int(limit[:10]) if percent else 0


def type_of(column: Column) -> type:
    """The type of all its values: int, float, bool, or str where only some look like numbers.

    Values are texts, as a command line has them: `007` stays one, for its noughts mean something.
    """
    match column:
        case Spaced():
            return float if column.places else int
        case Chained(parts):
            return float if any(part.places for part in parts) else int
    for kind, written in _WRITTEN.items():
        if all(map(written.fullmatch, column)):
            return kind
    return str


def decimal(text: str) -> Decimal:
    """The number written, exactly."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise ValueError(f"{quoted(text)} is not a number")
    return number


def column_to_plain(column: Column) -> Any:
    """The column as lists, numbers and texts; small however many rows it spaces out."""
    match column:
        case Listed():
            return list(column)
        case Spaced(start, step, rows, places):
            return {"start": str(start), "step": str(step), "rows": rows, "places": places}
        case Chained(parts):
            return {"parts": [column_to_plain(part) for part in parts]}


def column_from_plain(plain: Any) -> Column:
    """The opposite. Raises ValueError, TypeError or KeyError for what is none."""
    if isinstance(plain, list | tuple):
        if not all(isinstance(value, str) for value in plain):
            raise TypeError("a listed value is not text")
        return Listed(plain)
    if "parts" in plain:
        return Chained(tuple(_spaced_from_plain(part) for part in plain["parts"]))
    return _spaced_from_plain(plain)


def _spaced_from_plain(plain: Any) -> Spaced:
    start, step = (int(str(plain[key])[: _LARGEST + _FINEST + 1]) for key in ("start", "step"))
    rows, places = int(plain["rows"]), int(plain["places"])
    if not 0 < rows <= MOST_ROWS or not 0 <= places <= _FINEST:
        raise ValueError(f"a range of {rows} values with {places} places")
    return Spaced(start, step, rows, places)


def _encoded(value: str) -> bytes:
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        raise ValueError("a value is not UTF-8 text") from None
    if b"\0" in encoded:
        raise ValueError("a value holds a NUL, which no command line can carry")
    return encoded


def _chained(parts: Sequence[Spaced]) -> Column:
    if sum(map(len, parts)) <= _FEW:
        return Listed(value for part in parts for value in part)
    return Chained(tuple(parts))


def _places(number: Decimal) -> int:
    """Digits after the point, as written."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def _units(number: Decimal, places: int) -> int:
    """The number in units of 10 to the power -places; exact, because it has no more places."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    units: int = int("".join(map(str, digits))) * 10 ** (exponent + places)
    return -units if sign else units
