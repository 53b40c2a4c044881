"""Durations and sizes are read as people write them, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common.units import octets, seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("90s", 90),
        ("90", 90),
        (90, 90),
        (1.5, 1.5),
        ("1h 30m", 5400),
        ("1h30m", 5400),
        ("1 hour, 30 minutes", 5400),
        ("1.5h", 5400),
        ("2 days", 172800),
        ("500ms", 0.5),
        ("12:00:00", 43200),
        ("2-12:00:00", 216000),
        (" 5 MIN ", 300),
        ("0", 0),
    ],
)
def test_durations(written: str | float, expected: float):
    assert seconds(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        "h",
        "-5s",
        "5 parsecs",
        "12:30",
        "1:60:00",
        "1h 30",
        "nan",
        "1e9",
        True,
        -1,
        1e30,
        "9" * 99,
    ],
)
def test_what_is_no_duration(written: str | float):
    with pytest.raises(ValueError, match="is not a duration; write for example"):
        seconds(written)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("64K", 65536), ("64 KiB", 65536), ("1M", 1 << 20), ("0.5 gb", 1 << 29), ("7", 7), (7, 7)],
)
def test_sizes(written: str | int, expected: int):
    assert octets(written) == expected


@pytest.mark.parametrize("written", ["", "lots", "-1", "1Q", True, -1, "1 M B"])
def test_what_is_no_size(written: str | int):
    with pytest.raises(ValueError, match="is not a size"):
        octets(written)


@given(st.text())
def test_any_text_is_read_or_refused(text: str):
    for read in (seconds, octets):
        try:
            assert read(text) >= 0
        except ValueError as error:
            if isinstance(error, UnicodeError):
                raise
