"""Places kept for workflows that came earlier, without estimates (Ilyushkin, thesis §2.3).

Workflows are gone through in the order of arrival. Each has as many places as its target says, less
those that its running tasks have; the part for which it has no waiting task stays idle. The task is
picked at random.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Forgetful, Pick, PoolView

Target = Callable[[Present], int]


class Reserving(Forgetful):
    def __init__(self, target: Target) -> None:
        self._target = target

    def place(self, pool: PoolView) -> Iterator[Pick]:
        free = pool.free
        for workflow in pool.present:
            if not free:
                return
            kept = min(max(0, self._target(workflow) - workflow.running), free)
            for _ in range(min(kept, workflow.waiting)):
                task = workflow.nth(pool.rng.randrange(workflow.waiting))
                yield Pick(workflow, task, pool.fastest())
            free -= kept


def backfilling() -> Reserving:
    """BF (§2.3.6): nothing is kept. On places of several speeds GBF (§3.3.2): the fastest first."""
    return Reserving(lambda workflow: workflow.eligible)


def reserve(share: str = "1") -> Reserving:
    """SLoP (§2.3.4): ⌈f · LoP⌉ places, f = `share`; all of them, f = 1, are SR (§2.3.3)."""
    of_all = Fraction(share)

    def target(workflow: Present) -> int:
        level = workflow.generations.level if of_all else 0
        return max(math.ceil(of_all * level), workflow.eligible)

    return Reserving(target)


def look_ahead(generations: str = "1") -> Reserving:
    """FES (§2.3.5): the largest of the next n eligible sets, n = `generations`."""
    depth = int(generations)
    return Reserving(lambda workflow: workflow.generations.look_ahead(depth))
