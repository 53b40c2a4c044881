"""WHEFT: all workflows present are planned anew when one comes (thesis §3.3.8).

Tasks by decreasing r_u are cut into levels that hold no parent with its child (Sakellariou and Zhao
2004). Within a level workflows take turns, each with its task of highest rank. In that order HEFT
puts them on places. A place runs what is planned for it, and idles while that may not start yet.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Forgetful, Pick, PoolView
from bats.master.brain.placement.plan import Plan

Planned = tuple[Present, int]


class WholePlan(Forgetful):
    def __init__(self) -> None:
        self._next: list[deque[Planned]] = []  # of each place, by planned start

    def arrived(self, pool: PoolView) -> None:
        free_from = [pool.now] * len(pool.speeds)
        ends: dict[tuple[int, int], float] = {}
        for place, workflow, task, until in pool.busy():
            free_from[place] = ends[workflow.number, task] = until
        plan = Plan(free_from, pool.speeds)
        starts: list[list[tuple[float, int, Planned]]] = [[] for _ in pool.speeds]
        for k, (workflow, task) in enumerate(in_turn(pool.present)):
            parents = workflow.near.parents[task]
            ready = max([pool.now, *(ends.get((workflow.number, one), 0.0) for one in parents)])
            place, start, end = plan.put(ready, workflow.workflow.estimates[task])
            ends[workflow.number, task] = end
            starts[place].append((start, k, (workflow, task)))
        self._next = [deque(one for *_, one in sorted(planned)) for planned in starts]

    def place(self, pool: PoolView) -> Iterator[Pick]:
        for place, planned in enumerate(self._next):
            if planned and pool.is_free(place):
                workflow, task = planned[0]
                if workflow.may_start(task):
                    planned.popleft()
                    yield Pick(workflow, task, place)


def in_turn(present: Sequence[Present]) -> Iterator[Planned]:
    """Tasks that have not begun, level by level, workflows alternating within a level."""
    ranked = sorted(
        ((-one.ranks[task], one.number, k, one, task)
         for one in present for k, task in enumerate(one.left())),
        key=lambda entry: entry[:3],
    )  # fmt: skip
    level: dict[int, list[Planned]] = {}
    held: set[tuple[int, int]] = set()
    for _, number, _, workflow, task in ranked:
        if any((number, parent) in held for parent in workflow.near.parents[task]):
            yield from _alternating(level)
            level, held = {}, set()
        level.setdefault(number, []).append((workflow, task))
        held.add((number, task))
    yield from _alternating(level)


def _alternating(level: dict[int, list[Planned]]) -> Iterator[Planned]:
    turns = list(level.values())
    for k in range(max(map(len, turns), default=0)):
        yield from (turn[k] for turn in turns if k < len(turn))
