"""A sample costs what may be spent to learn, and is not waited for when nothing brings it."""

import pytest
from helpers.workbench import offering

from bats.common.money import money
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, History, Simulation

BOOT = 90.0
KINDS = (("a", "0.000061", 1.5), ("b", "0.000032", 1.1), ("c", "0.000099", 3.9))
"""Price of a second and speed; c is cheapest for the work, and a seventh of the budget to boot."""


def swept(seconds: float, budget: str) -> tuple[History, float]:
    """A hundred tasks alike; and when the schedule was chosen."""
    kinds = tuple(offering(name, price, machines=8, atu=1.0) for name, price, _ in KINDS)
    world = Simulation(
        Settings(100, kinds, money(budget), seed=1),
        lambda _task, cluster: seconds / KINDS[cluster][2],
        Conditions(start_seconds=lambda _rng, _cluster: 0.0, boot_seconds=BOOT),
    )
    return world.run(), world.engine.run.choice.at


@pytest.mark.parametrize("budget", ["0.12", "0.14", "0.18"])
def test_the_choice_does_not_wait_for_a_kind_whose_machine_is_gone(budget: str) -> None:
    history, chosen_at = swept(30.0, budget)
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE
    assert chosen_at < 3 * BOOT


def test_a_kind_that_may_be_the_cheapest_goes_on_while_others_are_learned_of() -> None:
    history, chosen_at = swept(30.0, "0.14")
    first = next(until for cluster, _, until in history.uptimes.values() if cluster == 2)
    assert first > chosen_at


@pytest.mark.parametrize("sampling", ["regression", "implicit", "none"])
def test_tasks_that_take_no_time_by_their_clock_are_run_like_others(sampling: str) -> None:
    kinds = (offering("a", "3", machines=2), offering("b", "4", machines=2))
    settings = Settings(100, kinds, money("20"), sampling=sampling, seed=1)
    history = Simulation(settings, lambda _task, _cluster: 0.0).run()
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE
