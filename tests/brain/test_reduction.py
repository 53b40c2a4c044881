"""Graphs of tasks reduced to sums and maxima, held against paths listed and drawn."""

import itertools
import random

import numpy as np
import pytest

from bats.master.brain.probability.combination import Evaluation, Operations, Task, operations
from bats.master.brain.probability.histogram import Histogram, constant, from_samples
from bats.master.brain.probability.reduction import in_turn, paths, reduced, without_detours
from bats.master.brain.probability.structure import Structure

Graph = list[list[int]]


def random_graph(seed: int, tasks: int) -> Graph:
    chance = random.Random(seed)
    return [
        sorted(chance.sample(range(task), min(task, chance.randint(0, 3)))) for task in range(tasks)
    ]


def listed(parents: Graph) -> set[tuple[int, ...]]:
    """All paths, the stupid way."""
    children: Graph = [[] for _ in parents]
    for task, ones in enumerate(parents):
        for one in ones:
            children[one].append(task)
    found = set()

    def go(way: tuple[int, ...]) -> None:
        if not children[way[-1]]:
            found.add(way)
        for child in children[way[-1]]:
            go((*way, child))

    for task, ones in enumerate(parents):
        if not ones:
            go((task,))
    return found


def montage(images: int, overlaps: int) -> Graph:
    chance = random.Random(4)
    pairs = chance.sample(list(itertools.combinations(range(images), 2)), overlaps)
    graph: Graph = [[] for _ in range(images)] + [list(pair) for pair in pairs]
    fit = len(graph)
    graph += [list(range(images, fit)), [fit]]  # all differences are fitted, then modelled
    corrected = len(graph)
    graph += [[image, fit + 1] for image in range(images)]
    graph += [list(range(corrected, corrected + images))]
    for _ in range(3):
        graph.append([len(graph) - 1])
    return graph


@pytest.mark.parametrize("seed", range(20))
def test_dropping_detours_drops_just_the_paths_that_are_part_of_others(seed: int) -> None:
    graph = random_graph(seed, 9)
    ways = listed(graph)
    kept = {way for way in ways if not any(set(way) < set(other) for other in ways)}
    assert listed(without_detours(graph)) == kept
    assert paths(graph) == len(ways)


def test_the_paths_of_a_montage_of_ten_thousand_tasks_become_one() -> None:
    graph = montage(2102, 6357)
    assert len(graph) == 10_567
    assert paths(graph) > 200_000
    reduction = reduced(graph)
    assert operations(reduction.combination).additions == 8  # nine levels in a row


def test_a_graph_of_sums_and_maxima_alone_is_exact() -> None:
    fork = [[], [0], [0], [1], [2], [3, 4], [0], [5, 6]]
    reduction = reduced(fork)
    assert reduction.exact
    assert operations(reduction.combination) == Operations(additions=5, maxima=2)


def test_a_graph_is_reduced_once_however_often_it_is_asked_for() -> None:
    graph = random_graph(8, 12)
    assert reduced(graph) is reduced([list(ones) for ones in graph])
    assert reduced(graph) is not reduced([*graph, [0]])


def test_a_graph_without_tasks_takes_no_time() -> None:
    assert Structure.of([]).makespan(Evaluation({}), lambda task: task).mean == 0.0


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="waits for itself"):
        in_turn([[1], [0]])


def test_the_longest_of_tasks_that_never_vary_is_the_critical_path() -> None:
    for seed in range(20):
        graph = random_graph(seed, 12)
        times = {task: constant(1.0 + seed * task % 7) for task in range(12)}
        longest = max(sum(times[task].mean for task in way) for way in listed(graph))
        reduction = reduced(graph)
        told = Evaluation(times).of(reduction.combination, lambda task: task).mean
        assert told >= longest - 1e-9
        if reduction.exact:
            assert told == pytest.approx(longest)


@pytest.mark.parametrize("seed", range(6))
def test_a_reduction_is_never_shorter_than_the_graph_is_drawn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(seed, 14)
    times = {task: from_samples(rng.gamma(2, 1 + task % 3, 3000)) for task in range(14)}
    structure = Structure.of(graph)
    told = structure.makespan(Evaluation(times), lambda task: task)
    drawn = structure.draws(times, lambda task: task, 4000, rng)
    noise = 4 * drawn.std() / 4000**0.5
    assert told.mean >= drawn.mean() - noise
    measured = structure.measured(times, lambda task: task, rng)
    assert measured.distribution.mean == pytest.approx(drawn.mean(), rel=0.05)
    low, high = measured.between
    assert low - noise <= drawn.mean() <= high + noise
    assert low == pytest.approx(max(sum(times[t].mean for t in way) for way in listed(graph)))


def test_draws_of_a_graph_are_those_of_a_loop_over_its_tasks() -> None:
    graph = random_graph(3, 30)
    rng = np.random.default_rng(0)
    times = {k: from_samples(rng.gamma(2, 1 + k, 3000)) for k in range(3)}
    structure = Structure.of(graph)
    drawn = structure.draws(times, lambda task: task % 3, 3000, rng)
    by_hand = []
    for _ in range(3000):
        ends: list[float] = []
        for task, ones in enumerate(graph):
            took = float(times[task % 3].draw(1, rng)[0])
            ends.append(took + max((ends[one] for one in ones), default=0.0))
        by_hand.append(max(ends))
    assert drawn.mean() == pytest.approx(np.mean(by_hand), rel=0.02)
    assert np.std(drawn) == pytest.approx(np.std(by_hand), rel=0.08)


class Counted(dict[object, Histogram]):
    looked_up = 0

    def __getitem__(self, key: object) -> Histogram:
        self.looked_up += 1
        return super().__getitem__(key)


def test_a_plan_that_differs_in_one_task_computes_little_anew() -> None:
    graph = montage(20, 40)
    reduction = reduced(graph)
    times = Counted({key: constant(key + 1.0) for key in range(3)})
    evaluation = Evaluation(times)
    evaluation.of(reduction.combination, lambda task: task % 2)
    before, times.looked_up = times.looked_up, 0
    changed = evaluation.of(reduction.combination, lambda task: 2 if task == 7 else task % 2)
    assert 0 < times.looked_up < before
    afresh = Evaluation(times).of(reduction.combination, lambda task: 2 if task == 7 else task % 2)
    assert changed.points == pytest.approx(afresh.points)


def test_a_single_task_takes_its_own_time() -> None:
    structure = Structure.of([[]])
    assert isinstance(structure.reduction.combination, Task)
    assert structure.makespan(Evaluation({0: constant(3.0)}), lambda task: task).mean == 3.0
