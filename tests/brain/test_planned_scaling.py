"""PLF and SCF buy machines by a plan of one interval, and their tasks run by it."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from bats.common.money import Money, money
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.placement.pool import Arrived, Completed, Start
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.scaling.budgets.planned_tasks import PlannedTasks, fastest
from bats.master.brain.scaling.budgets.plf import PLF
from bats.master.brain.scaling.budgets.scf import SCF, scaled
from bats.master.brain.scaling.elastic_pool import (
    Booted,
    Command,
    ElasticPool,
    Hire,
    Look,
    Release,
    Rules,
)
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import Kind
from bats.master.simulate.workflows.mixtures import MIXED

KINDS = [Kind("Small", 32, money(1)), Kind("Large", 32, money(5))]


def workflow(
    by_kind: Sequence[Sequence[float]], *edges: tuple[int, int], priority: int = 0
) -> Workflow:
    near = neighbours(graph([Step("task", len(by_kind[0]))], edges))
    return Workflow(near, by_kind[0], by_kind, priority)


def pool(of: PlannedTasks, budget: int) -> ElasticPool:
    rules = Rules(KINDS, 60.0, release("paid", 60.0), budget=money(budget))
    return ElasticPool(rules, of, of)


def looked(at: ElasticPool, now: float = 0.0) -> list[Command]:
    """A look, after which machines are there at once."""
    commands = at.elastic(Look([32, 32]), now)
    for one in list(commands):
        if isinstance(one, Hire):
            commands += at.elastic(Booted(one.place), now)
    return commands


def hired(commands: Sequence[Command]) -> list[int]:
    return [one.kind for one in commands if isinstance(one, Hire)]


def begun(commands: Sequence[Command]) -> list[tuple[int, int]]:
    return [(one.workflow, one.task) for one in commands if isinstance(one, Start)]


def test_plf_buys_for_each_waiting_task_the_kind_that_runs_it_fastest():
    own = pool(PLF(), 60)
    own.elastic(Arrived(1, workflow([[9, 9, 9], [3, 20, 9]])), 0.0)
    # The third takes as long on both: the cheapest.
    assert sorted(hired(commands := looked(own))) == [0, 0, 1]
    assert sorted(begun(commands)) == [(1, 0), (1, 1), (1, 2)]


def test_plf_shares_what_is_left_by_priority_and_pools_what_no_share_can_spend():
    own = pool(PLF(), 10)
    own.elastic(Arrived(1, workflow([[9] * 4, [3] * 4], priority=1)), 0.0)
    own.elastic(Arrived(2, workflow([[9] * 4, [3] * 4], priority=3)), 0.0)
    commands = looked(own)
    # Shares of 2.5 and 7.5 buy one machine for 5; what is left of both buys another.
    assert hired(commands) == [1, 1]
    assert begun(commands) == [(2, 0), (2, 1)]


def test_tasks_that_become_ready_run_if_they_are_planned_and_else_wait_for_the_next_look():
    own = pool(PLF(), 5)
    own.elastic(Arrived(1, workflow([[99] * 4, [20, 20, 30, 5]], (0, 1), (1, 2), (2, 3))), 0.0)
    commands = looked(own)
    assert begun(commands) == [(1, 0)]
    assert begun(own.elastic(Completed(0), 20.0)) == [(1, 1)]
    assert begun(own.elastic(Completed(0), 40.0)) == [(1, 2)]
    late = own.elastic(Arrived(2, workflow([[1], [1]])), 41.0)
    assert begun(late) == []
    assert begun(own.elastic(Completed(0), 70.0)) == []  # the last would have begun in second 70
    assert begun(looked(own, 71.0)) != []


def test_idle_machines_without_a_task_in_the_plan_are_released():
    own = pool(PLF(), 60)
    own.elastic(Arrived(1, workflow([[5, 100], [9, 200]])), 0.0)
    assert len(hired(looked(own))) == 2
    own.elastic(Completed(0), 5.0)
    assert [one for one in looked(own, 60.0) if isinstance(one, Release)] == [Release(0)]


def test_scf_scales_the_machines_of_its_plan_to_the_budget_up_and_down():
    prices = [money(1), money(5)]
    assert scaled([3, 1], prices, money(16)) == [6, 2]
    assert scaled([3, 1], prices, money(5)) == [5, 0]  # ⌊15/8⌋ = 1, ⌊5/8⌋ = 0, the rest Small
    assert scaled([0, 2], prices, money(4)) == [0, 0]
    assert scaled([0, 0], prices, money(60)) == [0, 0]
    assert scaled([1, 1], prices, money(17)) == [7, 2]  # 2 and 2, the rest Small


def test_scf_counts_the_seconds_that_tasks_take_on_their_fastest_kind_within_the_interval():
    own = pool(SCF(), 12)
    # 2 x 30 s and 30 of 40 s on Small, 40 s on Large: two Small and one Large, for 7.
    by_kind = [[30, 30, 40, 90], [90, 90, 90, 40]]
    own.elastic(Arrived(1, workflow(by_kind, (0, 2))), 0.0)
    # 12/7: three Small and one Large, and four more Small with what is left.
    assert sorted(hired(looked(own))) == [0] * 7 + [1]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("make", [PLF, SCF])
def test_no_look_costs_more_than_the_budget_and_every_task_runs_once(make: type, seed: int):
    rng = random.Random(seed)
    own = pool(make(), budget := rng.choice([5, 9, 30]))
    left = {}
    for number in range(rng.randrange(1, 4)):
        tasks = rng.randrange(1, 15)
        edges = [(p, c) for c in range(tasks) for p in range(c) if rng.random() < 0.2]
        by_kind = [[float(rng.randrange(1, 90)) for _ in range(tasks)] for _ in KINDS]
        one = workflow(by_kind, *edges, priority=rng.randrange(3))
        own.elastic(Arrived(number, one), 0.0)
        left |= {(number, task): by_kind for task in range(tasks)}
    kinds: dict[int, int] = {}
    ends: list[tuple[float, int]] = []
    for look in range(2000):
        now = 60.0 * look
        commands = looked(own, now)
        assert own.cost <= money(budget)
        while True:
            for one in commands:
                if isinstance(one, Hire):
                    kinds[one.place] = one.kind
                elif isinstance(one, Start):
                    takes = left.pop((one.workflow, one.task))[kinds[one.place]][one.task]
                    ends.append((now + takes, one.place))
            if not ends or min(ends)[0] > 60.0 * (look + 1):
                break
            now, place = min(ends)
            ends.remove((now, place))
            commands = own.elastic(Completed(place), now)
        if not own.present:
            break
    assert not left
    assert not own.present
    assert own.cost >= Money(0)


def from_event_to_event(at: ElasticPool) -> list[float]:
    """The seconds on each kind with machines without end, task by task."""
    seconds = [0.0] * len(at.kinds)
    kind_of = {one.number: one.kind for one in at.machines()}
    running: dict[int, dict[int, float]] = {}
    for place, of, task, until in at.busy():
        running.setdefault(of.number, {})[task] = until - at.now
        seconds[kind_of[place]] += min(until - at.now, at.interval)
    for one in at.present:
        ends = [(left, task) for task, left in running.get(one.number, {}).items()]
        ready = [(0.0, task) for task in one.waiting_tasks()]
        waits: dict[int, int] = {}
        while ready or ends:
            for begin, task in ready:
                kind = fastest(at, one, task)
                takes = one.workflow.estimate(task, kind, at.kinds[kind].speed)
                seconds[kind] += min(takes, at.interval - begin)
                ends.append((begin + takes, task))
            ready = []
            if ends:
                now, task = min(ends)
                ends.remove((now, task))
                for child in one.near.children[task] if now < at.interval else ():
                    waits[child] = waits.get(child, one.waits_for(child)) - 1
                    if not waits[child]:
                        ready.append((now, child))
    return seconds


@pytest.mark.parametrize("seed", range(10))
def test_scf_finds_the_seconds_that_going_from_event_to_event_finds(seed: int):
    rng = np.random.default_rng(seed)
    own = SCF()
    at = pool(own, 60)
    for number in range(3):
        made = MIXED[number](2 * int(rng.integers(12, 30)), rng)
        slower = tuple(float(each * rng.uniform(0.5, 3)) for each in made.seconds)
        work = Workflow(neighbours(made.graph), made.seconds, (made.seconds, slower))
        at.elastic(Arrived(number, work), 0.0)
        commands = looked(at, 0.0)
        ends = [(one.place, one.task) for one in commands if isinstance(one, Start)]
        for place, _ in ends[: len(ends) // 2]:
            at.elastic(Completed(place), 5.0 * number)
        assert own.seconds(at) == pytest.approx(from_event_to_event(at))
