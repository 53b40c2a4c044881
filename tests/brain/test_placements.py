"""Placements by name over bags that run side by side: who goes first, and what of it."""

import random
from collections.abc import Sequence

import pytest
from helpers.workbench import Bench, free, sent, settings

from bats.common.errors import UsageError
from bats.common.messages import BagId, MachineId
from bats.master.brain.engine import replay
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.parallelism import token
from bats.master.brain.household.household import Household
from bats.master.brain.household.notices import (
    Arrange,
    Came,
    Closed,
    Fills,
    Needs,
    Notice,
    Opened,
    Placed,
    Progressed,
)
from bats.master.brain.household.placements import PLACEMENTS, placement
from bats.master.brain.placement.placement_names import ALIASES
from bats.master.brain.placement.placers import PLACERS
from bats.master.brain.protocol.course import Course
from bats.master.brain.protocol.events import Order, Ordered
from bats.master.brain.protocol.graph import Graph, Step, graph, packed_seconds
from bats.master.brain.protocol.journal import event_from, plain

A, B, C = BagId(1), BagId(2), BagId(3)
DESK = MachineId(500_001)


class Home:
    def __init__(self, name: str) -> None:
        self.household = Household(placement_name=name)

    def __call__(self, *notices: Notice, at: float = 0.0) -> dict[BagId, int]:
        """The slots that each bag has after these notices."""
        for notice in notices:
            self.household.handle(notice, at)
            self.household.check()
        return {one.bag: one.slots for one in self.household.view().bags}

    def pass_on(self, *bags: BagId, at: float = 0.0) -> dict[BagId, int]:
        return self(*(Fills(bag, DESK, 0) for bag in bags), at=at)


def course(unfinished: int = 10, critical: float = 10.0, **more: float) -> Course:
    told = {"left": critical, "next_rank": critical, "mean": 1.0} | more
    return Course(10, unfinished, critical, **told)  # type: ignore[arg-type]


def opened(*bags: BagId, needs: int = 100, began: float = 0.0) -> list[Notice]:
    return [one for bag in bags for one in (Opened(bag, began=began), Needs(bag, needs))]


# --- names ----------------------------------------------------------------------------------------


def test_every_name_and_alias_of_the_thesis_is_known_live_or_said_to_be_for_simulations() -> None:
    live = {placement(name).name for name in (*PLACEMENTS, *ALIASES) if name != "wheft"}
    assert live == set(PLACEMENTS)
    assert set(PLACEMENTS) - {"random"} < set(PLACERS)
    for name in ("owm", "whole-plan", "wheft"):
        with pytest.raises(UsageError, match="only a simulation has"):
            placement(name)


def test_numbers_after_a_colon_are_kept_in_the_name_and_others_refused() -> None:
    assert placement("slop:0.8").name == "reserve:0.8"
    assert placement("fes:3").generations == 3
    for wrong in ("bf:1", "reserve:2", "reserve:x", "look-ahead:-1", "fes:0.5", "nonsense"):
        with pytest.raises(UsageError):
            placement(wrong)


# --- bags -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["backfilling", "critical-path"])
def test_the_bag_that_came_first_has_all_that_it_needs(name: str) -> None:
    home = Home(name)
    home(Came(DESK, 4), *opened(A, needs=3), *opened(B))
    assert home.pass_on(A) == {A: 3, B: 1}
    home(Needs(A, 1))
    assert home.pass_on(A) == {A: 1, B: 3}


def test_by_least_remaining_the_bag_with_least_to_do_has_all_that_it_needs() -> None:
    home = Home("least-remaining")
    home(Came(DESK, 4), *opened(A), *opened(B, needs=3))
    home(Progressed(A, course(10, 10.0)), Progressed(B, course(5, 10.0)))
    assert home.pass_on(A) == {A: 1, B: 3}
    home(Progressed(A, course(1, 10.0)))
    assert home.pass_on(B) == {A: 4, B: 0}


def test_by_slowdown_the_bag_that_waited_longest_for_its_length_goes_first() -> None:
    home = Home("slowdown")
    home(Came(DESK, 4), *opened(A, B))
    home(Progressed(A, course(critical=100.0)), Progressed(B, course(critical=10.0)), at=50.0)
    assert home.pass_on(A, at=50.0) == {A: 0, B: 4}  # 1.5 of its length against 6


def test_what_is_not_known_of_a_bag_yet_counts_like_the_tasks_of_others() -> None:
    home = Home("least-remaining")
    home(Came(DESK, 4), *opened(A, B))
    home(Progressed(A, course(critical=3.0, mean=0.0)), Progressed(B, course(critical=50, mean=20)))
    assert home.pass_on(A, B) == {A: 0, B: 4}  # three tasks of 20 seconds are more than 50


def test_a_reservation_keeps_slots_idle_for_what_the_first_bag_may_use_later() -> None:
    for name, kept in (("reserve", 3), ("reserve:0.5", 2), ("reserve:0", 1)):
        home = Home(name)
        home(Came(DESK, 4), *opened(A, needs=1), *opened(B))
        home(Progressed(A, course(level=3)))
        assert home.pass_on(A, B) == {A: kept, B: 4 - kept}


def test_a_bag_that_stands_still_keeps_nothing() -> None:
    home = Home("reserve")
    home(Came(DESK, 4), *opened(A, needs=0), *opened(B), Progressed(A, course(level=3)))
    assert home.pass_on(A) == {A: 0, B: 4}


def test_of_several_bags_the_hybrid_rank_takes_the_shortest_way_and_of_one_the_longest() -> None:
    home = Household(placement_name="hybrid-rank")
    assert Arrange(A, Order.LONGEST) in home.handle(Opened(A), 0.0)
    answers = home.handle(Opened(B), 0.0)
    assert {one for one in answers if isinstance(one, Arrange)} == {
        Arrange(A, Order.SHORTEST), Arrange(B, Order.SHORTEST)
    }  # fmt: skip
    assert Arrange(A, Order.LONGEST) in home.handle(Closed(B), 0.0)


def test_a_placement_is_changed_while_bags_run() -> None:
    home = Home("random")
    assert home(Came(DESK, 4), *opened(A, B)) == {A: 2, B: 0}
    answers = home.household.handle(Placed("cpp"), 0.0)
    assert [one.order for one in answers if isinstance(one, Arrange)] == [Order.LONGEST] * 2
    assert home() == {A: 4, B: 0}
    assert home.household.handle(Placed("cpp"), 0.0) == []


@pytest.mark.parametrize("name", PLACEMENTS)
@pytest.mark.parametrize("seed", range(4))
def test_by_chance_no_slot_is_given_twice_and_none_idles_but_what_is_kept(
    name: str, seed: int
) -> None:
    rng = random.Random(seed)
    home, now = Household(placement_name=name), 0.0
    home.handle(Came(DESK, 9), now)
    bags = [BagId(k) for k in range(1, 6)]
    for bag in bags:
        home.handle(Opened(bag), now)
    for _ in range(200):
        now += rng.random() * 3
        bag = rng.choice(bags)
        told = course(rng.randint(1, 10), rng.random() * 99, level=rng.randint(1, 12))
        notice = rng.choice(
            [Needs(bag, rng.randint(0, 12)), Progressed(bag, told), Fills(bag, DESK, 0)]
        )
        home.handle(notice, now)
        home.check()


# --- tasks ----------------------------------------------------------------------------------------


LONG_AND_SHORT = graph(
    [Step("first", 3), Step("then", 1), Step("last", 1)], [(1, 3), (3, 4)]
)  # of the first three, one has two tasks behind it


def one_by_one(of: Graph, *orders: Order) -> list[int]:
    """The tasks in the order in which a machine of one slot is given them."""
    bench = Bench(settings(of.tasks, free(), graph=of, replicate=False))
    bench.begin()
    for order in orders:
        bench(Ordered(order))
    given = sent(bench.join(1, slots=1))
    while len(given) < of.tasks:
        given += sent(bench.done(1, given[-1], at=len(given)))
        bench.engine.check()
    return given


def test_the_task_with_the_longest_way_to_the_end_goes_first() -> None:
    assert one_by_one(LONG_AND_SHORT, Order.LONGEST)[:2] == [1, 3]


def test_the_task_with_the_shortest_way_goes_first() -> None:
    assert one_by_one(LONG_AND_SHORT, Order.SHORTEST)[2:] == [1, 3, 4]


def test_recorded_runtimes_count_in_the_way_to_the_end() -> None:
    seconds = packed_seconds([9.0, 1.0, 8.0, 2.0, 1.0])
    of = Graph(LONG_AND_SHORT.steps, LONG_AND_SHORT.barriers, LONG_AND_SHORT.edges, seconds)
    assert one_by_one(of, Order.LONGEST) == [0, 2, 1, 3, 4]


def test_a_way_leads_through_barriers() -> None:
    of = graph([Step("a", 1), Step("b", 3), Step("c", 1)], barriers=[(0, 2)])
    assert one_by_one(of, Order.LONGEST)[0] == 0


@pytest.mark.parametrize("seed", range(10))
def test_in_whatever_order_each_task_is_begun_once_and_after_what_it_waits_for(seed: int) -> None:
    rng = random.Random(seed)
    tasks = 30
    edges = [
        (a, b) for b in range(1, tasks) for a in rng.sample(range(b), min(b, rng.randint(0, 3)))
    ]
    of = graph([Step("t", tasks)], edges)
    given = one_by_one(of, *rng.choices(list(Order), k=3))
    assert sorted(given) == list(range(tasks))
    assert all(given.index(a) < given.index(b) for a, b in edges)


def test_ranks_follow_what_is_learned_of_steps() -> None:
    of = graph([Step("quick", 4), Step("slow", 4)])
    bench = Bench(settings(8, free(), graph=of, replicate=False))
    bench.begin()
    bench(Ordered(Order.LONGEST))
    bench.join(1, slots=1)
    done: list[int] = []
    task, now = next(iter(bench.run.tasks.running)), 0.0
    while len(done) < 7:
        now += 100.0 if task >= 4 else 1.0
        done.append(task)
        (task,) = sent(bench.done(1, task, at=now))
    first_slow = next(k for k, one in enumerate(done) if one >= 4)
    known = max(4, first_slow + 1)  # four are done when ranks are worked out anew
    assert [one >= 4 for one in done[known:]] == sorted(
        (one >= 4 for one in done[known:]), reverse=True
    )


def test_the_order_is_an_event_of_the_journal_and_a_replay_comes_to_the_same() -> None:
    event = Ordered(Order.SHORTEST)
    assert event_from(plain(event)) == event
    bench = Bench(settings(5, free(), graph=LONG_AND_SHORT))
    events = [(0.0, event)]
    again = replay(bench.run.settings, events)
    assert again.order is Order.SHORTEST


def level_of(of: Graph, done: Sequence[int], generations: float) -> int:
    bench = Bench(settings(of.tasks, free(), graph=of, replicate=False))
    for task in done:
        bench.run.tasks.finish(task)  # type: ignore[arg-type]
        bench.engine.course(generations)
    return bench.engine.course(generations).level


@pytest.mark.parametrize("seed", range(10))
def test_the_level_of_parallelism_is_kept_as_tasks_end(seed: int) -> None:
    rng = random.Random(seed)
    edges = [(a, b) for b in range(1, 25) for a in rng.sample(range(b), min(b, rng.randint(0, 2)))]
    of = graph([Step("t", 25)], edges)
    done: list[int] = []
    for _ in range(12):
        free_now = [
            t for t in range(25) if t not in done and all(a in done for a, b in edges if b == t)
        ]
        done.append(rng.choice(free_now))
    for generations in (1, 2, float("inf")):
        assert level_of(of, done, generations) == token(neighbours(of), done, generations)
