"""Generated workflows, and what is computed of a graph: widths, ranks, critical paths."""

import itertools
import random

import numpy as np
import pytest

from bats.master.brain.graphs.adjacency import Neighbours, neighbours
from bats.master.brain.graphs.parallelism import Incremental, exact, token
from bats.master.brain.graphs.ranks import critical_path, downward, upward
from bats.master.brain.protocol.graph import Graph, Step, graph, worked_off
from bats.master.simulate.workflows import layered, mixtures
from bats.master.simulate.workflows.scientific import SCIENTIFIC, ligo, montage, sipht

SMALL = 12


def some_graph(seed: int, tasks: int = SMALL) -> Graph:
    rng = random.Random(seed)
    edges = [pair for pair in itertools.combinations(range(tasks), 2) if rng.random() < 0.2]
    return graph([Step("a", tasks)], edges)


def reachable(of: Neighbours) -> list[set[int]]:
    below: list[set[int]] = [set() for _ in range(len(of))]
    for task in reversed(of.order):
        for child in of.children[task]:
            below[task] |= {child} | below[child]
    return below


def widest_by_trying(of: Neighbours) -> int:
    """The size of the largest set of tasks of which none waits for another: all sets are tried."""
    below = reachable(of)
    free = [
        sum(1 << other for other in range(len(of)) if other in below[task] or task in below[other])
        for task in range(len(of))
    ]
    best = 0
    for chosen in range(1 << len(of)):
        if chosen.bit_count() > best and not any(
            chosen >> task & 1 and chosen & free[task] for task in range(len(of))
        ):
            best = chosen.bit_count()
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_width_is_that_of_trying_all_sets(seed: int) -> None:
    near = neighbours(some_graph(seed))
    assert exact(near) == widest_by_trying(near) >= token(near)


def test_tokens_see_three_where_four_could_run() -> None:
    """Tasks 2, 3, 4 and 6 wait for none of one another, though no generation has four."""
    near = neighbours(graph([Step("a", 7)], [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (5, 6)]))
    assert (token(near), exact(near)) == (3, 4)


@pytest.mark.parametrize("seed", range(5))
def test_generations_kept_up_to_date_are_those_counted_anew(seed: int) -> None:
    rng = random.Random(seed)
    near = neighbours(some_graph(seed, 40))
    kept, done = Incremental(near), set[int]()
    waits = [len(parents) for parents in near.parents]
    ready = [task for task in range(40) if not waits[task]]
    assert kept.level == token(near)
    while ready:
        task = ready.pop(rng.randrange(len(ready)))
        kept.finish(task)
        done.add(task)
        for child in near.children[task]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
        assert kept.level == token(near, done)
        assert [kept.look_ahead(n) for n in range(4)] == [token(near, done, n) for n in range(4)]
    assert kept.level == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_critical_path_is_the_longest_of_all_ways(seed: int) -> None:
    near = neighbours(some_graph(seed, 10))
    seconds = [float(7 * task % 5 + 1) for task in range(10)]

    def ways(task: int) -> list[list[int]]:
        return [[task, *way] for child in near.children[task] for way in ways(child)] or [[task]]

    every = [way for task in range(10) for way in ways(task)]
    longest = max(sum(seconds[task] for task in way) for way in every)
    path = critical_path(near, seconds)
    assert sum(seconds[task] for task in path) == longest == max(upward(near, seconds))
    ups, downs = upward(near, seconds), downward(near, seconds)
    assert all(ups[task] + downs[task] == longest for task in path)
    assert max(up + down for up, down in zip(ups, downs, strict=True)) == longest


def test_barriers_are_part_of_the_order() -> None:
    of = graph([Step("a", 3), Step("b", 2)], barriers=[(0, 1)])
    near = neighbours(of)
    assert near.parents[3] == [0, 1, 2]
    assert exact(near) == 3
    assert worked_off(of)[:3] == [0, 1, 2]


@pytest.mark.parametrize("size", [30, 38, 100, 350])
def test_montage_and_ligo_have_the_tasks_asked_for_and_sipht_one_in_31_less(size: int) -> None:
    rng = np.random.default_rng(size)
    assert montage(size, rng).graph.tasks == size
    assert ligo(size, rng).graph.tasks == size
    assert sipht(size, rng).graph.tasks == size - round(size / 31)


@pytest.mark.parametrize("name", [*SCIENTIFIC, "layered"])
def test_workflows_have_no_circles_and_the_same_seed_makes_the_same(name: str) -> None:
    generate = SCIENTIFIC.get(name, layered.drawn)
    for size in (30, 80, 200):
        one, again = (generate(size, np.random.default_rng(size)) for _ in range(2))
        assert one == again
        assert len(worked_off(one.graph)) == one.graph.tasks == len(one.seconds)
        assert min(one.seconds) > 0
        assert abs(one.graph.tasks - size) <= 0.1 * size + 2
    other = generate(200, np.random.default_rng(1))
    assert other != one


def test_with_one_end_there_is_one_entry_and_one_exit_of_no_length() -> None:
    of = sipht(100, np.random.default_rng(1), one_end=True)  # type: ignore[call-arg]
    near = neighbours(of.graph)
    assert sum(not parents for parents in near.parents) == 1
    assert sum(not children for children in near.children) == 1
    assert sorted(of.seconds)[:2] == [0.0, 0.0]


def test_montage_has_the_levels_of_its_programs() -> None:
    of = montage(60, np.random.default_rng(1))
    names = {step.name: step.tasks for step in of.graph.steps}
    p, q = names["mProject"], names["mDiffFit"]
    assert names == {
        "mProject": p, "mDiffFit": q, "mConcatFit": 1, "mBgModel": 1, "mBackground": p,
        "mImgTbl": 1, "mAdd": 1, "mShrink": 1, "mJPEG": 1,
    }  # fmt: skip
    near = neighbours(of.graph)
    assert len(critical_path(near, [1.0] * 60)) == 9
    assert token(near) == exact(near) == q


def test_work_is_3600_seconds_on_average_and_scales() -> None:
    rng = np.random.default_rng(3)
    drawn = [mixtures.hyper_gamma(rng) for _ in range(4000)]
    assert sum(drawn) / len(drawn) == pytest.approx(3600, rel=0.03)
    one = mixtures.mixed(rng).scaled(100.0)
    assert one.total == pytest.approx(100.0)


def test_alone_on_places_to_spare_a_workflow_takes_its_critical_path() -> None:
    of = montage(60, np.random.default_rng(1))
    near = neighbours(of.graph)
    alone = mixtures.makespan(of, 1000)
    assert alone == pytest.approx(max(upward(near, of.seconds)))
    assert mixtures.makespan(of, 1) == pytest.approx(of.total)
