"""What a display is told more than once, because answers cross, it says once."""

import asyncio
from typing import Any

import pytest

from bats.master.api import replies
from bats.master.cli.display.follower import Lines, Screen, follow

ONE = {"makespan_seconds": 60.0, "budget": 10**9, "cost": 10**9, "delta_n": 0, "cushion": 0}
SCHEDULES = [{**ONE, "name": "cheapest", "mix": [1]}, {**ONE, "name": "fastest", "mix": [2]}]


def facts(chosen: str, phase: str = "executing") -> replies.Schedules:
    found: dict[str, Any] = {
        "schedules": SCHEDULES,
        "currency": "$",
        "clusters": ["small"],
        "committed": 0,
        "at": 0.0,
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


class Slow:
    """A master that foretells for longer than the bag goes on after the choice."""

    looks = (("choosing", False), ("executing", False), ("executing", True))

    def __init__(self) -> None:
        self._look = 0

    async def ask(self, what: str, **_: Any) -> dict[str, Any]:
        phase, over = self.looks[min(self._look, len(self.looks) - 1)]
        if what == "wait":
            self._look += 1
            return {"seen": self._look, "phase": phase, "over": over}
        if what == "decisions":
            return {"decisions": []}
        asked_of = self.looks[self._look - 1][0]
        await asyncio.sleep(0.5)
        return facts("fastest" if asked_of == "executing" else "", phase=asked_of)


class Unseen(Screen):
    def show(self, status: replies.Status, decisions: list[replies.Decision]) -> None:
        pass


async def test_they_stay_though_the_bag_was_over_before_the_choice_was_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    client: Any = Slow()
    await follow(client, 1, Unseen())
    assert capsys.readouterr().out.count("fastest <") == 1


class Paused:
    """A master whose paused bag still runs a task; of its end there is no news."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def ask(self, what: str, **words: Any) -> dict[str, Any]:
        if what != "wait":
            return {"decisions": [], "failures": [], "schedules": []}
        self.asked.append(words["seconds"])
        running = 1 if len(self.asked) < 3 else 0
        return {
            "seen": 1, "bag": 1, "state": "running", "phase": "sampling", "over": False,
            "running": running,
            "total": 30, "failed": 12, "done": 0, "paused": {"task": 3},
        }  # fmt: skip


async def test_that_a_paused_bag_rests_is_seen_at_once_though_it_is_no_news() -> None:
    client: Any = Paused()
    await follow(client, 1, Lines())
    assert client.asked[0] > 1
    assert max(client.asked[1:]) <= 0.5
