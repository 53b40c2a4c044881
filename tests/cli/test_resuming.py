"""The bag that `bats resume` takes up when none is named."""

from typing import Any

from bats.master.cli.commands.control import to_resume


def bag(number: int, state: str, **more: Any) -> Any:
    return {"bag": number, "name": "sweep", "tasks": 9, "state": state, **more}


def test_it_is_the_newest() -> None:
    assert to_resume([bag(1, "complete"), bag(2, "cancelled")]) == "last"


def test_if_the_newest_is_done_it_is_the_newest_that_a_killed_master_or_a_pause_left() -> None:
    left = bag(1, "running", unserved_since=1.0)
    paused = bag(2, "paused", paused={"reason": "the first 12 tasks failed"})
    done = bag(3, "complete")
    assert to_resume([left, paused, done]) == 2
    assert to_resume([left, done]) == 1


def test_what_was_cancelled_long_ago_is_not_paid_for_by_a_word_too_few() -> None:
    assert to_resume([bag(1, "cancelled"), bag(2, "complete")]) == "last"


def test_where_there_is_no_bag_the_answer_is_the_master_s() -> None:
    assert to_resume([]) == "last"
