"""The verbs of PROB's library for planners of one's own (PROB Table 1).

A planner that counts with means becomes one that counts with distributions when `+`, `max` and `<`
become `add`, `maximum` and `is_more`; the others make that cheap. The page beside this module shows
such a planner.

Lemma 2 of the paper, by which two plans are told apart by their different tasks alone, holds for
sums. Beside a longer branch a better part gains nothing: of two maxima neither is more. So
`partially_evaluated` says which part is better, and never that the whole is worse for it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from bats.master.brain.probability.combination import (
    AtOnce,
    Combination,
    Evaluation,
    InOrder,
    Task,
    at_once,
    in_order,
)
from bats.master.brain.probability.histogram import Histogram, add, is_more, maximum
from bats.master.brain.probability.reduction import Parents, children_of, reduced

__all__ = [
    "add",
    "bundled",
    "clustered",
    "is_more",
    "maximum",
    "partially_evaluated",
    "preprocessed",
]

KeyOf = Callable[[int], Hashable]


def preprocessed(
    parents: Parents, source: int | None = None, target: int | None = None
) -> Combination:
    """The combination of what lies between two tasks, both with it: made once per structure."""
    for task, ones in enumerate(parents):
        for one in ones:
            if not 0 <= one < len(parents):
                raise ValueError(
                    f"Task {task} waits for {one}, but there are tasks 0 to {len(parents) - 1}."
                )
    kept = set(range(len(parents)))
    if target is not None:
        kept &= _reached([target], parents)
    if source is not None:
        kept &= _reached([source], children_of(parents))
    place = {task: k for k, task in enumerate(sorted(kept))}
    within = [[place[one] for one in parents[task] if one in kept] for task in sorted(kept)]
    return _renumbered(reduced(within).combination, sorted(kept))


def bundled(combination: Combination, kind_of: KeyOf) -> Combination:
    """The same, with tasks in a row on one kind of machine as one: added once for all plans."""
    match combination:
        case Task():
            return combination
        case AtOnce(parts):
            return at_once(*(bundled(part, kind_of) for part in parts))
        case InOrder(parts):
            rows: list[list[Combination]] = []
            last: Hashable = None
            for part in (bundled(one, kind_of) for one in parts):
                kind = kind_of(part.number) if isinstance(part, Task) else object()
                if rows and kind == last:
                    rows[-1].append(part)
                else:
                    rows.append([part])
                last = kind
            return InOrder(tuple(InOrder(tuple(row)) if row[1:] else row[0] for row in rows))


def clustered(combination: Combination, alike: KeyOf, together: int) -> Combination:
    """The same, with up to `together` tasks that are alike at once on one machine.

    They share it and each other's fate: as long as one of them, stretched by their number.
    """
    match combination:
        case Task():
            return combination
        case InOrder(parts):
            return in_order(*(clustered(part, alike, together) for part in parts))
        case AtOnce(parts):
            kinds: dict[Hashable, list[Task]] = defaultdict(list)
            others = [clustered(part, alike, together) for part in parts if not _plain(part)]
            for part in parts:
                if isinstance(part, Task) and _plain(part):
                    kinds[alike(part.number)].append(part)
            groups = [
                Task(tasks[k].number, float(len(tasks[k : k + together])))
                for tasks in kinds.values()
                for k in range(0, len(tasks), together)
            ]
            return at_once(*groups, *others)


def partially_evaluated(
    evaluation: Evaluation, combination: Combination, first: KeyOf, second: KeyOf
) -> tuple[Histogram, Histogram]:
    """The distributions of the smallest part in which two plans differ, under each."""
    differing = _differing(combination, first, second)
    return evaluation.of(differing, first), evaluation.of(differing, second)


def _differing(combination: Combination, first: KeyOf, second: KeyOf) -> Combination:
    if isinstance(combination, Task):
        return combination
    changed = [part for part in combination.parts if _differs(part, first, second)]
    if len(changed) == 1:
        return _differing(changed[0], first, second)
    return type(combination)(tuple(changed))


def _differs(combination: Combination, first: KeyOf, second: KeyOf) -> bool:
    if isinstance(combination, Task):
        return first(combination.number) != second(combination.number)
    return any(_differs(part, first, second) for part in combination.parts)


def _plain(part: Combination) -> bool:
    return isinstance(part, Task) and part.stretch == 1.0


def _reached(from_tasks: Sequence[int], edges: Parents) -> set[int]:
    found, todo = set(from_tasks), list(from_tasks)
    while todo:
        for one in edges[todo.pop()]:
            if one not in found:
                found.add(one)
                todo.append(one)
    return found


def _renumbered(combination: Combination, numbers: Sequence[int]) -> Combination:
    match combination:
        case Task(number, stretch):
            return Task(numbers[number], stretch)
        case InOrder(parts) | AtOnce(parts):
            return type(combination)(tuple(_renumbered(part, numbers) for part in parts))
