"""The optimum is that of trying all plans, and who checks a plan finds its faults."""

import itertools
import random

import pytest
from studies.optimum import Begun, Instance, Wanted, faults, optimum, value
from studies.scaling_optimum import plan_of, reached

from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.protocol.graph import Step, graph

SLOTS = 6


def drawn(seed: int) -> Instance:
    rng = random.Random(seed)
    near = neighbours(graph([Step("task", 3)], rng.choice([[(0, 1)], [(0, 1), (0, 2)], []])))
    slots = [[rng.randrange(1, 3) for _ in range(3)] for _ in range(2)]
    return Instance([Wanted(rng.randrange(2), near, slots)], (1, 1), (1, 3), 2)


def best_of_all(of: Instance, budget: int) -> int | None:
    begins = list(itertools.product(of.kinds, range(SLOTS)))
    found = []
    for chosen in itertools.product(begins, repeat=3):
        plan = [Begun(0, task, kind, 0, slot) for task, (kind, slot) in enumerate(chosen)]
        over = max(one.slot + of.workflows[0].slots[one.kind][one.task] for one in plan)
        if over <= SLOTS and not faults(of, budget, plan):
            found.append(value(of, plan))
    return max(found, default=None)


@pytest.mark.parametrize("budget", [0, 1, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_no_plan_of_all_is_better_than_the_optimum(seed: int, budget: int):
    of = drawn(seed)
    ours = optimum(of, budget, SLOTS)
    theirs = best_of_all(of, budget)
    if ours is None:
        assert theirs is None
    else:
        assert faults(of, budget, ours.plan) == []
        assert round(ours.value) == value(of, ours.plan) == theirs


def test_faults_of_a_plan_are_told_by_their_equation():
    near = neighbours(graph([Step("task", 2)], [(0, 1)]))
    of = Instance([Wanted(1, near, [[2, 2], [1, 1]])], (1, 1), (1, 3), 3)
    good = [Begun(0, 0, 0, 0, 1), Begun(0, 1, 0, 0, 3)]
    assert faults(of, 1, good) == []
    assert value(of, good) == -2  # it ends at 5, and 3 is in time
    for plan, budget, equation in (
        (good[:1], 1, "5.15"),
        ([good[0], Begun(0, 1, 0, 0, 2)], 1, "5.18"),
        ([good[0], Begun(0, 1, 1, 0, 2)], 4, "5.19"),
        ([Begun(0, 0, 0, 0, 0), good[1]], 1, "5.20"),
        ([good[0], Begun(0, 1, 1, 0, 3)], 2, "5.24"),
    ):
        assert equation in " ".join(faults(of, budget, plan)), equation


def test_a_scaler_that_can_never_begin_a_task_is_told_to_be_stuck():
    near = neighbours(graph([Step("task", 1)]))
    of = Instance([Wanted(0, near, [[3], [1]])], (2, 2), (1, 5), 3)
    assert reached(of, "plf", 4) is None  # the task is faster on the kind that costs 5
    account = reached(of, "plf", 5)
    assert account is not None
    assert plan_of(of, account) == [Begun(0, 0, 1, 0, 0)]
