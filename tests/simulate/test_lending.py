"""Paid time that one bag has no use for runs tasks of others, in virtual time."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from bats.common.billing import charge
from bats.common.messages import BagId, MachineId, Outcome, TaskId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.household.household import Household
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import (
    Added,
    AllAdded,
    Borrowed,
    Collecting,
    Lends,
    Suspended,
    TakenBack,
    Unwanted,
)
from bats.master.brain.protocol.journal import event_from, plain
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.together import Submission, Together

HOURLY = Offering(ClusterName("hourly"), money("1"), 3600.0, 24)
A, B, C = BagId(1), BagId(2), BagId(3)


@cache
def three(lending: bool = True, slots: int = 1) -> Together:
    offering = replace(HOURLY, slots=slots)
    bags = [
        Submission(
            Settings(150 * slots, (offering,), money(9), seed=k),
            lambda task, _: 60.0 + task * 37 % 11,
            500.0 * k,
        )
        for k in range(3)
    ]
    world = Together(bags, keep_events=True, check=True, lending=lending)
    world.run()
    return world


def told(world: Together, bag: BagId, *kinds: type) -> list[object]:
    return [event for _, event in world.bags[bag].history.events if isinstance(event, kinds)]


@pytest.mark.parametrize("slots", [1, 4])
def test_paid_time_left_over_makes_other_bags_faster_and_costs_nobody_more(slots: int) -> None:
    with_, without = three(slots=slots), three(lending=False, slots=slots)
    for bag, one in with_.bags.items():
        alone = without.bags[bag]
        assert one.engine.run.outcome is BagOutcome.COMPLETE
        assert one.engine.run.ledger.settled <= alone.engine.run.ledger.settled
        assert (one.history.ended_at or 0) <= (alone.history.ended_at or 0)
    assert told(with_, C, Borrowed)
    last, last_alone = (world.bags[C].history.ended_at or 0 for world in (with_, without))
    assert last < 0.8 * last_alone


def test_who_pays_is_charged_what_its_machines_cost_and_nobody_else_is() -> None:
    world = three()
    for one in world.bags.values():
        spent = sum(charge(HOURLY, left - since) for _, since, left in one.history.uptimes.values())
        assert one.engine.run.ledger.settled == spent


def test_no_task_ends_on_a_borrowed_machine_after_the_time_announced() -> None:
    world = three()
    one = world.bags[C]
    until: dict[MachineId, float] = {}
    for at, event in one.history.events:
        if isinstance(event, Borrowed):
            until[event.machine] = event.until
        elif isinstance(event, TakenBack):
            assert at <= until.pop(event.machine)
    assert all(one.history.ended_at < left for left in until.values())  # it gave them back


def test_lenders_and_borrowers_are_replayed_alone_and_from_what_was_written() -> None:
    world = three()
    for bag, one in world.bags.items():
        again = Engine(one.settings)
        events = [(now, event_from(plain(event), bag)) for now, event in one.history.events]
        commands = [again.handle(event, now) for now, event in events]
        assert commands == one.history.commands
    household = Household()
    assert [household.handle(notice, now) for now, notice in world.notices] == world.answers


def test_a_machine_that_its_bag_needs_again_is_taken_back_at_once() -> None:
    """Tasks are added to an open bag while its machines are lent."""
    bags = [
        Submission(Settings(60, (HOURLY,), money(9), seed=1, open=True), lambda _t, _c: 60.0),
        Submission(Settings(900, (HOURLY,), money(30), seed=2), lambda _t, _c: 100.0, 50.0),
    ]
    world = Together(bags, keep_events=True, check=True)
    world.run(until=1500.0)
    lent = world.bags[B].engine.borrowed
    assert lent
    world.bags[A].deliver(Added(len(lent)), 1500.0)
    assert not world.bags[B].engine.borrowed
    assert sum(world.bags[A].running(machine) for machine in lent) == len(lent)
    world.bags[A].deliver(AllAdded(), 1500.0)
    world.run()
    assert [one.engine.run.outcome for one in world.bags.values()] == [BagOutcome.COMPLETE] * 2


def test_files_that_its_owner_fetches_from_a_machine_end_no_loan() -> None:
    offering = replace(HOURLY, max_machines=2, slots=2)
    bags = [
        Submission(Settings(20, (offering,), money(1), seed=1), lambda t, _: 60.0 + t * 37 % 50),
        Submission(Settings(90, (offering,), money(1), seed=2), lambda t, _: 20.0 + t % 5),
    ]
    world = Together(bags, check=True, keep_events=True)
    world.run(until=810.0)
    owner, borrower = world.bags[A], world.bags[B]
    (machine,) = borrower.engine.borrowed
    (attempt,) = owner.engine.run.pool.machines[machine].active.values()
    owner.deliver(Collecting(machine, ((attempt.task, attempt.attempt),)), 810.0)
    assert borrower.engine.borrowed == (machine,)
    assert not told(world, B, TakenBack)


def test_a_bag_that_is_alone_keeps_nothing_for_others() -> None:
    world = Together(
        [Submission(Settings(50, (HOURLY,), money(9)), lambda _t, _c: 60.0)], keep_events=True
    )
    world.run()
    assert not told(world, A, Lends, Unwanted)
    (gone,) = {left for _, _, left in world.bags[A].history.uptimes.values()}
    assert gone == world.bags[A].history.ended_at


def lognormal(mean: float, k: int) -> Callable[[TaskId, int], float]:
    return lambda task, kind: (
        mean * random.Random(k * 7919 + task).lognormvariate(0, 0.7) / (1 + kind)
    )


# Of 33 a machine that is taken back leads to the end of another loan of its owner.
@pytest.mark.parametrize("seed", [*range(4), 33])
def test_bags_that_lend_each_other_all_end_within_their_budgets(seed: int) -> None:
    rng = random.Random(seed)
    slots = rng.choice([1, 2, 4])
    kinds = (
        Offering(ClusterName("slow"), money("0.5"), rng.choice([60.0, 600.0, 3600.0]), 6, slots),
        Offering(ClusterName("fast"), money("1.2"), 3600.0, 4, slots, boundary_seconds=5.0),
    )
    bags = []
    for k in range(6):
        mean, at = rng.choice([1.0, 20.0, 300.0]), rng.uniform(0, 3000)
        bags.append(
            Submission(
                Settings(rng.randint(5, 60), kinds, money(rng.randint(8, 30)), seed=k),
                lognormal(mean, k),
                at,
            )
        )
    world = Together(bags, seed=seed, keep_events=True, check=True)
    world.run()
    lent = 0
    budgets = [one.settings.budget for one in bags]
    for number, one in world.bags.items():
        one.engine.check()
        assert one.engine.run.ledger.settled <= (budgets[number - 1] or 0)
        assert one.history.end is not None
        done = [e for e in one.history.records.values() if e[-1].outcome is Outcome.DONE]
        assert one.engine.run.outcome is not BagOutcome.COMPLETE or len(done) == len(
            one.engine.run.tasks
        )
        assert not one.engine.borrowed
        again = Engine(one.settings, bags[number - 1].runtimes)
        commands = [again.handle(event, now) for now, event in one.history.events]
        assert commands == one.history.commands
        lent += len(told(world, number, Borrowed))
    assert lent


def test_a_paused_bag_lends_what_waits_for_it_and_borrows_nothing() -> None:
    bags = [
        Submission(Settings(100, (HOURLY,), money(9), seed=k), lambda _t, _c: 60.0, 10.0 * k)
        for k in range(2)
    ]
    world = Together(bags, keep_events=True, check=True)
    world.run(until=240.0)
    world.bags[A].deliver(Suspended("asked"), 240.0)
    world.run(until=1500.0)
    assert any(event.machine // 1_000_000 == A for event in told(world, B, Borrowed))  # type: ignore[attr-defined]
    assert not told(world, A, Borrowed)
