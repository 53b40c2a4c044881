"""What a display is told more than once, because answers cross, it says once."""

from typing import Any

import pytest

from bats.master.cli.follow import Facts, Screen

ONE = {"makespan_seconds": 60.0, "budget": 10**9, "cost": 10**9, "delta_n": 0, "cushion": 0}
SCHEDULES = [{**ONE, "name": "cheapest", "mix": [1]}, {**ONE, "name": "fastest", "mix": [2]}]


def facts(chosen: str, phase: str = "executing") -> Facts:
    found: dict[str, Any] = {
        "schedules": SCHEDULES,
        "currency": "$",
        "clusters": ["small"],
        "committed": 0,
        "phase": phase,
        "chosen": chosen,
    }
    return found


def test_the_schedules_that_one_was_chosen_of_stay_on_the_screen_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen = Screen()
    screen.offer(facts("", phase="choosing"))
    assert not capsys.readouterr().out, "they are in the picture"
    screen.offer(facts("fastest"))
    screen.offer(facts("fastest"))
    assert capsys.readouterr().out.count("fastest <") == 1
    screen.offer(facts("cheapest"))
    assert capsys.readouterr().out.count("cheapest <") == 1
