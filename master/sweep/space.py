"""The values of task number i: axes multiplied, exclusions left out, nothing written out.

The last axis varies fastest, as the innermost of nested loops.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from bats.common.errors import quoted
from bats.common.records import dataclass
from bats.master.sweep.columns import (
    MOST_ROWS,
    Column,
    column_from_plain,
    column_to_plain,
    decimal,
    type_of,
)

Exclusion = Mapping[str, tuple[str, ...]]
"""Leaves out the tasks that have, for each parameter named, one of these values."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter, or several whose values go together row by row (a zip group, a table)."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        rows = {len(column) for column in self.columns}
        if len(self.names) != len(self.columns) or len(rows) != 1 or 0 in rows:
            raise ValueError(
                f"the columns of {', '.join(self.names)} are empty or differ in length"
            )

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True, slots=True)
class Space:
    """All combinations of the axes' rows but the excluded ones."""

    axes: tuple[Axis, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    names: tuple[str, ...] = field(init=False)
    count: int = field(init=False)
    _kept: Sequence[int] | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = tuple(name for axis in self.axes for name in axis.names)
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise ValueError(f"the parameter {quoted(twice[0])} is given twice")
        combinations = 1
        for axis in self.axes:
            combinations *= len(axis)
            if combinations > MOST_ROWS:
                raise ValueError(f"the sweep has more than {MOST_ROWS:,} tasks, the most possible")
        kept = self._index_of_kept(names) if self.exclude else None
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "count", combinations if kept is None else len(kept))
        object.__setattr__(self, "_kept", kept)
        if not self.count:
            raise ValueError("`exclude` leaves no task over")

    def values(self, index: int) -> tuple[str, ...]:
        """The values of task `index` (from 0), in the order of `names`."""
        if not 0 <= index < self.count:
            raise IndexError(index)
        rest = index if self._kept is None else self._kept[index]
        found: list[str] = []
        for axis in reversed(self.axes):
            rest, row = divmod(rest, len(axis.columns[0]))
            found.extend(column[row] for column in reversed(axis.columns))
        found.reverse()
        return tuple(found)

    def types(self) -> dict[str, type]:
        """The type of each parameter's values."""
        columns = (column for axis in self.axes for column in axis.columns)
        return dict(zip(self.names, map(type_of, columns), strict=True))

    def _index_of_kept(self, names: tuple[str, ...]) -> Sequence[int]:
        """The combinations that remain, in order: the one table a sweep may need."""
        import numpy as np

        out = np.zeros([len(axis) for axis in self.axes if len(axis) > 1], dtype=np.bool_)
        for rule in self.exclude:
            for name in rule:
                if name not in names:
                    near = get_close_matches(name, names, 1)
                    meant = f"did you mean {near[0]}?" if near else f"they are {', '.join(names)}"
                    raise ValueError(f"`exclude` names {quoted(name)}, no parameter; {meant}")
            rows = [_rows_meant(axis, rule) for axis in self.axes]
            if not all(rows):
                raise ValueError(f"the `exclude` rule {_written(rule)} fits no task")
            rows = [some for some, axis in zip(rows, self.axes, strict=True) if len(axis) > 1]
            out[np.ix_(*rows)] = True
        return array("I", np.flatnonzero(~out.reshape(-1)).astype(np.uint32).tobytes())


class OpenSpace:
    """Spaces one below the other, of a bag to which tasks are added: it only grows."""

    __slots__ = ("_ends", "_orders", "_parts", "names")

    def __init__(self, names: Sequence[str], parts: Iterable[Space] = ()) -> None:
        self.names = tuple(names)
        self._parts: list[Space] = []
        self._ends: list[int] = []  # the number of tasks up to each part's end
        self._orders: list[Sequence[int] | None] = []  # places of its values, if in another order
        for part in parts:
            self.add(part)

    def add(self, part: Space) -> None:
        """Raises ValueError if the part has other parameters, or too many tasks."""
        if set(part.names) != set(self.names):
            given = ", ".join(part.names) or "no parameter"
            raise ValueError(
                f"each task of this bag needs values for {', '.join(self.names)}; given are values "
                f"for {given}"
            )
        if self.count + part.count > MOST_ROWS:
            raise ValueError(
                f"the bag would have {self.count + part.count:,} tasks; {MOST_ROWS:,} are the most"
            )
        same = part.names == self.names
        self._parts.append(part)
        self._ends.append(self.count + part.count)
        self._orders.append(None if same else [part.names.index(name) for name in self.names])

    def copy(self) -> "OpenSpace":
        """One that grows by itself."""
        return OpenSpace(self.names, self._parts)

    @property
    def count(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def parts(self) -> Sequence[Space]:
        return tuple(self._parts)

    def values(self, index: int) -> tuple[str, ...]:
        """The values of task `index` (from 0), in the order of `names`."""
        if not 0 <= index < self.count:
            raise IndexError(index)
        at = bisect_right(self._ends, index)
        found = self._parts[at].values(index - (self._ends[at - 1] if at else 0))
        order = self._orders[at]
        return found if order is None else tuple(found[place] for place in order)

    def types(self) -> dict[str, type]:
        """The type of each parameter's values: of all of them."""
        kinds = [part.types() for part in self._parts]
        return {name: _common({one[name] for one in kinds}) for name in self.names}


def _common(kinds: set[type]) -> type:
    if len(kinds) == 1:
        return next(iter(kinds))
    return float if kinds == {int, float} else str


def space_to_plain(space: Space | OpenSpace) -> dict[str, Any]:
    if isinstance(space, OpenSpace):
        return {"open": list(space.names), "parts": [space_to_plain(part) for part in space.parts]}
    return {
        "axes": [
            {
                "names": list(axis.names),
                "columns": [column_to_plain(column) for column in axis.columns],
            }
            for axis in space.axes
        ],
        "exclude": [
            {name: list(values) for name, values in rule.items()} for rule in space.exclude
        ],
    }


def any_space_from_plain(plain: Mapping[str, Any]) -> Space | OpenSpace:
    """The opposite. Raises ValueError, TypeError or KeyError for what is none."""
    if "open" in plain:
        return OpenSpace(tuple(map(str, plain["open"])), map(space_from_plain, plain["parts"]))
    return space_from_plain(plain)


def space_from_plain(plain: Mapping[str, Any]) -> Space:
    """The space that is whole from the beginning."""
    return Space(
        axes=tuple(
            Axis(
                tuple(map(str, axis["names"])),
                tuple(column_from_plain(column) for column in axis["columns"]),
            )
            for axis in plain["axes"]
        ),
        exclude=tuple(
            {str(name): tuple(map(str, values)) for name, values in rule.items()}
            for rule in plain["exclude"]
        ),
    )


def _rows_meant(axis: Axis, rule: Exclusion) -> Sequence[int]:
    """The rows of an axis that a rule means; all, if it names none of its parameters."""
    meant: Sequence[int] = range(len(axis))
    for name, column in zip(axis.names, axis.columns, strict=True):
        if name in rule:
            wanted = {alike(value) for value in rule[name]}
            meant = [row for row in meant if alike(column[row]) in wanted]
    return meant


def alike(value: str) -> Decimal | str:
    """Numbers are the same however they are written: 0.5 and 0.50."""
    try:
        return decimal(value)
    except ValueError:
        return value


def _written(rule: Exclusion) -> str:
    return ", ".join(f"{name} = {'|'.join(values)}" for name, values in rule.items())
