"""What a schedule promised is held against what came of it, from the choice on."""

from dataclasses import replace

import pytest
from experiments import chapter6, promises
from experiments.lab import Schedules, fastest
from experiments.twin import Starts

from bats.common.money import NOTHING, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.settings import ASK, Settings

OFFERINGS = (
    Offering(ClusterName("slow"), money(1), 3600, 10),
    Offering(ClusterName("fast"), money(3), 3600, 10),
)
ASKED = Settings(400, OFFERINGS, rule=ASK, initial_workers=1)
PROMPT = Starts((), 0.0, 0.0)


def simulated(settings: Settings, starts: Starts = PROMPT) -> promises.Kept:
    return promises.simulated(
        settings, lambda _, cluster: (1200.0, 600.0)[cluster], starts, fastest
    )


def test_a_bag_of_equal_tasks_keeps_what_was_promised():
    run = simulated(ASKED)
    assert run.schedule["name"] == "fastest"
    assert run.schedule["mix"] == [10, 10]
    assert run.complete
    assert run.within
    assert run.deviation == pytest.approx(0, abs=0.1)
    assert NOTHING < run.cost <= run.schedule["budget"]


def test_machines_that_come_late_are_late_here_too():
    prompt, late = simulated(ASKED), simulated(ASKED, Starts((), 1500.0, 0.0))
    assert late.seconds > prompt.seconds + 600


def test_who_runs_out_of_money_has_not_done_all():
    run = simulated(replace(ASKED, budget=money(12)))
    assert run.within
    assert not run.complete
    assert not run.bound_held
    assert run.done < 400


@pytest.mark.parametrize(
    ("bounds", "chosen"),
    [
        ({"a": (0.95, 110.0), "b": (1.0, 110.0)}, "a"),
        ({"a": (0.5, 110.0), "b": (0.95, 110.0)}, "b"),  # the money of a may not do
        ({"a": (0.95, 200.0), "b": (0.95, 110.0)}, "b"),  # nobody knows how long a takes
        ({"a": (0.5, 110.0), "b": (0.95, 200.0)}, "fastest"),
    ],
)
def test_a_careful_user_takes_the_cheapest_that_is_sure(
    bounds: dict[str, tuple[float, float]], chosen: str
):
    offered: Schedules = [
        {
            "name": name,
            "makespan_seconds": 100.0,
            "bounds": {"chance_in_budget": chance, "makespan_seconds": longest},
        }
        for name, (chance, longest) in bounds.items()
    ]
    assert chapter6.cheapest_sure(offered) == chosen


SCHEDULE = {"budget": money(10), "makespan_seconds": 100.0, "bounds": {"makespan_seconds": 120.0}}


def kept(seconds: float = 100.0, spent: int = 13, done: int = 400) -> promises.Kept:
    """When it was chosen, $4 were committed."""
    return promises.Kept.of(SCHEDULE, seconds, money(spent), money(4), done, 400)


def test_spending_beyond_the_budget_of_what_was_chosen_is_seen():
    assert kept(spent=14).within
    assert kept(spent=14).cost == money(10)
    assert not kept(spent=15).within


def test_an_end_after_the_bound_is_seen_and_none_at_all_is_after_it():
    assert kept(seconds=120.0).bound_held
    assert not kept(seconds=121.0).bound_held
    assert not kept(done=399).bound_held
    assert kept(seconds=121.0).deviation == pytest.approx(0.21)
