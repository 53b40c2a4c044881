"""Pools in virtual time: what the studies of placement rest on."""

import itertools
from collections.abc import Callable, Iterator
from math import ceil

import numpy as np
import pytest

from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Forgetful, Pick, PoolView
from bats.master.simulate.workflows import estimates, pool_run
from bats.master.simulate.workflows.generated import Generated, Growing
from bats.master.simulate.workflows.mixtures import mixed
from bats.master.simulate.workflows.pool_run import Arriving, poisson, run_pool
from bats.master.simulate.workflows.stability import highest, lyapunov, wieland


def drawn(count: int = 20) -> list[Arriving]:
    return poisson(np.random.default_rng(7), count, 1 / 200, mixed)


def single(seconds: float) -> Generated:
    growing = Growing()
    growing.add("task", seconds)
    return growing.grown()


@pytest.mark.parametrize(
    "policy", ["bf", "sr", "fes:1", "cpp", "fdws", "fwp", "hr", "owm", "wheft"]
)
def test_every_task_runs_once_after_its_parents_and_no_place_has_two(policy: str):
    arriving = drawn()
    account = run_pool(arriving, [2.0, 1.0] * 10, policy, seed=3)
    assert len(account.starts) == sum(len(one.seconds) for one in arriving)
    lives: dict[int, list[tuple[float, float]]] = {}
    ends = {}
    for (number, task), (began, place) in account.starts.items():
        speed = [2.0, 1.0][place % 2]
        ends[number, task] = began + arriving[number].seconds[task] / speed
        lives.setdefault(place, []).append((began, ends[number, task]))
    for (number, task), (began, _) in account.starts.items():
        assert all(ends[number, one] <= began for one in arriving[number].near.parents[task])
    for life in lives.values():
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(sorted(life)))
    for number, stay in enumerate(account.stays):
        assert stay.ended == max(end for (of, _), end in ends.items() if of == number)
        assert stay.arrived <= stay.began


class CountsAnew(Forgetful):
    """The target of every workflow, at every look."""

    def __init__(self, target: Callable[[Present], int]) -> None:
        self._target = target

    def place(self, pool: PoolView) -> Iterator[Pick]:
        free = pool.free
        for workflow in pool.present:
            kept = min(max(0, self._target(workflow) - workflow.running), free)
            for _ in range(min(kept, workflow.waiting)):
                task = workflow.nth(pool.rng.randrange(workflow.waiting))
                yield Pick(workflow, task, pool.fastest())
            free -= kept


@pytest.mark.parametrize(
    ("policy", "target"),
    [
        ("bf", lambda one: one.eligible),
        ("slop:0.3", lambda one: max(ceil(0.3 * one.generations.level), one.eligible)),
        ("fes:2", lambda one: one.generations.look_ahead(2)),
    ],
)
def test_places_are_kept_as_when_every_target_is_counted_anew_at_every_look(
    policy: str, target: Callable[[Present], int], monkeypatch: pytest.MonkeyPatch
):
    arriving = drawn(40)
    starts = run_pool(arriving, [1.0] * 15, policy, seed=3).starts
    monkeypatch.setattr(pool_run, "placer", lambda _: CountsAnew(target))
    assert starts == run_pool(arriving, [1.0] * 15, policy, seed=3).starts


def test_a_run_that_is_looked_at_until_the_last_arrival_is_the_same_until_then():
    arriving = drawn()
    end = arriving[-1].at
    whole = run_pool(arriving, [1.0] * 10, "sr", seed=3)
    part = run_pool(arriving, [1.0] * 10, "sr", seed=3, until=end)
    assert part.present == [(at, count) for at, count in whole.present if at <= end]
    assert len(part.starts) < len(whole.starts)


def test_a_reservation_of_nothing_is_backfilling_and_of_all_generations_a_strict_one():
    arriving = drawn()
    starts = {
        name: run_pool(arriving, [1.0] * 30, name, seed=3).starts
        for name in ("bf", "slop:0", "fes:0", "sr", "slop:1", "fes:99")
    }
    assert starts["bf"] == starts["slop:0"] == starts["fes:0"]
    assert starts["sr"] == starts["slop:1"] == starts["fes:99"] != starts["bf"]


def test_wrong_estimates_are_wrong_by_the_rule_named():
    rng, of = np.random.default_rng(1), Generated(single(1.0).graph, (1.0, 2.0, 3.0, 4.0))
    assert estimates.static(2.0)(of, rng) == [2, 4, 6, 8]
    one = estimates.random_one(0.5)(of, rng)
    assert len({round(a / b, 9) for a, b in zip(one, of.seconds, strict=True)}) == 1
    two = [estimates.random_two(5.0)(of, rng) for _ in range(500)]
    assert 0 < np.min(two) < 0.1
    assert 9.9 < np.max(two) <= 10


def test_a_queue_that_only_grows_is_unstable_and_one_that_stays_is_stable():
    growing = [(float(t), t) for t in range(1000)]
    constant = [(float(t), 4 + t % 2) for t in range(1000)]
    for test in (wieland, lyapunov):
        assert not test(growing, 100, 999)
        assert test(constant, 100, 999)


def test_the_highest_stable_load_is_found_by_halving():
    loads = [k / 20 for k in range(1, 20)]
    asked: list[float] = []

    def stable(load: float) -> bool:
        asked.append(load)
        return load < 0.62

    assert highest(stable, loads) == 0.6
    assert len(asked) <= 5
    assert highest(lambda _: False, loads) == 0
    assert highest(lambda _: True, loads) == 0.95


def test_the_time_of_a_stay_alone_is_the_critical_path_when_there_are_places_enough():
    (one,) = poisson(np.random.default_rng(2), 1, 0.0, mixed)
    account = run_pool([one], [1.0] * 600, "bf")
    assert account.stays[0].makespan == pytest.approx(one.critical)
    assert len(neighbours(mixed(np.random.default_rng(2)).graph)) == len(one.near)
