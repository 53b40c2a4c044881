"""An open bag: tasks are added while it runs, in batches, until its user says that no more come."""

import random
import time
from collections.abc import Callable

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import NOTHING, money
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine, replay
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import (
    Added,
    AllAdded,
    Allowed,
    Begin,
    Cancelled,
    Chosen,
    Event,
    Woken,
)
from bats.master.brain.protocol.journal import event_from, plain, plain_settings, settings_from
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.told.view import view
from bats.master.simulate.driver import Conditions, History, Simulation
from bats.master.simulate.foresight import foretell


def told(
    of: Settings,
    *words: tuple[float, Event],
    seconds: Callable[[TaskId, int], float] = lambda _task, _cluster: 60.0,
    until: float = 1e9,
) -> tuple[Simulation, History]:
    """A bag in virtual time whose user says these words at those times; its books always agree."""
    world = Simulation(
        of, seconds, keep_events=True, after_event=Engine.check,
        foretell=foretell if of.foresight else None,
    )  # fmt: skip
    for at, word in words:
        world.tell(word, at)
    return world, world.run(until)


def test_an_open_bag_without_a_task_waits_for_nothing_and_costs_nothing() -> None:
    bench = Bench(settings(0, offering(), free(), budget=5, open=True))
    out = bench.begin()
    assert only(do.StartMachines, out) == []
    assert only(do.WakeAt, out) == [], "nobody is woken for nothing"
    assert only(do.EndBag, out) == []
    assert view(bench.run, 1e6).spent == NOTHING


def test_its_first_tasks_begin_the_sample() -> None:
    bench = Bench(settings(0, offering("slow", 1), offering("fast", 2), budget=50, open=True))
    bench.begin()
    out = bench(Added(100), 5 * HOUR)
    assert {one.cluster for one in only(do.StartMachines, out)} == {0, 1}
    assert len(bench.run.tasks) == 100


def test_it_ends_when_all_is_done_and_no_more_come() -> None:
    bench = Bench(settings(2, free(machines=2), open=True))
    bench.begin()
    bench.join(1, slots=1)
    bench.join(2, slots=1)
    assert only(do.EndBag, bench.done(1, 0) if 0 in _on(bench, 1) else bench.done(1, 1)) == []
    assert only(do.EndBag, bench.done(2, *_on(bench, 2))) == []
    assert sent(bench(Added(1))) == [2]
    (machine,) = [m.id for m in bench.run.pool.alive() if m.active]
    assert only(do.EndBag, bench(AllAdded())) == [], "a task still runs"
    (end,) = only(do.EndBag, bench.done(int(machine), 2))
    assert end == do.EndBag(do.BagOutcome.COMPLETE, "all 3 tasks done")


def _on(bench: Bench, machine: int) -> list[int]:
    (one,) = [m for m in bench.run.pool.alive() if m.id == machine]
    return list(one.active)


def test_it_ends_at_once_when_it_is_closed_with_nothing_left() -> None:
    bench = Bench(settings(0, free(), open=True))
    bench.begin()
    (end,) = only(do.EndBag, bench(AllAdded()))
    assert end.words == "no task was ever added"
    assert bench.engine.over


def test_tasks_added_before_it_begins_are_those_of_its_beginning() -> None:
    bench = Bench(settings(1, free(), open=True))
    bench(Added(2))
    bench.begin()
    assert len(bench.join(1, slots=4)) > 0
    assert bench.run.tasks.counts[TaskState.RUNNING] == 3


def test_tasks_that_come_when_it_has_ended_are_dropped() -> None:
    bench = Bench(settings(1, free(), open=True))
    bench.begin()
    bench(Cancelled("enough"))
    assert bench.engine.over is False or bench.run.phase is Phase.ENDED
    bench(Added(3))
    assert bench.run.tasks.unfinished == 0


@pytest.mark.parametrize("atu", [1.0, 60.0, HOUR])
@pytest.mark.parametrize("seconds", [0.02, 60.0, 6 * HOUR])
@pytest.mark.parametrize("sizes", [(1, 1), (0, 1), (5, 300), (0, 40, 3), (100, 0, 100)])
def test_batches_far_apart_are_all_done_within_the_budget_and_nothing_idles_between(
    atu: float, seconds: float, sizes: tuple[int, ...]
) -> None:
    kinds = offering("slow", 1, atu=atu), offering("fast", 2, atu=atu)
    work = sum(sizes) * max(1.0, seconds / atu) + 20
    of = settings(sizes[0], *kinds, budget=int(6 * work), open=True, seed=1)
    apart = 1000 * HOUR
    words = [(k * apart, Added(n)) for k, n in enumerate(sizes[1:], 1) if n]
    end = len(sizes) * apart
    world, history = told(
        of, *words, (end, AllAdded()),
        seconds=lambda task, cluster: seconds * (1 + task % 7 / 7) / (1 + cluster),
    )  # fmt: skip
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.COMPLETE, history.decisions[-3:]
    assert world.engine.run.tasks.done == sum(sizes)
    assert all(len(found) == 1 for found in history.records.values())
    assert history.ended_at == end
    spent = world.engine.run.ledger.settled
    assert spent <= (of.budget or 0)
    idle = [
        uptime for _, begun, ended in history.uptimes.values() if (uptime := ended - begun) > apart
    ]
    assert not idle, "a machine stayed from one batch to the next"


def test_a_machine_that_costs_nothing_leaves_when_there_is_nothing_to_do() -> None:
    world, history = told(
        settings(3, free(machines=2), open=True), (100 * HOUR, Added(2)), (200 * HOUR, AllAdded())
    )
    assert world.engine.run.tasks.done == 5
    assert all(ended - began < HOUR for _, began, ended in history.uptimes.values())


def test_nothing_wakes_a_bag_that_has_nothing_to_do() -> None:
    _, history = told(
        settings(3, offering(), budget=50, open=True), (1000 * HOUR, AllAdded()), until=2000 * HOUR
    )
    woken = [at for at, event in history.events if isinstance(event, Woken)]
    assert max(woken) < 10 * HOUR


def test_its_journal_replays_to_the_same_commands() -> None:
    kinds = offering("slow", 1, atu=MINUTE), offering("fast", 3, atu=MINUTE)
    of = settings(7, *kinds, budget=900, open=True, seed=3)
    words = [(300.0 * k, Added(1 + 13 * k)) for k in range(1, 8)]
    world, history = told(
        of,
        *words,
        (1e5, AllAdded()),
        seconds=lambda task, cluster: (20 + task % 40) / (1 + cluster),
    )
    assert world.engine.run.tasks.done == 7 + sum(1 + 13 * k for k in range(1, 8))
    again = Engine(settings_from(plain_settings(of)))
    for (at, event), commands in zip(history.events, history.commands, strict=True):
        assert again.handle(event_from(plain(event)), at) == commands
    assert again.digest() == replay(of, history.events).digest()


def test_a_kind_that_a_small_beginning_had_no_task_for_is_tried_when_the_bag_grows() -> None:
    kinds = [offering(name, price, atu=MINUTE, machines=8) for name, price in
             (("a", 1), ("b", 2), ("c", 4), ("d", 8))]  # fmt: skip
    of = settings(2, *kinds, budget=5000, open=True)
    world, _ = told(of, (90.0, Added(2)), (600.0, Added(2000)), (1e6, AllAdded()))
    assert world.engine.run.tasks.done == 2004
    assert all(c.profile.count for c in world.engine.run.clusters)


def test_copies_make_room_for_tasks_that_nobody_has_begun() -> None:
    known = ((600.0,) * 9, (60.0,) * 9)
    bench = Bench(settings(2, free("slow"), free("fast"), tail="random", known=known, open=True))
    bench.begin()
    bench.join(1)
    bench.join(2)
    (last,), (other,) = _on(bench, 1), _on(bench, 2)
    assert sent(bench.done(2, other, at=60.0)) == [last], "the idle machine copies"
    assert only(do.KillTask, bench(Added(1), 70.0)) == [do.KillTask(MachineId(2), last, 2)]
    assert sent(bench.end(2, last, Outcome.KILLED, attempt=2, at=70.0)) == [2]


def test_what_is_told_is_for_the_tasks_known_so_far() -> None:
    kinds = offering("slow", 1, atu=MINUTE), offering("fast", 3, atu=MINUTE)
    of = settings(60, *kinds, open=True, foresight=True, rule="cheapest")
    world, _ = told(of, until=1200.0)
    first = view(world.engine.run, 1200.0).told
    assert first is not None
    assert first.tasks == 60
    world, history = told(of, (1200.0, Added(200)), (1e5, AllAdded()))
    by_then = view(world.engine.run, 0.0).told
    assert by_then is not None
    assert by_then.tasks == 260
    assert by_then.cost_bound > first.cost_bound
    assert world.engine.run.outcome is do.BagOutcome.COMPLETE, history.decisions[-3:]


def test_who_chose_a_price_is_asked_before_more_tasks_pass_it() -> None:
    kinds = offering("slow", 1, atu=MINUTE), offering("fast", 3, atu=MINUTE)
    of = settings(60, *kinds, open=True, foresight=True, rule="ask")
    world = Simulation(
        of, lambda _task, _cluster: 60.0, keep_events=True, foretell=foretell,
        conditions=Conditions(
            answers=lambda offers, now: (now, Chosen("cheapest")) if offers else None
        ),
    )  # fmt: skip
    world.tell(Added(500), 4000.0)
    history = world.run(1e6)
    run = world.engine.run
    assert run.pause is not None, history.decisions[-3:]
    assert run.pause.budget is not None
    assert "for the 60 tasks known then" in run.pause.reason
    assert run.spent() <= view(run, 0.0).told.cost_bound  # type: ignore[union-attr]


def test_a_hundred_thousand_tasks_one_event_each_take_no_plan_each() -> None:
    bench = Bench(settings(1, offering(machines=8), budget=500, open=True))
    engine = bench.engine
    engine.handle(Begin(), 0.0)
    began = time.process_time()
    for number in range(100_000):
        engine.handle(Added(1), number * 1e-4)
    assert time.process_time() - began < 10
    engine.check()
    assert len(engine.run.tasks) == 100_001


def test_more_money_is_not_a_promise_of_its_own() -> None:
    """A user's budget caps an open bag as it caps any other."""
    of = settings(20, offering(price=1, atu=MINUTE), budget=30, open=True)
    world, history = told(of, (1e4, Added(500)), (1e5, AllAdded()))
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.OUT_OF_BUDGET
    assert world.engine.run.ledger.settled <= money(30)


@pytest.mark.parametrize(("rule", "seed"), [("cheapest", 0), ("balanced", 1), ("fastest", 2)])
def test_who_said_how_to_choose_and_gave_no_budget_is_never_left_without_money(
    rule: str, seed: int
) -> None:
    """Batches come at any time, of any size; each is told what it comes to, and done.

    The price told does in nine of ten cases; in the tenth the bag asks once for what it needs.
    """
    kinds = offering("slow", 1, atu=10), offering("fast", 3, atu=MINUTE)
    of = settings(0, *kinds, open=True, foresight=True, rule=rule, seed=seed)
    chance = random.Random(seed)
    words = [(chance.uniform(0, 3000), Added(chance.choice([1, 2, 7, 40, 101]))) for _ in range(9)]
    world, history = told(
        of, *words, (1e5, AllAdded()), seconds=lambda task, cluster: (1 + task % 9) / (1 + cluster)
    )
    if (pause := world.engine.run.pause) is not None:
        assert pause.budget is not None, history.decisions[-4:]
        world.tell(Allowed(pause.budget), 2e5)
        world.go_on()
    assert world.engine.run.outcome is do.BagOutcome.COMPLETE, history.decisions[-4:]
    assert world.engine.run.tasks.done == sum(word.tasks for _, word in words)
