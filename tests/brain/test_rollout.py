"""Many runs at once end as a plain simulation of one run after the other ends."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.master.brain.learning.regression import Line
from bats.master.brain.prediction.rollout import (
    CHANCE,
    NEVER,
    NO_COPIES,
    SOONER,
    SOONER_OR_CHANCE,
    Floats,
    Lines,
    MeanBeyond,
    Slots,
    replicate,
    run_bag,
)


def plain(kinds: list[int], ready: list[float], tasks: Floats, lines: list[Line]) -> list[float]:
    """The end of each slot's last task: a heap of free slots, task by task."""
    free = [(at, slot) for slot, at in enumerate(ready)]
    heapq.heapify(free)
    ends = list(ready)
    for task in tasks:
        now, slot = heapq.heappop(free)
        ends[slot] = now + lines[kinds[slot]].convert(float(task))
        heapq.heappush(free, (ends[slot], slot))
    return ends


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    tasks=st.integers(0, 80),
)
def test_each_run_ends_as_in_a_plain_simulation(seed: int, sizes: list[int], tasks: int):
    rng = np.random.default_rng(seed)
    lines = [Line(0, 1), Line(-3, 0.7, 6), Line(2, 0.25)]
    kind = np.zeros((len(sizes), max(sizes)), dtype=np.intp)
    ready = np.full(kind.shape, NEVER)
    for run, size in enumerate(sizes):
        kind[run, :size] = rng.integers(0, 3, size)
        ready[run, :size] = rng.choice([0.0, 30.0], size)
    bag = rng.lognormal(2, 1, (tasks, len(sizes)))
    slots = Slots.fresh(kind, ready)
    run_bag(slots, bag, Lines(lines))
    for run, size in enumerate(sizes):
        expected = plain(kind[run, :size].tolist(), ready[run, :size].tolist(), bag[:, run], lines)
        assert slots.end[run, :size] == pytest.approx(expected, rel=1e-12)
        assert np.all(slots.end[run, size:] == NEVER)
        done = max((e for e, r in zip(expected, ready[run], strict=False) if e > r), default=0.0)
        assert slots.makespans()[run] == pytest.approx(done)


def fast_and_slow(runs: int, tasks: int, seed: int) -> tuple[Slots, Lines, Floats]:
    rng = np.random.default_rng(seed)
    lines = Lines([Line(0, 1), Line(0, 1 / 3), Line(0, 1 / 2)])
    kind = np.tile(np.repeat([0, 1, 2], 8), (runs, 1))
    slots = Slots.fresh(kind, np.zeros(kind.shape))
    bag = rng.lognormal(3, 1, (tasks, runs))
    run_bag(slots, bag, lines)
    return slots, lines, bag


def test_copies_never_make_a_run_longer_and_mostly_make_it_shorter():
    slots, lines, bag = fast_and_slow(runs=300, tasks=200, seed=4)
    without = slots.makespans()
    tail = replicate(slots, lines, MeanBeyond(bag.reshape(-1)), np.random.default_rng(0))
    assert np.all(tail.makespan <= without * (1 + 1e-12))
    assert np.mean(tail.makespan < without) > 0.7
    last_begun = slots.begin.max(axis=1)
    assert np.all(tail.makespan > last_begun)
    assert np.all(tail.used <= tail.makespan[:, None] * (1 + 1e-12))


def test_a_tail_is_as_long_as_what_idle_machines_copy_leaves_it():
    """Of what is foreseen no copy, those by chance, those that should end sooner, and both."""
    slots, lines, bag = fast_and_slow(runs=300, tasks=200, seed=4)
    known = MeanBeyond(bag.reshape(-1))
    mean = {
        copying: float(
            replicate(slots, lines, known, np.random.default_rng(0), copying).makespan.mean()
        )
        for copying in (NO_COPIES, CHANCE, SOONER, SOONER_OR_CHANCE)
    }
    assert mean[NO_COPIES] == pytest.approx(slots.makespans().mean())
    assert mean[NO_COPIES] > mean[CHANCE] > mean[SOONER_OR_CHANCE]
    assert mean[NO_COPIES] > mean[SOONER] > mean[SOONER_OR_CHANCE]


def test_a_long_task_that_began_late_on_a_slow_machine_ends_on_a_fast_one():
    lines = Lines([Line(0, 1), Line(0, 1 / 4)])
    slots = Slots.fresh(np.array([[0, 1]]), np.zeros((1, 2)))
    run_bag(slots, np.array([[100.0], [40.0], [40.0]]), lines)
    assert slots.makespans()[0] == 100
    known = MeanBeyond(np.array([40.0, 40.0, 100.0]))
    tail = replicate(slots, lines, known, np.random.default_rng(0))
    assert tail.makespan[0] == pytest.approx(20 + 25)
    assert tail.used[0] == pytest.approx([45, 45])


def test_a_copy_on_an_equally_fast_machine_is_of_no_use():
    lines = Lines([Line(0, 1)])
    slots = Slots.fresh(np.zeros((1, 2), dtype=np.intp), np.zeros((1, 2)))
    run_bag(slots, np.array([[50.0], [10.0]]), lines)
    tail = replicate(slots, lines, MeanBeyond(np.array([10.0, 50.0])), np.random.default_rng(0))
    assert tail.makespan[0] == 50
    assert tail.used[0] == pytest.approx([50, 10])


def test_the_mean_beyond_is_that_of_the_longer_runtimes():
    known = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    beyond = MeanBeyond(known)
    assert beyond.all == pytest.approx(known.mean())
    assert beyond(np.array([0.0, 3.0, 9.0, 20.0])) == pytest.approx([6.2, 28 / 3, 16, 20])
