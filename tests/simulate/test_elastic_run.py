"""Pools that grow and shrink in virtual time."""

import itertools
import random
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from bats.common.money import Money, money
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.scaling.elastic_pool import ElasticPool, Rules
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import Kind
from bats.master.brain.scaling.scalers import SCALERS, WITH_BUDGET, placing, scaler
from bats.master.simulate.workflows.elastic_run import Account, Coming, run_elastic
from bats.master.simulate.workflows.mixtures import mixed, raw
from bats.master.simulate.workflows.pool_run import poisson, run_pool

MOST = 12


def drawn(count: int = 8, seed: int = 7) -> list[Coming]:
    rng = np.random.default_rng(seed)
    arriving = poisson(rng, count, 1 / 900, mixed)
    return [Coming(one.at, Workflow(one.near, one.seconds), (one.seconds,)) for one in arriving]


def pool(name: str, how: str = "idle", least: int = 0, **more: object) -> ElasticPool:
    kinds = [Kind("VM", MOST, money(2))]
    more.setdefault("budget", money(1000) if name in WITH_BUDGET else None)
    rules = Rules(kinds, 30.0, release(how, 600.0), least, **more)  # type: ignore[arg-type]
    own = scaler(name)
    return ElasticPool(rules, own, placing(own, "breadth-first"), 3)


def run(coming: Sequence[Coming], one: ElasticPool, boot: float = 9.0) -> Account:
    return run_elastic(coming, [one], partial(float, boot), 3)


@pytest.mark.parametrize("how", ["idle", "paid"])
@pytest.mark.parametrize("name", SCALERS)
def test_every_task_runs_once_on_a_machine_that_is_there_for_all_of_it(name: str, how: str):
    coming = drawn()
    account = run(coming, pool(name, how))
    assert len(account.starts) == sum(len(one.workflow.near) for one in coming)
    ends, busy = {}, {}
    for (number, task), (began, _, machine) in account.starts.items():
        ends[number, task] = began + coming[number].seconds[0][task]
        life = account.lives[machine]
        assert life.begin + 9 <= began <= ends[number, task] <= life.end
        busy.setdefault(machine, []).append((began, ends[number, task]))
    for (number, task), (began, *_) in account.starts.items():
        parents = coming[number].workflow.near.parents[task]
        assert all(ends[number, parent] <= began for parent in parents)
    for tasks in busy.values():
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(sorted(tasks)))
    assert max(value for _, value in account.supply) <= MOST
    assert all(busy <= ready for (_, busy), (_, ready) in
               zip(account.busy, account.supply, strict=True))  # fmt: skip
    assert all(life.end >= life.begin for life in account.lives)


def test_machines_that_are_always_on_run_the_tasks_when_places_of_a_pool_do():
    coming = drawn()
    pooled = run_pool(
        [*poisson(np.random.default_rng(7), 8, 1 / 900, mixed)], [1.0] * MOST, "breadth-first"
    )
    account = run(coming, pool("none", least=MOST), boot=0.0)
    theirs = {task: began for task, (began, _) in pooled.starts.items()}
    assert {task: began for task, (began, *_) in account.starts.items()} == theirs


def test_a_pool_knows_how_long_its_machines_take_to_boot():
    one = pool("react")
    assert one.boot_seconds == 0.0
    run(drawn(1), one, boot=12.0)
    assert one.boot_seconds == 12.0


def test_machines_that_boot_are_not_started_again():
    near = neighbours(graph([Step("task", 5)]))
    bag = Coming(5.0, Workflow(near, [100.0] * 5), ([100.0] * 5,))
    account = run([bag], pool("react"), boot=100.0)
    assert [life.begin for life in account.lives] == [30.0] * 7  # for five tasks, and the pad


def test_a_pool_with_nothing_to_do_is_as_small_as_it_may_be():
    coming = drawn(2)
    late = Coming(1e6, coming[1].workflow, coming[1].seconds)
    for least in (0, 3):
        account = run([coming[0], late], pool("react", least=least))
        between = [value for at, value in account.supply if 9e5 < at < 1e6]
        assert set(between) == {least}


def test_released_at_the_end_of_paid_time_a_machine_lives_whole_atus():
    coming = drawn()
    account = run(coming, pool("react", "paid"))
    lives = [one.end - one.begin for one in account.lives if one.end < account.ended]
    assert lives
    assert all(0 < -life % 600 <= 30 for life in lives)
    at_once = run(coming, pool("react"))
    assert account.charged(600.0) < at_once.charged(600.0)


def test_what_is_on_never_costs_more_than_the_budget():
    for name in SCALERS:
        account = run(drawn(), pool(name, budget=money(7)))
        assert max(account.costs[0]) == money(6), name  # three machines
        assert max(value for _, value in account.supply) == 3


def test_users_share_the_machines_that_there_can_be():
    rng = random.Random(1)
    coming = [
        Coming(one.at, one.workflow, one.seconds, rng.randrange(2)) for one in drawn(20, seed=8)
    ]
    account = run_elastic(coming, [pool("react"), pool("plan")], partial(float, 9.0), 3)
    changes = sorted(
        [(one.begin, 1) for one in account.lives] + [(one.end, -1) for one in account.lives]
    )
    assert max(itertools.accumulate(change for _, change in changes)) <= MOST
    assert {user for _, user, _ in account.starts.values()} == {0, 1}
    for (number, _), (_, user, _) in account.starts.items():
        assert coming[number].user == user


def test_a_run_is_the_same_for_the_same_seed():
    one, other = (run(drawn(), pool("plan")) for _ in range(2))
    assert one.starts == other.starts
    assert one.lives == other.lives


def test_workflows_of_any_number_of_tasks_have_the_sizes_of_the_thesis():
    rng = np.random.default_rng(3)
    sizes = [len(raw(rng).seconds) for _ in range(600)]
    assert 60 < np.mean(sizes) < 80
    assert np.median(sizes) == pytest.approx(35, abs=2)


def test_costs_are_told_of_every_look():
    account = run(drawn(3), pool("react"))
    assert len(account.costs[0]) == int(account.ended // 30) + 1
    assert {type(cost) for cost in account.costs[0]} == {int}
    assert Money(0) in account.costs[0]
