"""Whoever looks at an engine changes nothing, however often and for whatever time."""

import pytest
from helpers.workbench import offering, settings

from bats.common.messages import TaskId
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.simulate.driver import History, Simulation


def look(engine: Engine) -> None:
    headline = engine.headline()
    later = headline.now + 1000.0
    assert engine.view(later).now == later
    engine.explain()
    engine.questions(engine.promised())
    engine.task(TaskId(0), later)
    engine.running()
    engine.tried_again()
    assert len(engine.tasks(*TaskState)) == sum(headline.counts)
    for machine in engine.alive():
        engine.machine(machine.id, later)
    assert engine.headline() == headline


def ran(seed: int, *, watched: bool) -> History:
    of = settings(60, offering("slow", 1), offering("fast", 3), budget=40, seed=seed)
    simulation = Simulation(
        of,
        lambda task, cluster: (200.0 + 7 * task) / (1 + cluster),
        seed=seed,
        keep_events=True,
        after_event=look if watched else lambda _: None,
    )
    return simulation.run()


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_looked_at_after_every_event_is_the_same(seed: int) -> None:
    unseen, seen = ran(seed, watched=False), ran(seed, watched=True)
    assert len(unseen.events) > 60
    assert seen.events == unseen.events
    assert seen.commands == unseen.commands
