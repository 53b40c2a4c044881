"""Plans for workflows on rented machines, held against a loop over tasks and other numbers."""

import gc
import math
import random
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest

from bats.common.billing import charge
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.probability.assignment import breadth_first
from bats.master.brain.probability.histogram import Histogram, constant, from_samples
from bats.master.brain.probability.rented_machines import OnKind, Rented, World
from bats.master.brain.probability.stages import Order, stages
from bats.master.brain.probability.workflow_planning import (
    AVERAGE,
    WORST_CASE,
    WorkflowProblem,
    cheapest,
    fastest,
)

CENT = 10_000_000
# a, then 12 of b, each followed by a c; d waits for all c
FAN = Order(
    [0, *[1] * 12, *[2] * 12, 3],
    [[], *[[0]] * 12, *[[1 + k] for k in range(12)], list(range(13, 25))],
)


def kind(name: str, cents: float, atu: float, most: int, **more: object) -> Cluster:
    start = float(more.pop("start", 0.0))  # type: ignore[arg-type]
    offering = Offering(name, Money(int(cents * CENT)), atu, most, **more)  # type: ignore[arg-type]
    return Cluster(offering, 1.0, most, start_seconds=start, boot_seconds=start)


def varying(mean: float, spread: float, seed: int) -> Histogram:
    rng = np.random.default_rng(seed)
    return from_samples(mean * rng.lognormal(-spread * spread / 2, spread, 5000))


def fan(
    budget_cents: float, atu: float = 1.0, spread: float = 0.5, **more: object
) -> WorkflowProblem:
    clusters = (kind("slow", atu * 0.01, atu, 20), kind("fast", atu * 0.045, atu, 20))
    times = [
        [varying(mean, spread, step), varying(mean / 2.5, spread / 2, step)]
        for step, mean in enumerate((30.0, 60.0, 20.0, 40.0))
    ]
    return WorkflowProblem(FAN, clusters, times, Money(int(budget_cents * CENT)), **more)  # type: ignore[arg-type]


def by_hand(
    order: Order, cluster: Cluster, machines: int, seconds: list[float]
) -> tuple[float, int]:
    """One kind of machine, a loop over tasks in the order of their stages."""
    slots = cluster.offering.slots
    free = [0.0] * (machines * slots)
    paid = [-math.inf] * machines
    ends = [0.0] * len(order)
    cost = 0
    for stage in stages(order):
        for group in stage:
            ready = {t: max((ends[p] for p in order.parents[t]), default=0.0) for t in group.tasks}
            for task in sorted(group.tasks, key=ready.__getitem__):
                earliest = min(ready.values())
                place = min(range(len(free)), key=lambda p: (max(free[p], earliest), p))
                start, machine = max(free[place], ready[task]), place // slots
                if paid[machine] < start:
                    start += cluster.start_seconds
                    paid[machine] = start - cluster.boot_seconds
                while paid[machine] < start + seconds[task] - 1e-9:
                    paid[machine] += cluster.offering.atu_seconds
                    cost += cluster.offering.price
                free[place] = ends[task] = start + seconds[task]
    return max(ends), cost


@pytest.mark.parametrize("seed", range(12))
def test_what_runs_through_rented_machines_is_what_a_loop_over_tasks_finds(seed: int) -> None:
    chance = random.Random(seed)
    slots, machines = 1 + seed % 2, chance.choice([1, 2, 3, 12])
    cluster = kind("one", 1, chance.choice([1.0, 7.0, 600.0]), 20, slots=slots, start=seed % 3)
    seconds = [chance.uniform(1, 40) for _ in FAN.step]
    each = Order(range(len(FAN)), FAN.parents)  # each its own step, so that its runtime is known
    world = World(each, stages(each), (cluster,), [[constant(one)] for one in seconds], runs=3)
    found = world.outcomes(lambda stage, place: (OnKind(0, machines),))
    told, cost = by_hand(each, cluster, machines, seconds)
    assert found.seconds == pytest.approx([told] * 3)
    assert found.cost == pytest.approx([cost] * 3)


def test_tasks_of_a_group_on_two_kinds_go_to_the_one_that_should_end_them_first() -> None:
    clusters = (kind("slow", 1, 1.0, 3), kind("fast", 3, 1.0, 2, slots=2))
    many = Order([0] * 29, [[]] * 29)
    world = World(many, stages(many), clusters, [[constant(12.0), constant(5.0)]], runs=1)
    found = world.outcomes(lambda stage, place: (OnKind(1, 2), OnKind(0, 3)))
    takes = [5.0] * 4 + [12.0] * 3  # a loop: each task goes where it ends first
    free = [0.0] * 7
    for _ in range(29):
        place = min(range(7), key=lambda p: (free[p] + takes[p], p))
        free[place] += takes[place]
    assert found.seconds.tolist() == [max(free)]
    paid = 3 * max(free[:2]) + 3 * max(free[2:4]) + sum(free[4:])
    assert found.cost.tolist() == [CENT * paid]


def test_a_step_wider_than_a_kind_has_machines_of_two_kinds_where_money_allows() -> None:
    wide = Order([0] * 60, [[]] * 60)
    clusters = (kind("slow", 0.6, 60.0, 6), kind("fast", 1.5, 60.0, 6))
    times = [[varying(50.0, 0.3, 1), varying(25.0, 0.3, 2)]]
    plenty, little = (
        fastest(WorkflowProblem(wide, clusters, times, Money(cents * CENT))) for cents in (200, 40)
    )
    assert plenty is not None
    assert little is not None
    assert {one.kind for one in plenty.of_steps()[0]} == {0, 1}
    world = World(wide, plenty.stages, clusters, times, runs=400, seed=7)
    of_fast = world.outcomes(lambda stage, place: (OnKind(1, 6),))
    of_plan = world.outcomes(lambda stage, place: plenty.on[stage][place])
    assert of_plan.seconds.mean() < 0.8 * of_fast.seconds.mean()
    assert little.seconds.mean > plenty.seconds.mean


def test_a_plan_of_many_tasks_leaves_no_memory_behind() -> None:
    wide = Order([0] * 5000, [[]] * 5000)
    clusters = (kind("slow", 0.6, 60.0, 60), kind("fast", 1.5, 60.0, 60))
    times = [[varying(50.0, 0.3, 1), varying(25.0, 0.3, 2)]]
    tracemalloc.start()
    try:
        assert fastest(WorkflowProblem(wide, clusters, times, Money(20_000 * CENT))) is not None
        gc.collect()
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 500_000


def test_machines_that_are_there_are_used_first_and_cost_nothing_until_their_paid_time_ends() -> (
    None
):
    cluster = kind("one", 1, 60.0, 4, start=10.0)
    one = Order([0], [[]])
    world = World(one, stages(one), (cluster,), [[constant(50.0)]], (Rented(0, 5.0, 58.0),), runs=1)
    found = world.outcomes(lambda stage, place: (OnKind(0, 1),))
    assert found.seconds.tolist() == [55.0]
    assert found.cost.tolist() == [0.0]
    assert replace(world, there=()).outcomes(lambda s, p: (OnKind(0, 1),)).seconds.tolist() == [
        60.0
    ]


def test_a_task_that_runs_already_takes_its_rest() -> None:
    cluster = kind("one", 1, 60.0, 4)
    pair = Order([0, 0], [[], [0]])
    times = [[constant(50.0)]]
    world = World(pair, stages(pair), (cluster,), times, (Rented(0, 20.0, 60.0),), ((0, 20.0),), 1)
    assert world.outcomes(lambda stage, place: (OnKind(0, 1),)).seconds.tolist() == [70.0]


@pytest.mark.parametrize("atu", [1.0, 60.0, 3600.0])
def test_more_money_makes_a_plan_no_slower_and_no_plan_costs_more_than_it_may(atu: float) -> None:
    times = []
    for cents in (8, 12, 20, 40, 120, 2000):
        plan = fastest(fan(cents, atu))
        if plan is not None:
            assert plan.cost.quantile(0.95) <= cents * CENT * 1.001
            assert plan.within >= 0.95
            times.append(plan.seconds.mean)
    assert len(times) >= 2
    assert all(after <= before * 1.02 for before, after in pairwise(times))


def test_the_chance_that_is_told_holds_with_other_numbers() -> None:
    problem = fan(14.0)
    plan = fastest(problem)
    assert plan is not None
    others = World(FAN, plan.stages, problem.clusters, problem.runtimes, runs=4000, seed=99)
    outcomes = others.outcomes(lambda stage, place: plan.on[stage][place])
    assert outcomes.chance_of_cost(float(problem.budget)) >= 0.93
    assert outcomes.seconds.mean() == pytest.approx(plan.seconds.mean, rel=0.05)


def test_average_promises_what_it_keeps_by_luck_and_worst_case_goes_slower_than_it_could() -> None:
    problem = fan(14.0)
    prob, average, worst = (fastest(problem, *judge) for judge in ((), (AVERAGE,), (WORST_CASE,)))
    assert prob is not None
    assert average is not None
    world = World(FAN, prob.stages, problem.clusters, problem.runtimes, runs=2000, seed=5)
    of_average = world.outcomes(lambda stage, place: average.on[stage][place])
    assert of_average.seconds.mean() > 1.1 * average.seconds.mean
    assert of_average.chance_of_cost(float(problem.budget)) < 0.9
    if worst is not None:
        of_worst = world.outcomes(lambda stage, place: worst.on[stage][place])
        assert of_worst.seconds.mean() >= prob.seconds.mean


def test_the_cheapest_plan_by_a_deadline_is_cheaper_than_the_fastest_and_keeps_it() -> None:
    quick = fastest(fan(1000.0))
    assert quick is not None
    by_then = cheapest(fan(1000.0, deadline_seconds=2.5 * quick.seconds.mean))
    assert by_then is not None
    assert by_then.seconds.quantile(0.95) <= 2.5 * quick.seconds.mean * 1.001
    assert by_then.cost.mean < 0.9 * quick.cost.mean
    assert cheapest(fan(1000.0, deadline_seconds=1.0)) is None


def test_a_budget_that_pays_for_nothing_has_no_plan() -> None:
    assert fastest(fan(0.01)) is None


def test_breadth_first_finds_a_plan_as_good() -> None:
    one, other = fastest(fan(14.0)), fastest(fan(14.0), search=breadth_first)
    assert one is not None
    assert other is not None
    assert other.seconds.mean == pytest.approx(one.seconds.mean)


def test_no_assignment_of_one_kind_to_each_step_is_much_faster_than_the_plan() -> None:
    """All kinds for all steps, each with as many machines as tasks, are tried."""
    problem = fan(14.0)
    plan = fastest(problem)
    assert plan is not None
    world = World(FAN, plan.stages, problem.clusters, problem.runtimes, runs=200, seed=0)
    best = math.inf
    for number in range(16):
        kinds = [number >> step & 1 for step in range(4)]
        chosen = [[(OnKind(kinds[group.step], len(group)),) for group in s] for s in plan.stages]
        outcomes = world.outcomes(lambda stage, place, on=chosen: on[stage][place])  # type: ignore[misc]
        if float(np.quantile(outcomes.cost, 0.95)) <= problem.budget:
            best = min(best, float(outcomes.seconds.mean()))
    assert plan.seconds.mean <= best * 1.05


def test_barriers_take_no_time_and_no_machine() -> None:
    with_gate = Order([0, 0, 1, 0], [[], [], [0, 1], [2]])  # step 1 is beyond the only known one
    problem = WorkflowProblem(
        with_gate, (kind("one", 1, 60.0, 4),), [[constant(10.0)]], Money(100 * CENT)
    )
    plan = fastest(problem)
    assert plan is not None
    assert plan.seconds.mean == pytest.approx(20.0)
    assert plan.cost.mean == pytest.approx(fmean([2 * charge(problem.clusters[0].offering, 20.0)]))
