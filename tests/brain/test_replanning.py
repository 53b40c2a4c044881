"""Machines are bought for what is left: in the place of lost ones, and as far as the money goes."""

import random

import pytest
from helpers.workbench import MINUTE, Bench, free, offering, only, settings

from bats.common.messages import MachineId
from bats.common.money import money
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Gone, SetAside, Woken

ONE = MachineId(1)


def known(*minutes: float) -> tuple[tuple[float, ...], ...]:
    return tuple((each * MINUTE,) * 30 for each in minutes)


def bought(commands: list[do.Command]) -> dict[int, int]:
    """The number of machines of each kind that were asked for."""
    return {start.cluster: len(start.machines) for start in only(do.StartMachines, commands)}


def told(commands: list[do.Command], words: str) -> list[str]:
    return [one.words for one in only(do.Decided, commands) if words in one.words]


@pytest.mark.parametrize("prudence", [0.0, 1.0])
def test_a_machine_that_was_lost_is_replaced_and_its_user_is_told_why(prudence: float) -> None:
    kind = offering("spot", machines=2)
    bench = Bench(settings(30, kind, budget=100, known=known(10), prudence=prudence))
    assert bought(bench.begin()) == {0: 2}
    bench.join(1, 0)
    bench.join(2, 0)
    out = bench(Gone(ONE, 600, Cause.PREEMPTED, "taken away"), 600)
    assert bought(out) == {0: 1}
    assert told(out, "spot 1 is gone: taken away")
    assert told(out, "a machine was lost: 2 spot")


def test_in_the_papers_way_none_is_replaced_whose_tasks_fit_into_paid_time_elsewhere() -> None:
    bench = Bench(settings(8, offering(machines=2), budget=100, known=known(10), prudence=0.0))
    bench.begin()
    bench.join(1, 0)
    bench.join(2, 0)
    for n in range(3):
        for machine in (1, 2):
            (task,) = bench.run.pool.machines[MachineId(machine)].active
            bench.done(machine, task, at=(n + 1) * 10 * MINUTE)
    assert bought(bench(Gone(ONE, 31 * MINUTE, Cause.PREEMPTED), 31 * MINUTE)) == {}


def test_free_machines_that_broke_down_are_asked_for_again() -> None:
    kinds = (free("desk", machines=2), offering(machines=2))
    bench = Bench(settings(90, *kinds, budget=200, known=known(10, 10)))
    assert bought(bench.begin()) == {0: 2, 1: 2}
    assert bought(bench(Gone(ONE, 5, Cause.FAILED), 5)) == {0: 1}


def test_without_the_money_for_all_it_goes_on_and_says_once_what_all_would_take() -> None:
    bench = Bench(settings(100, offering(machines=10), budget=10, known=known(10)))
    out = bench.begin()
    assert bought(out) == {0: 3}
    (words,) = told(out, "will hardly finish")
    assert "$10.00" in words
    assert "100 tasks" in words
    bench.join(1, 0)
    out = bench(Gone(ONE, 60, Cause.PREEMPTED), 60)
    out += bench(Woken(), bench.run.next_monitor)
    assert told(out, "will hardly finish") == []


def test_in_the_place_of_an_offering_that_is_set_aside_another_is_bought() -> None:
    kinds = (offering("a", 3, machines=2), offering("b", 6, machines=2))
    bench = Bench(settings(20, *kinds, rule="cheapest", known=known(10, 10)))
    assert bought(bench.begin()).keys() == {0}
    bench(SetAside(0, "no more of it"), 1)
    for machine in bench.run.pool.alive():
        out = bench(Gone(machine.id, 2, Cause.STOPPED), 2)
    assert bought(out).keys() == {1}


@pytest.mark.parametrize("seed", range(40))
def test_short_of_money_the_kind_is_bought_that_does_most_for_it(seed: int) -> None:
    """The stupid twin: tasks per money of every kind of which one can be paid."""
    rng = random.Random(seed)
    prices = [rng.randint(1, 12) for _ in range(3)]
    minutes = [rng.choice([5, 10, 15, 20, 30]) for _ in range(3)]
    kinds = tuple(offering(f"kind{k}", price, machines=50) for k, price in enumerate(prices))
    budget = rng.randint(max(prices), 60)
    more = {"known": known(*minutes), "prudence": 0.0}
    bench = Bench(settings(5000, *kinds, budget=budget, **more))
    found = bought(bench.begin())
    dearness = {k: prices[k] * minutes[k] for k in range(3)}
    (kind,) = found
    assert dearness[kind] == min(dearness.values())
    assert found[kind] == min(50, budget // prices[kind])
    assert bench.run.ledger.reserved <= money(budget)
