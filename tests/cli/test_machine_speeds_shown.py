"""How machines of an offering differ, as `bats machines --speeds` shows it."""

from typing import Any

from bats.master.cli.display.tables.speeds_table import CELLS, histogram, speeds_in_words


def test_machines_that_are_alike_stand_in_the_middle_of_the_histogram() -> None:
    assert histogram([1.0] * 9) == " " * 8 + "█" + " " * 7


def test_what_is_further_off_than_twice_is_in_the_outermost_cells() -> None:
    drawn = histogram([0.1, 0.9, 0.9, 5.0, 5.0])
    assert len(drawn) == CELLS
    assert (drawn[0], drawn[-1]) == ("▄", "█")


def test_a_row_tells_how_many_machines_were_judged_and_between_what_most_of_them_are() -> None:
    slowness = [0.8, *[1.0] * 8, 1.3]
    words = speeds_in_words(
        [{"of": "data in", "offering": "small", "machines": 10, "slowness": slowness, "at": 40.0}],
        now=100.0,
    )
    assert "small" in words
    assert "data in" in words
    assert "1.00 to 1.30" in words
    assert "60 s ago" in words or "1 min" in words


def test_a_master_of_an_earlier_release_tells_of_tasks_only() -> None:
    before: Any = {"offering": "small", "machines": 3, "slowness": [0.9, 1.0, 1.1], "at": 40.0}
    assert "tasks" in speeds_in_words([before], now=100.0)


def test_with_nothing_learned_it_says_what_it_takes() -> None:
    assert "three machines" in speeds_in_words([], 0.0)
