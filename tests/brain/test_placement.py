"""Placement: which task of which workflow goes where, by each policy of the thesis."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bats.common.errors import UsageError
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placement_names import ALIASES
from bats.master.brain.placement.placers import PLACERS, placer
from bats.master.brain.placement.plan import Plan
from bats.master.brain.placement.pool import Arrived, Completed, Pool, Start
from bats.master.brain.placement.ranked import Slowdown
from bats.master.brain.placement.whole_plan import in_turn
from bats.master.brain.protocol.graph import Step, graph


def workflow(seconds: Sequence[float], *edges: tuple[int, int]) -> Workflow:
    return Workflow(neighbours(graph([Step("task", len(seconds))], edges)), seconds)


def bag(*seconds: float) -> Workflow:
    """Tasks that wait for nothing."""
    return workflow(seconds)


def fork(first: float, *others: float) -> Workflow:
    """One task, and others that wait for it."""
    return workflow((first, *others), *((0, k) for k in range(1, len(others) + 1)))


def pool(policy: str, places: int = 2, speeds: Sequence[float] = ()) -> Pool:
    return Pool(speeds or [1.0] * places, placer(policy), seed=1)


def began(starts: list[Start]) -> list[tuple[int, int]]:
    return [(one.workflow, one.task) for one in starts]


def test_backfilling_gives_the_first_in_the_queue_all_that_it_can_use_and_the_rest_to_others():
    of = pool("backfilling", 4)
    assert len(of.handle(Arrived(1, bag(1, 1, 1)), 0.0)) == 3
    assert began(of.handle(Arrived(2, bag(1)), 0.0)) == [(2, 0)]


def test_a_strict_reservation_keeps_places_for_what_the_first_workflow_may_use_later():
    of = pool("reserve", 4)
    assert began(of.handle(Arrived(1, fork(5, 1, 1, 1)), 0.0)) == [(1, 0)]
    assert began(of.handle(Arrived(2, bag(9, 9)), 0.0)) == [(2, 0)]
    assert of.free == 2  # three are kept for the first, whose one task has one of them


def test_a_scaled_reservation_keeps_a_part_of_them():
    of = pool("reserve:0.5", 4)
    of.handle(Arrived(1, fork(5, 1, 1, 1)), 0.0)
    assert len(of.handle(Arrived(2, bag(9, 9, 9)), 0.0)) == 2  # 2 of 4 are kept


def test_looking_ahead_keeps_places_for_the_largest_of_so_many_generations():
    chain = workflow((1, 1, 1, 1, 1), (0, 1), (1, 2), (1, 3), (1, 4))
    near, far = pool("look-ahead:1", 4), pool("look-ahead:2", 4)
    for of in (near, far):
        of.handle(Arrived(1, chain), 0.0)
    assert len(near.handle(Arrived(2, bag(1, 1, 1)), 0.0)) == 3
    assert len(far.handle(Arrived(2, bag(1, 1, 1)), 0.0)) == 1


def test_by_critical_path_the_task_with_the_longest_way_behind_it_goes_first():
    of = pool("critical-path", 1)
    short_then_long = workflow((3, 1, 9), (1, 2))
    assert began(of.handle(Arrived(1, short_then_long), 0.0)) == [(1, 1)]
    assert began(of.handle(Completed(0), 1.0)) == [(1, 2)]


def test_by_least_remaining_the_workflow_with_least_to_do_goes_first():
    of = pool("least-remaining", 1)
    of.handle(Arrived(1, bag(5, 5, 5)), 0.0)
    of.handle(Arrived(2, bag(4, 4)), 1.0)
    assert began(of.handle(Completed(0), 5.0)) == [(1, 1)]  # 2/3 of 5 is less than 4
    assert began(of.handle(Completed(0), 10.0)) == [(1, 2)]


def test_by_hybrid_rank_the_shortest_of_several_workflows_goes_first_the_longest_of_one():
    of = pool("hybrid-rank", 1)
    assert began(of.handle(Arrived(1, bag(2, 7, 5)), 0.0)) == [(1, 1)]
    of.handle(Arrived(2, bag(3, 4)), 0.0)
    order = [began(of.handle(Completed(0), float(at))) for at in range(7, 11)]
    assert order == [[(1, 0)], [(2, 0)], [(2, 1)], [(1, 2)]]


def test_by_slowdown_the_workflow_that_waited_longest_for_its_length_goes_first():
    of = pool("slowdown", 1)
    of.handle(Arrived(1, bag(10, 10)), 0.0)
    of.handle(Arrived(2, bag(1)), 8.0)
    of.handle(Arrived(3, bag(100)), 8.0)
    assert began(of.handle(Completed(0), 10.0)) == [(2, 0)]  # 3 of 1, 2 of 10, 1.02 of 100
    assert began(of.handle(Completed(0), 11.0)) == [(1, 1)]


def test_how_wrong_all_estimates_are_is_learned_from_the_tasks_that_ended():
    policy = Slowdown()
    one = Present(1, bag(2), 0.0)
    assert policy.xi == 1
    for _ in range(Slowdown.M):
        policy.task_ended(one, 4.0, 2.0)
    assert policy.xi == 2
    for _ in range(Slowdown.M):
        policy.task_ended(one, 1.0, 2.0)
    assert policy.xi == 0.5


def test_a_task_is_postponed_while_a_busy_place_would_end_it_earlier():
    of = pool("owm", speeds=[4.0, 1.0])
    assert began(of.handle(Arrived(1, bag(8)), 0.0)) == [(1, 0)]  # on the fast one until 2
    assert of.handle(Arrived(2, bag(8)), 0.0) == []  # 4 there is earlier than 8 here
    assert began(of.handle(Arrived(3, bag(1)), 0.0)) == [(3, 0)]  # 2.25 there, 1 here
    assert of.handle(Completed(0), 2.0) == [Start(2, 0, 0)]


def test_the_fastest_free_place_is_taken_first():
    of = pool("backfilling", speeds=[0.5, 1.5, 1.0])
    starts = of.handle(Arrived(1, bag(1, 1)), 0.0)
    assert [one.place for one in starts] == [1, 2]


def test_a_whole_plan_lets_a_place_idle_for_the_task_that_is_planned_there():
    of = pool("whole-plan", 2)
    # 0 takes 1 s and lets 1 begin, the longest; 2 and 3 are short.
    planned = workflow((1, 10, 2, 2), (0, 1))
    assert sorted(began(of.handle(Arrived(1, planned), 0.0))) == [(1, 0), (1, 2)]
    assert began(of.handle(Completed(0), 1.0)) == [(1, 1)]
    assert began(of.handle(Completed(1), 2.0)) == [(1, 3)]


def test_workflows_take_turns_in_a_plan_and_no_parent_shares_a_level_with_its_child():
    two = [Present(1, fork(4, 3, 2), 0.0), Present(2, bag(6, 5), 0.0)]
    assert [(one.number, task) for one, task in in_turn(two)] == [
        (1, 0), (2, 0), (2, 1), (1, 1), (1, 2),
    ]  # fmt: skip


def test_a_plan_puts_each_task_where_a_search_through_all_gaps_finds_its_earliest_end():
    rng = random.Random(3)
    for _ in range(20):
        speeds = [rng.choice([0.5, 1.0, 2.0]) for _ in range(3)]
        free_from = [float(rng.randrange(4)) for _ in range(3)]
        plan = Plan(free_from, speeds)
        taken: list[list[tuple[float, float]]] = [[(0.0, at)] for at in free_from]
        for _ in range(60):
            ready, estimate = float(rng.randrange(20)), float(rng.randrange(1, 5))
            place, start, end = plan.put(ready, estimate)
            best = min(
                (earliest(taken[k], ready, estimate / speeds[k]) + estimate / speeds[k], k)
                for k in range(3)
            )
            assert (end, place) == best
            assert start == end - estimate / speeds[place]
            taken[place].append((start, end))


def test_a_task_of_no_length_takes_no_room_in_a_plan():
    plan = Plan([0.0], [1.0])
    assert plan.put(5.0, 0.0) == (0, 5.0, 5.0)
    assert plan.put(0.0, 8.0) == (0, 0.0, 8.0)


def earliest(taken: list[tuple[float, float]], ready: float, lasts: float) -> float:
    """The first moment from which a place is free for so long."""
    candidates = sorted({ready, *(end for _, end in taken if end >= ready)})
    return next(
        at
        for at in candidates
        if at >= taken[0][1]
        and all(at + lasts <= start or end <= at for start, end in taken if end > start)
    )


@pytest.mark.parametrize("policy", [*PLACERS, "reserve:0.3", "look-ahead:2"])
def test_whatever_the_policy_the_same_seed_gives_the_same_starts_and_every_task_begins_once(
    policy: str,
):
    def run() -> list[Start]:
        of, rng = pool(policy, speeds=[1.0, 2.0, 1.0]), random.Random(5)
        all_starts, busy, now = list[Start](), list[int](), 0.0
        for number in range(6):
            seconds = [rng.uniform(1, 9) for _ in range(6)]
            starts = of.handle(Arrived(number, workflow(seconds, (0, 1), (0, 2), (1, 3))), now)
            while True:
                all_starts += starts
                busy += [one.place for one in starts]
                if not busy or rng.random() < 0.2:
                    break
                now += 1
                starts = of.handle(Completed(busy.pop(rng.randrange(len(busy)))), now)
        while busy:
            now += 1
            starts = of.handle(Completed(busy.pop(0)), now)
            all_starts += starts
            busy += [one.place for one in starts]
        assert not of.present
        return all_starts

    starts = run()
    assert starts == run()
    assert sorted(began(starts)) == [(number, task) for number in range(6) for task in range(6)]


def test_names_and_aliases_lead_to_policies_and_others_are_refused_with_those_there_are():
    for alias, name in ALIASES.items():
        assert type(placer(alias)) is type(placer(name))
    with pytest.raises(UsageError, match=r"no placement; there are backfilling, critical-path"):
        placer("best")
    with pytest.raises(UsageError, match="takes no number"):
        placer("cpp:2")
    with pytest.raises(UsageError, match="after the colon stands a number"):
        placer("reserve:much")


def test_breadth_first_is_the_order_of_the_generations_whatever_the_ranks():
    of = pool("breadth-first", 1)
    # 0 and 1 begin; 2 waits for 0, and the way behind it is the longest.
    assert began(of.handle(Arrived(1, workflow([1, 1, 99], (0, 2))), 0.0)) == [(1, 0)]
    assert began(of.handle(Arrived(2, bag(5)), 0.5)) == []
    assert began(of.handle(Completed(0), 1.0)) == [(1, 1)]
    assert began(of.handle(Completed(0), 2.0)) == [(1, 2)]
    assert began(of.handle(Completed(0), 9.0)) == [(2, 0)]


@pytest.mark.parametrize("seed", range(20))
def test_the_first_in_breadth_is_the_least_of_all_that_wait(seed: int):
    rng = random.Random(seed)
    edges = [(p, c) for c in range(30) for p in range(c) if rng.random() < 0.1]
    one = Present(1, workflow([rng.random() for _ in range(30)], *edges), 0.0)
    running: list[int] = []
    while not one.over:
        if one.waiting:
            assert one.first_in_breadth() == min(one.waiting_tasks(), key=one.breadth)
        if one.waiting and (not running or rng.random() < 0.5):
            task = rng.choice(one.waiting_tasks())
            one.start(task, 0.0)
            running.append(task)
        else:
            one.end(running.pop(rng.randrange(len(running))))


def test_the_workflow_of_highest_priority_has_the_first_place():
    of = pool("priority", 1)
    of.handle(Arrived(1, bag(9)), 0.0)
    for number, priority in ((2, 1), (3, 7), (4, 7)):
        of.handle(Arrived(number, replace(bag(1), priority=priority)), 1.0)
    ends = [began(of.handle(Completed(0), 9.0 + k)) for k in range(3)]
    assert ends == [[(3, 0)], [(4, 0)], [(2, 0)]]
