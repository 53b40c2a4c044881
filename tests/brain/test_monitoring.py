"""While a plan is carried out it is looked at, and changed when tasks take longer than it said."""

import re

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, offering, only, settings

from bats.common.money import money
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import Conditions, History, Simulation

WAYS = {"by the timetable": 1.0, "as in the paper": 0.0}


def known(minutes: float) -> tuple[tuple[float, ...], ...]:
    return ((minutes * MINUTE,) * 30,)


def ran(of: Settings, minutes: float, conditions: Conditions | None = None) -> History:
    """The bag, where every task takes so long whatever was known of it."""
    simulation = Simulation(
        of, lambda _task, _cluster: minutes * MINUTE, conditions, keep_events=True
    )
    return simulation.run()


def told(history: History, words: str) -> list[str]:
    return [said for _, said in history.decisions if words in said]


@pytest.mark.parametrize("way", WAYS)
def test_tasks_that_take_three_times_as_long_are_noticed_and_the_deadline_is_met(way: str) -> None:
    more = {"known": known(10), "prudence": WAYS[way], "deadline_seconds": 8 * HOUR}
    history = ran(settings(60, offering(machines=10), budget=200, **more), minutes=30)
    assert told(history, "behind the plan")
    assert history.ended_at is not None
    assert history.ended_at <= 8 * HOUR
    assert len(history.records) == 60


@pytest.mark.parametrize("way", WAYS)
def test_a_bag_that_goes_as_planned_is_left_alone(way: str) -> None:
    more = {"known": known(10), "prudence": WAYS[way]}
    history = ran(settings(120, offering(machines=4), budget=200, **more), minutes=10)
    (said,) = [said for _, said in history.decisions]
    assert said.startswith("schedule chosen: 4 m1 for 120 tasks")
    if WAYS[way]:
        assert "; 4 new ones for up to $60.00 run 120 of them" in said
        assert said.endswith(", as those there cannot do it")


def test_who_is_blind_to_cost_watches_nothing() -> None:
    of = settings(60, offering(machines=4), budget=500, sampling=Sampling.NONE)
    assert ran(of, minutes=30).decisions == []


def looks(of: Settings) -> float:
    """The time from the choice to the first look at the plan."""
    (wish,) = only(do.WakeAt, Bench(of).begin())
    return wish.at


def test_the_interval_that_a_user_sets_is_kept() -> None:
    of = settings(100, offering(), budget=200, known=known(10), monitor_seconds=77)
    assert looks(of) == 77


@pytest.mark.parametrize(
    ("atu", "minutes", "tasks", "seconds"),
    [
        (HOUR, 10, 100, HOUR / 12),
        (MINUTE, 10, 100, 10 * MINUTE / 4),
        (HOUR, 60, 100, HOUR / 4),
        (HOUR, 10, 100_000, 100_000 * 10 * MINUTE / 4 / 100),
    ],
    ids=["a part of an ATU", "of a task", "of a longer one", "of all that is left"],
)
def test_between_two_looks_passes_a_part_of_what_is_longest(
    atu: float, minutes: float, tasks: int, seconds: float
) -> None:
    of = settings(tasks, offering(machines=4, atu=atu), budget=10_000_000, known=known(minutes))
    assert looks(of) == pytest.approx(seconds)


def test_a_cushion_is_opened_for_the_last_tasks_and_not_before() -> None:
    """Beside the offer's own budget, which is too little for tasks that take a fifth longer."""
    of = settings(100, offering(machines=10), known=known(10), rule="ask")
    conditions = Conditions(
        answers=lambda _offers, now: (
            (now, Chosen("fastest", cushion=money(30))) if now == 0 else None
        )
    )
    history = ran(of, 12, conditions)
    (opened,) = [at for at, said in history.decisions if "cushion of $30.00 opened" in said]
    (words,) = told(history, "cushion")
    (last,) = re.findall(r"the last (\d+) tasks", words)
    assert int(last) <= 20
    assert opened > 0
    assert len(history.records) == 100
