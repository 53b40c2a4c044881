"""OWM: a task waits for a place that is busy, if it would end there earlier (thesis §3.3.4)."""

from collections.abc import Iterator

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Forgetful, Pick, PoolView


class OnlineManagement(Forgetful):
    """The highest r_u first, of the one best task of each workflow (Hsu et al. 2011).

    A workflow whose task was postponed is passed over until the next event; others go on.
    """

    def place(self, pool: PoolView) -> Iterator[Pick]:
        postponed: set[int] = set()
        while pool.free:
            best: Present | None = None
            for one in pool.present:
                if one.waiting and one.number not in postponed:
                    rank = one.ranks[one.nth(0)]
                    if best is None or rank > best.ranks[best.nth(0)]:
                        best = one
            if best is None:
                return
            task = best.nth(0)
            if _better_later(pool, best.workflow.estimates[task]):
                postponed.add(best.number)
            else:
                yield Pick(best, task, pool.fastest())


def _better_later(pool: PoolView, estimate: float) -> bool:
    """True if the place that is held to be free first would end the task before any free one."""
    if not pool.alike():
        return False
    first = min(pool.busy(), key=lambda one: (one.until, one.place), default=None)
    if first is None:
        return False
    here = pool.now + estimate / pool.speeds[pool.fastest()]
    return first.until + estimate / pool.speeds[first.place] < here
