"""The sample: which machines it begins with, what runs on them, and what it tells."""

import random
from statistics import fmean

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, offering, only, settings

from bats.common.messages import MachineId, Outcome
from bats.common.money import money
from bats.master.brain.books.phase import Phase
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Allotted, Cause, Gone, Limited, SetAside
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import Conditions, Simulation

SPEEDS = (1.0, 2.0, 0.5)


def kinds(*prices: int, machines: int = 9) -> tuple:
    return tuple(offering(f"kind{k}", price, machines=machines) for k, price in enumerate(prices))


def bought(commands: list[do.Command]) -> dict[int, int]:
    """The number of machines of each kind that were asked for."""
    return {start.cluster: len(start.machines) for start in only(do.StartMachines, commands)}


def told(commands: list[do.Command], words: str) -> list[str]:
    return [one.words for one in only(do.Decided, commands) if words in one.words]


def minutes(task: int) -> float:
    return random.Random(task).choice([2, 4, 6, 8, 20]) * MINUTE


def sampled(of: Settings) -> tuple[Bench, dict[int, dict[int, float]]]:
    """All machines join, each task takes its own time by its machine's speed, until all is known.

    Gives what ended on each kind, too.
    """
    bench = Bench(of)
    bench.begin()
    for machine in bench.run.pool.alive():
        bench.join(machine.id, 0)
    seen: dict[int, dict[int, float]] = {k: {} for k in range(len(of.offerings))}
    while bench.run.phase is Phase.SAMPLING:
        ends = min(
            (attempt.since + minutes(attempt.task) / SPEEDS[machine.cluster], machine.id, attempt)
            for machine in bench.run.pool.alive()
            for attempt in machine.active.values()
        )
        at, number, attempt = ends
        machine = bench.run.pool.machines[number]
        seen[machine.cluster][attempt.task] = at - attempt.since
        bench.end(number, attempt.task, Outcome.DONE, attempt.attempt, at)
    return bench, seen


def test_every_kind_begins_with_the_same_few_tasks_so_that_they_can_be_compared() -> None:
    of = settings(600, *kinds(3, 6), budget=500)
    bench = Bench(of)
    assert bought(bench.begin()).keys() == {0, 1}
    first = {0: set(), 1: set()}
    for machine in bench.run.pool.alive():
        bench.join(machine.id, 0)
        first[machine.cluster] |= machine.active.keys()
    assert first[0] | first[1] <= set(bench.run.sample.replicated)
    _, seen = sampled(of)
    assert len(seen[0].keys() & seen[1].keys()) >= 3


def test_what_ended_on_one_kind_is_known_of_all_others_by_their_line() -> None:
    """The twin: times on the base, where they are known, else by speed; each kind by its own."""
    bench, seen = sampled(settings(600, *kinds(3, 6, 2), budget=900))
    everything = {task for ended in seen.values() for task in ended}
    for k, c in enumerate(bench.run.clusters):
        expected = fmean(minutes(task) / SPEEDS[k] for task in everything)
        assert c.profile.count == len(everything)
        assert c.profile.mean_done == pytest.approx(expected)


def test_each_kind_is_its_own_sample_where_it_is_asked_to_be() -> None:
    bench, seen = sampled(settings(200, *kinds(3, 6), budget=900, sampling=Sampling.IMPLICIT))
    assert seen[0].keys().isdisjoint(seen[1].keys())
    for k, c in enumerate(bench.run.clusters):
        assert c.profile.mean_done == pytest.approx(fmean(seen[k].values()))


def test_with_a_small_budget_the_dear_kinds_are_not_tried_and_it_is_said_what_they_cost() -> None:
    bench = Bench(settings(200, *kinds(3, 30), budget=20))
    out = bench.begin()
    assert bought(out) == {0: 1}
    assert told(out, "kind1 is set aside: sampling it would take $30.00 of $20.00")


@pytest.mark.parametrize("seed", range(30))
def test_what_a_sample_begins_with_is_affordable_and_never_nothing(seed: int) -> None:
    rng = random.Random(seed)
    prices = [rng.randint(1, 40) for _ in range(rng.randint(1, 4))]
    budget = rng.randint(max(prices), 400)
    bench = Bench(settings(rng.randint(3, 2000), *kinds(*prices), budget=budget))
    found = bought(bench.begin())
    assert found
    cost = sum(count * prices[k] for k, count in found.items())
    assert cost <= budget
    assert cost * 2 <= budget or sum(found.values()) == 1


def test_a_few_tasks_are_told_to_be_few() -> None:
    bench = Bench(settings(40, *kinds(3), budget=100))
    assert told(bench.begin(), "fewer than the 30 that estimates lean on")


def test_a_kind_that_does_not_come_is_left_out_when_the_others_are_known() -> None:
    """Its offering may be full for days."""
    late = Simulation(
        settings(200, *kinds(3, 3, machines=2), budget=500, patience_seconds=HOUR),
        lambda task, _cluster: minutes(task),
        Conditions(start_seconds=lambda _rng, cluster: 30 * HOUR if cluster else 0.0),
    )
    history = late.run(until=20 * HOUR)
    (at,) = [at for at, said in history.decisions if "kind1 is set aside: no machine" in said]
    assert HOUR <= at < 2 * HOUR
    assert len(history.records) == 200


def test_a_kind_whose_machines_were_lost_is_tried_again() -> None:
    bench = Bench(settings(600, *kinds(3, 6), budget=500))
    bench.begin()
    for machine in bench.run.pool.alive():
        bench.join(machine.id, 0)
    mine = [machine.id for machine in bench.run.pool.alive() if machine.cluster == 1]
    for machine in mine:
        out = bench(Gone(MachineId(machine), 60, Cause.PREEMPTED), 60)
    assert bought(out) == {1: 1}


def test_who_is_blind_to_cost_takes_every_machine_that_can_be_paid_at_once() -> None:
    bench = Bench(settings(600, *kinds(3, 6, machines=4), budget=24, sampling=Sampling.NONE))
    assert bought(bench.begin()) == {0: 4, 1: 2}
    assert bench.run.phase is Phase.EXECUTING


def test_runtimes_of_an_earlier_run_take_the_place_of_a_sample() -> None:
    known = ((600.0,) * 30, (300.0,) * 30)
    bench = Bench(settings(600, *kinds(3, 6), budget=500, known=known))
    out = bench.begin()
    assert bench.run.sample is None
    assert bench.run.phase is Phase.EXECUTING
    assert [c.profile.mean_done for c in bench.run.clusters] == [600, 300]
    assert only(do.Offer, out)


@pytest.mark.parametrize("prudence", [0.0, 1.0])
def test_a_sample_that_can_get_no_machine_any_more_ends_with_what_it_knows(prudence: float) -> None:
    bench = Bench(settings(300, *kinds(3, 6, machines=1), budget=90, prudence=prudence))
    bench.begin()
    bench.join(1, 0)
    (task,) = bench.run.pool.machines[MachineId(1)].active
    bench.done(1, task, at=5 * MINUTE)
    bench(SetAside(0, "none is left"), 5 * MINUTE)
    bench(SetAside(1, "nor of these"), 5 * MINUTE)
    bench(Gone(MachineId(2), 6 * MINUTE, Cause.STOPPED), 6 * MINUTE)
    out = bench(Gone(MachineId(1), 7 * MINUTE, Cause.PREEMPTED), 7 * MINUTE)
    assert bench.run.clusters[0].profile.mean_done == 5 * MINUTE
    (end,) = only(do.EndBag, out)
    assert end.outcome is do.BagOutcome.NO_MACHINES
    assert "kind0: none is left; kind1: nor of these" in end.words


def test_a_kind_that_others_leave_and_that_cannot_be_paid_raises_no_limit() -> None:
    """However often they leave it: what was told to be the most stays so till it is tried."""
    known = ((600.0,) * 30, ())
    bench = Bench(settings(100, *kinds(3, 3), rule="cheapest", known=known))
    bench(Limited(1, 0))
    bench.begin()
    bench(Allotted(bench.run.ledger.committed), 10)
    limit = bench.run.ledger.limit
    for _ in range(3):
        bench(Limited(1, 0), 20)
        bench(Limited(1, 1), 20)
    assert not bench.run.pool.living[1]
    assert bench.run.ledger.limit == limit
    bench(Allotted(None), 30)
    bench(Limited(1, 2), 30)
    assert bench.run.pool.living[1]
    assert limit is not None
    assert bench.run.ledger.limit == limit + 3 * money(3), "three hours of it"
