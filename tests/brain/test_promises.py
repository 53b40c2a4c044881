"""Whatever the bag, the offerings and the mishaps: the money lasts, no task is lost, the run ends.

Each run checks the engine's books after every event, and at the end an account of money and results
that the simulated world kept by itself.
"""

import os

import pytest
from helpers.stories import invent

from bats.common.billing import charge
from bats.common.money import Money
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Cancelled
from bats.master.simulate.driver import Simulation

RUNS = int(os.environ.get("BATS_PROMISE_RUNS", "5000"))
BATCH = 250


def tell(seed: int) -> Simulation:
    story = invent(seed)
    limit_seen: list[Money | None] = []

    def after_event(engine: Engine) -> None:
        engine.check()
        limit_seen.append(engine.run.ledger.limit)

    simulation = Simulation(
        story.settings,
        lambda task, cluster: float(story.runtimes[task] / story.speeds[cluster]),
        story.conditions,
        seed,
        after_event=after_event,
    )
    history = simulation.run()
    run = simulation.engine.run
    if run.pause is not None:  # its user gives it up
        simulation.tell(Cancelled("cancelled"), run.now + 60)
        history = simulation.go_on()

    assert simulation.engine.over, f"seed {seed}: the run never ended"
    assert history.end is not None
    for ended in history.records.values():
        assert len(ended) == 1, f"seed {seed}: a task was recorded twice"
    if history.end.outcome is BagOutcome.COMPLETE:
        assert set(history.records) == set(range(story.settings.tasks))
    if history.end.outcome in (BagOutcome.COMPLETE, BagOutcome.WITH_FAILURES):
        assert run.tasks.unfinished == 0
    spent = sum(
        charge(story.settings.offerings[cluster], gone - since)
        for cluster, since, gone in history.uptimes.values()
    )
    assert spent == run.ledger.settled, f"seed {seed}: the ledger is not what the world charged"
    if story.settings.budget is not None:
        assert spent <= story.settings.budget, f"seed {seed}: overspent"
    if limit_seen[-1] is not None:
        assert spent <= limit_seen[-1]
    return simulation


@pytest.mark.parametrize("first", range(0, RUNS, BATCH))
def test_the_promises_hold_in_every_story(first: int) -> None:
    for seed in range(first, min(first + BATCH, RUNS)):
        tell(seed)


def test_the_stories_are_of_many_kinds() -> None:
    outcomes = {tell(seed).history.end.outcome for seed in range(120)}  # type: ignore[union-attr]
    assert {BagOutcome.COMPLETE, BagOutcome.WITH_FAILURES, BagOutcome.OUT_OF_BUDGET} <= outcomes


def test_the_same_seed_tells_the_same_story() -> None:
    first, second = tell(77), tell(77)
    assert first.history.decisions == second.history.decisions
    assert first.history.uptimes == second.history.uptimes
