"""Money that goes while nothing comes of it: the run is paused before the budget is gone."""

import random
from dataclasses import replace

import pytest
from helpers.workbench import HOUR, MINUTE, free, offering, settings

from bats.common.messages import TaskId
from bats.common.offering import MANUAL, Offering
from bats.master.brain.books.phase import Phase
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Hampered, Resumed
from bats.master.brain.protocol.graph import Step, graph
from bats.master.simulate.driver import NEVER, Conditions, History, Simulation


def played(
    seconds: dict[int, float], *, tasks: int = 40, until: float = NEVER, **world: object
) -> tuple[Simulation, History]:
    """Tasks take a minute unless said otherwise; two kinds of machines, by the second."""
    kinds = offering("a", "0.01", atu=1.0, machines=4), offering("b", "0.02", atu=1.0, machines=4)
    limits = settings(tasks, *kinds, budget=120)
    simulation = Simulation(
        limits,
        lambda task, _: seconds.get(task, MINUTE),
        Conditions(**world),  # type: ignore[arg-type]
    )
    return simulation, simulation.run(until)


def test_a_task_that_hangs_pauses_the_bag_long_before_the_budget_is_gone() -> None:
    simulation, _ = played({7: NEVER}, until=12 * HOUR)
    run = simulation.engine.run
    assert run.pause is not None
    assert run.tasks.done == 39
    assert "nothing has ended for" in run.pause.reason
    assert "the longest task so far took 1 min 0 s, and 1 runs" in run.pause.reason
    assert run.ledger.settled < run.settings.budget * 0.6
    assert not run.pool.alive()


FULL = "The disk of /state has 9 MB left."


@pytest.mark.parametrize("told", [(FULL,), (FULL, "")])
def test_a_full_disk_of_the_masters_is_named_for_what_stands_still_meanwhile(
    told: tuple[str, ...],
) -> None:
    kind = offering("a", "0.01", atu=1.0, machines=4)
    simulation = Simulation(
        settings(40, kind, budget=120),
        lambda task, _: MINUTE if task < 10 else NEVER,
        Conditions(),
    )
    for minutes, words in enumerate(told, 1):
        simulation.tell(Hampered(words), minutes * MINUTE)
    simulation.run(12 * HOUR)
    pause = simulation.engine.run.pause
    assert pause is not None
    named = told[-1]
    assert pause.reason.startswith(f"{named} So nothing has ended for " if named else "nothing")


def test_the_first_tasks_of_a_step_are_no_standstill_however_short_those_before_were() -> None:
    of = graph([Step("short", 30), Step("long", 4)], barriers=[(0, 1)])
    kind = offering("a", "0.01", atu=1.0, machines=4)
    simulation = Simulation(
        replace(settings(34, kind, budget=120), graph=of),
        lambda task, _: 0.02 if task < 30 else 1000.0,
        Conditions(),
    )
    simulation.run()
    assert simulation.engine.run.outcome is BagOutcome.COMPLETE


def test_tasks_that_all_hang_pause_the_bag_in_its_sample() -> None:
    simulation, _ = played(dict.fromkeys(range(40), NEVER), until=12 * HOUR)
    run = simulation.engine.run
    assert run.phase is Phase.SAMPLING
    assert run.pause is not None
    assert "no task has ended, and each has run for" in run.pause.reason
    assert run.ledger.settled < run.settings.budget * 0.8


@pytest.mark.parametrize("desks", [1, 0])
def test_what_the_money_does_not_do_is_no_standstill_where_a_machine_costs_nothing(
    desks: int,
) -> None:
    kinds = free(machines=desks), offering("a", "0.06", atu=MINUTE, machines=4)
    simulation = Simulation(settings(30, *kinds, budget=2), lambda _t, _c: 600.0, Conditions())
    simulation.run(12 * HOUR)
    run = simulation.engine.run
    assert (run.outcome is BagOutcome.COMPLETE) is bool(desks)
    assert run.ledger.settled <= run.settings.budget


@pytest.mark.parametrize(
    "beside",
    [
        offering("desk", 0, machines=0, backend=MANUAL),  # no worker ever comes
        free(machines=0),
        free(),  # it hangs there, too
    ],
)
def test_first_tasks_that_hang_pause_the_bag_beside_what_costs_nothing_and_does_nothing(
    beside: Offering,
) -> None:
    kinds = beside, offering("a", "0.06", atu=MINUTE, machines=4)
    simulation = Simulation(settings(300, *kinds, budget=6), lambda _t, _c: NEVER, Conditions())
    simulation.run(12 * HOUR)
    run = simulation.engine.run
    assert run.pause is not None
    assert "no task has ended, and each has run for" in run.pause.reason
    assert run.ledger.settled < run.settings.budget * 0.7


def test_machines_that_break_as_soon_as_they_work_pause_the_bag() -> None:
    rng = random.Random(3)
    simulation, _ = played(
        {}, until=48 * HOUR, life_seconds=lambda _rng, _cluster: 40 * rng.uniform(0.8, 1.1)
    )
    run = simulation.engine.run
    assert run.pause is not None or run.outcome is not None
    assert run.ledger.settled < run.settings.budget * 0.6


@pytest.mark.parametrize("long", [5, 15])
def test_a_long_tail_is_no_standstill(long: float) -> None:
    simulation, history = played({3: long * MINUTE, 30: 2 * long * MINUTE})
    assert simulation.engine.run.pause is None
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE


def test_a_bag_goes_on_after_a_standstill_when_its_user_says_so() -> None:
    simulation, _ = played({7: NEVER}, until=12 * HOUR)
    engine = simulation.engine
    engine.handle(Resumed(), 12 * HOUR)
    assert engine.run.pause is None
    assert engine.run.tasks.states[TaskId(7)] == 0
    engine.check()
