"""Places kept for workflows that came earlier, without estimates (Ilyushkin, thesis §2.3).

Workflows are gone through in the order of arrival. Each has as many places as its target says, less
those that its running tasks have; the part for which it has no waiting task stays idle. The task is
picked at random.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Pick, PoolView

Target = Callable[[Present], int]


class Reserving:
    """Places for the first in the queue.

    A start makes one that waits one that runs, and no target changes: so what a workflow lacks is
    counted when it comes and when one of its tasks ends, not at every look.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lacks: dict[Present, int] = {}  # places, in the order of arrival

    def arrived(self, pool: PoolView) -> None:
        self._count(pool.present[-1])

    def task_ended(self, workflow: Present, _seconds: float, _estimate: float) -> None:
        self._count(workflow)

    def workflow_ended(self, workflow: Present, _now: float) -> None:
        del self._lacks[workflow]

    def place(self, pool: PoolView) -> Iterator[Pick]:
        free = pool.free
        for workflow, lacks in self._lacks.items():
            if not lacks:
                continue
            kept = min(lacks, free)
            for _ in range(min(kept, workflow.waiting)):
                self._lacks[workflow] -= 1
                task = workflow.nth(pool.rng.randrange(workflow.waiting))
                yield Pick(workflow, task, pool.fastest())
            free -= kept
            if not free:
                return

    def _count(self, workflow: Present) -> None:
        self._lacks[workflow] = max(0, self._target(workflow) - workflow.running)


def backfilling() -> Reserving:
    """BF (§2.3.6): nothing is kept. On places of several speeds GBF (§3.3.2): the fastest first."""
    return Reserving(lambda workflow: workflow.eligible)


def reserve(share: str = "1") -> Reserving:
    """SLoP (§2.3.4): ⌈f · LoP⌉ places, f = `share`; all of them, f = 1, are SR (§2.3.3)."""
    part, whole = Fraction(share).as_integer_ratio()

    def target(workflow: Present) -> int:
        level = workflow.generations.level if part else 0
        return max(-(-part * level // whole), workflow.eligible)

    return Reserving(target)


def look_ahead(generations: str = "1") -> Reserving:
    """FES (§2.3.5): the largest of the next n eligible sets, n = `generations`."""
    depth = int(generations)
    return Reserving(lambda workflow: workflow.generations.look_ahead(depth))
