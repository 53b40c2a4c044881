"""Token (§4.4.2): how wide the workflows become within an interval, by waves of tokens.

In the order of arrival, tokens of each workflow move δ = ⌈Δt N / L⌉ generations on, N being the
tasks of its critical path and L the length of that. The target is the sum of the widest generations
met. Graphs whose tasks wait irregularly are wider than their generations.
"""

import math
from collections.abc import Sequence

from bats.master.brain.graphs.ranks import critical_path
from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.scaler import ElasticView, in_order


class Token:
    sees_tasks = True

    def __init__(self) -> None:
        self._hops: dict[int, int] = {}  # N, by number of workflow

    def want(self, pool: ElasticView) -> Sequence[int]:
        most = sum(kind.most for kind in pool.kinds)
        self._hops = {one.number: self._of(one) for one in pool.present}
        level = 0
        for one in pool.present:
            level += one.generations.look_ahead(self._depth(one, pool.interval))
            if level >= most:
                break
        return in_order(level, pool.kinds)

    def _of(self, one: Present) -> int:
        known = self._hops.get(one.number)
        return known or len(critical_path(one.near, one.workflow.estimates))

    def _depth(self, one: Present, interval: float) -> int:
        if not one.critical:
            return one.tasks
        return min(one.tasks, math.ceil(interval * self._hops[one.number] / one.critical))
