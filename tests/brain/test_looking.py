"""Whoever looks at an engine changes nothing, however often and for whatever time."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from helpers.workbench import Bench, offering, only, sent, settings

from bats.common.messages import TaskId
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import EndBag
from bats.master.brain.protocol.events import Cause, Gone, Retried
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.protocol.settings import Settings
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
    if headline.phase is Phase.EXECUTING and headline.done % 10 == 0:
        assert engine.enough is None or engine.enough >= 0
    assert engine.needs >= 0
    engine.spare()
    assert len(engine.tasks(*TaskState)) == sum(headline.counts)
    for machine in engine.alive():
        engine.machine(machine.id, later)
    assert engine.headline() == headline


def ran(seed: int, *, watched: bool) -> History:
    of = settings(60, offering("slow", 1), offering("fast", 3), budget=40, seed=seed)
    return history(of, lambda task, cluster: (200.0 + 7 * task) / (1 + cluster), watched=watched)


def history(of: Settings, seconds: Callable[[TaskId, int], float], *, watched: bool) -> History:
    simulation = Simulation(
        of,
        seconds,
        seed=of.seed,
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


def ran_as_steps(seed: int, *, watched: bool) -> History:
    """Steps of 60 and 30 tasks and one, some of which fail at first."""
    steps = graph(
        [Step("a", 60), Step("b", 30), Step("c", 1)],
        [(2 * k + j, 60 + k) for k in range(30) for j in range(2)],
        barriers=[(1, 2)],
    )
    of = settings(91, offering("m", 1, machines=9), offering("n", 2), budget=40, graph=steps)
    of = replace(of, seed=seed)
    return history(
        of, lambda task, cluster: (200.0 + 7 * (task % 13)) / (1 + cluster), watched=watched
    )


@pytest.mark.parametrize("seed", range(2))
def test_so_is_one_of_steps(seed: int) -> None:
    unseen, seen = ran_as_steps(seed, watched=False), ran_as_steps(seed, watched=True)
    assert len(unseen.events) > 91
    assert seen.events == unseen.events
    assert seen.commands == unseen.commands


def short_of_money(*, watched: bool) -> Bench:
    """A workflow that has ended for want of money, with two of eleven tasks done."""
    steps = graph([Step("a", 10), Step("b", 1)], barriers=[(0, 1)])
    bench = Bench(settings(11, offering("m", 1, machines=2), graph=steps, budget=1))
    bench.begin()
    (machine,) = bench.run.pool.machines
    (task,) = sent(bench.join(machine, 1))
    (task,) = sent(bench.done(machine, task, at=1500))
    bench.done(machine, task, at=3000)
    bench(Gone(machine, 3100.0, Cause.PREEMPTED), 3100)
    assert bench.engine.over
    if watched:
        look(bench.engine)
    return bench


def test_one_that_had_ended_and_was_looked_at_goes_on_as_if_nobody_had() -> None:
    rest = tuple(short_of_money(watched=False).engine.tasks(TaskState.DROPPED))
    assert len(rest) == 9
    unseen, seen = (short_of_money(watched=one)(Retried(rest), 4000) for one in (False, True))
    assert seen == unseen
    (end,) = only(EndBag, seen)
    assert "choose a budget of" in end.words


def test_as_many_may_run_at_once_as_before_when_all_is_tried_again() -> None:
    bench = short_of_money(watched=True)
    tasks = bench.run.tasks
    assert tasks.most_at_once() == 0
    for task in bench.engine.tasks(TaskState.DROPPED):
        tasks.retry(task)
    assert tasks.most_at_once() == 8
