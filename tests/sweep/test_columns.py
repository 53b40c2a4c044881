"""Values are exact, written as the user wrote them, and never held a million times."""

from decimal import Decimal
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.master.sweep.columns import (
    MOST_ROWS,
    Chained,
    Column,
    Listed,
    Spaced,
    array_of,
    column_from_plain,
    column_to_plain,
    range_of,
    spaced,
)

NUMBERS = st.decimals(-1000, 1000, allow_nan=False, places=3)


def test_a_range_includes_its_stop_and_has_no_rounding_errors():
    assert list(range_of("0.1:1:0.1")) == [
        "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1:4", ["1", "2", "3", "4"]),
        ("4:1", ["4", "3", "2", "1"]),
        ("0:10:4", ["0", "4", "8"]),
        ("-1:1:.5", ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ("1:0:-0.25", ["1.00", "0.75", "0.50", "0.25", "0.00"]),
        ("-2:-1.05:0.1", [f"-{x / 10}" for x in range(20, 10, -1)]),
        ("1e3:3e3:1e3", ["1000", "2000", "3000"]),
        ("1e-3:2e-3:1e-3", ["0.001", "0.002"]),
        ("7:7", ["7"]),
    ],
)
def test_ranges(text: str, values: list[str]):
    assert list(range_of(text)) == values


@given(NUMBERS, NUMBERS, NUMBERS.filter(bool))
def test_a_range_holds_what_adding_up_step_by_step_gives(
    start: Decimal, stop: Decimal, step: Decimal
):
    by = abs(step).copy_sign(stop - start) if stop != start else step
    expected, value = [], start
    while len(expected) < 200 and (value <= stop if by > 0 else value >= stop):
        expected.append(value)
        value += by
    column = spaced(start, stop, by)
    assert [Decimal(text) for text in islice(column, 200)] == expected


@pytest.mark.parametrize("text", ["1:5:0", "1:5:-1", "5:1:1", f"1:{MOST_ROWS + 1}", "1:2:1e-40"])
def test_ranges_that_cannot_be_are_refused(text: str):
    with pytest.raises(ValueError, match=r"\w"):
        range_of(text)


@pytest.mark.parametrize(
    ("text", "values", "limit"),
    [
        ("1-5", "1 2 3 4 5", 0),
        ("0-31:8", "0 8 16 24", 0),
        ("1,3,5-7", "1 3 5 6 7", 0),
        ("1-3%2", "1 2 3", 2),
        ("4", "4", 0),
        ("1-1_000:500", "1 501", 0),
        ("30001-10,5", None, 0),
        ("1-10%0", None, 0),
        ("1-10:0", None, 0),
        ("", None, 0),
        ("-3", None, 0),
    ],
)
def test_arrays_are_written_as_slurm_writes_them(text: str, values: str | None, limit: int):
    if values is None:
        with pytest.raises(ValueError, match=r"\w"):
            array_of(text)
    else:
        column, at_once = array_of(text)
        assert " ".join(column) == values
        assert at_once == limit


def test_a_long_array_of_pieces_stays_small():
    column, _ = array_of("1-1000000,3000000-4000000:2")
    assert isinstance(column, Chained)
    assert len(column) == 1_500_001
    assert (column[0], column[999_999], column[1_000_000], column[len(column) - 1]) == (
        "1", "1000000", "3000000", "4000000",
    )  # fmt: skip
    assert len(str(column_to_plain(column))) < 300


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_listed_values_come_back_as_they_were(values: list[str]):
    column = Listed(values)
    assert list(column) == values
    assert [column[row] for row in range(len(values))] == values
    assert column_from_plain(column_to_plain(column)) == column


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_values_that_no_command_line_can_carry_are_refused(value: str):
    with pytest.raises(ValueError, match=r"NUL|UTF-8"):
        Listed([value])


@pytest.mark.parametrize(
    "column",
    [
        Spaced(1, 1, 1_000_000),
        Spaced(-(10**29), 10**20, 9, 30),
        array_of("1-99999,200000-200002")[0],
    ],
)
def test_columns_come_back_from_their_plain_form(column: Column):
    again = column_from_plain(column_to_plain(column))
    assert again == column
    assert again[len(column) - 1] == column[len(column) - 1]
    with pytest.raises(IndexError):
        column[len(column)]
