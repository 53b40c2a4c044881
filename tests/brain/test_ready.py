"""Which task is next: of a large bag neighbours go together, after a first part drawn by chance."""

import itertools
import random
from collections import Counter

import pytest

from bats.master.brain.books.ready import FIRST, MANY, STRETCH, InStretches
from bats.master.brain.books.taskbook import TaskBook


def taken(ready: InStretches) -> list[int]:
    found = []
    while (task := ready.take()) is not None:
        found.append(task)
    return found


@pytest.mark.parametrize("tasks", [1, 63, 64, 65, FIRST - 1, 20_011, MANY])
def test_each_task_is_taken_once(tasks: int) -> None:
    ready = InStretches(tasks, random.Random(1))
    assert sorted(ready) == list(range(tasks))
    assert sorted(taken(ready)) == list(range(tasks))
    assert list(ready) == []


def test_what_is_left_is_what_was_not_taken_nor_came_back() -> None:
    """Told beside a twin that only keeps a set."""
    chance = random.Random(2)
    ready, left = InStretches(15_000, random.Random(3)), set(range(15_000))
    gone: list[int] = []
    for _ in range(40_000):
        if chance.random() < 0.7:
            task = ready.take()
            if task is None:
                assert not left
                continue
            left.remove(task)
            gone.append(task)
        elif gone:
            back = gone.pop(chance.randrange(len(gone)))
            ready.add(back)
            left.add(back)
    assert sorted(ready) == sorted(left)
    assert sorted(taken(ready)) == sorted(left)


def test_the_first_are_a_sample_of_all_and_of_no_place_in_a_sweep() -> None:
    tasks = 400_000
    ready = InStretches(tasks, random.Random(4))
    first = [ready.take() or 0 for _ in range(FIRST)]
    assert abs(sum(first) / FIRST / tasks - 0.5) < 0.01  # 3.5 standard deviations
    per_seed = Counter(task % STRETCH for task in first)  # of a sweep whose last values repeat
    expected = FIRST / STRETCH
    chi_square = sum((per_seed[k] - expected) ** 2 / expected for k in range(STRETCH))
    assert chi_square < 120  # 63 on average; a thousandth of all draws are above 103


def test_then_neighbours_go_together() -> None:
    ready = InStretches(400_000, random.Random(5))
    rest = taken(ready)[FIRST:]
    together = sum(a // STRETCH == b // STRETCH for a, b in itertools.pairwise(rest))
    assert together > 0.95 * len(rest)


def test_a_task_that_comes_back_waits_for_its_turn_among_the_others() -> None:
    ready = InStretches(400_000, random.Random(6))
    task = ready.take()
    assert task is not None
    ready.add(task)
    assert task not in [ready.take() for _ in range(1_000)]
    assert task in taken(ready)


@pytest.mark.parametrize("tasks", [MANY - 1, MANY])
def test_the_books_of_a_bag_of_any_size_draw_all_of_it(tasks: int) -> None:
    book = TaskBook(tasks, random.Random(7))
    drawn = [book.draw() for _ in range(tasks)]
    assert sorted(task for task in drawn if task is not None) == list(range(tasks))
    assert book.draw() is None
