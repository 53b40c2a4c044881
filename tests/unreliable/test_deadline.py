"""A deadline with unreliable machines: reliable ones come as late as may be, and in time."""

from dataclasses import replace

import pytest
from helpers.spot import Spot

from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.simulate.driver import Conditions, Simulation

TASK = 600.0
STRATEGY = "N=3 T=1x D=2x M_r=1"
SPOT = Spot(tasks=40, machines=4, reliable=4, atu=60.0, price="0.02", dear="0.06")


def simulation(deadline: float, spot_comes: float) -> Simulation:
    """Spot machines that are asked for come so much later."""
    return Simulation(
        replace(SPOT.settings(STRATEGY), deadline_seconds=deadline),
        lambda _task, _cluster: TASK,
        Conditions(start_seconds=lambda _rng, cluster: 0.0 if cluster else spot_comes),
    )


def test_where_no_unreliable_machine_ever_comes_the_bag_is_done_by_its_deadline():
    history = simulation(7800.0, 1e9).run()
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE
    assert history.ended_at is not None
    assert history.ended_at <= 7800.0


def test_while_cheap_machines_do_it_in_time_no_other_is_had():
    made = simulation(9000.0, 0.0)
    made.run()
    assert {cluster for cluster, _, _ in made.history.uptimes.values()} == {0}


def test_others_wait_for_cheap_machines_as_long_as_may_be_and_go_when_these_come():
    made = simulation(12_000.0, 4_000.0)
    history = made.run()
    assert history.ended_at is not None
    assert history.ended_at <= 12_000.0
    dear = [end - since for cluster, since, end in history.uptimes.values() if cluster]
    assert sum(dear) < 8 * TASK, "one finds out how long tasks take; the rest is cheap"


def test_without_a_deadline_nobody_buys_what_is_dear_before_the_tail():
    made = Simulation(
        SPOT.settings(STRATEGY),
        lambda _task, _cluster: TASK,
        Conditions(start_seconds=lambda _rng, cluster: 0.0 if cluster else 1e9),
    )
    made.run(until=50_000.0)
    assert not made.history.uptimes


@pytest.mark.parametrize("machines", [1, 4])
@pytest.mark.parametrize("reliable", [0, 1])
def test_tasks_longer_than_four_times_the_mean_end_all_the_same(machines: int, reliable: int):
    """All but the last five take ten minutes; these take six hours, on whatever runs them."""
    spot = replace(SPOT, machines=machines)
    settings = spot.settings(STRATEGY)
    made = Simulation(
        replace(settings, offerings=settings.offerings[: 1 + reliable]),
        lambda task, _cluster: TASK if task < 35 else 36 * TASK,
        after_event=Engine.check,
    )
    history = made.run(until=20 * 40 * 36 * TASK)
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE
