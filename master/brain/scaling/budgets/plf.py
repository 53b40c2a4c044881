"""PLF, Planning First (§5.3.1; after Mao and Humphrey): a machine for each task that waits.

What the machines leave of the budget is shared over the workflows by priority, equally if all have
none. Each buys for its waiting tasks the kind that runs them fastest while its share covers that;
what is left of all shares goes on in the order of priority. Then the interval is planned
(`planned_tasks`): tasks on the kind bought for them, then all others, workflows in random order.
Idle machines without a task are released. A task is never begun by a budget that does not pay for
the kind that is fastest for it, unless a machine is there for others.
"""

import random
from collections.abc import Collection, Sequence

from bats.common.money import NOTHING, Money
from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.budgets.planned_tasks import (
    PlannedTasks,
    Planning,
    by_priority,
    fastest,
)
from bats.master.brain.scaling.scaler import ElasticView


class PLF(PlannedTasks):
    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._rng = random.Random(seed)
        self._noted: list[tuple[Present, int, int]] = []

    def want(self, pool: ElasticView) -> Sequence[int]:
        if pool.budget is None:
            raise ValueError("PLF spends a budget, and this pool has none")
        numbers = list(pool.supply)
        costs = sum(kind.price * number for kind, number in zip(pool.kinds, numbers, strict=True))
        shares = _shares(Money(max(NOTHING, pool.budget - costs)), pool.present)
        self._noted, missed = [], list[tuple[Present, int, int]]()
        left: int = sum(shares.values())
        for one in by_priority(pool):
            for task in sorted(one.waiting_tasks(), key=one.breadth):
                kind = fastest(pool, one, task)
                price = pool.kinds[kind].price
                if shares[one.number] < price:
                    missed.append((one, task, kind))
                    continue
                shares[one.number] = Money(shares[one.number] - price)
                left -= price
                self._noted.append((one, task, kind))
        for one, task, kind in missed:
            if pool.kinds[kind].price <= left:
                left -= pool.kinds[kind].price
                self._noted.append((one, task, kind))
        for _, _, kind in self._noted:
            numbers[kind] += 1
        return numbers

    def plan(self, pool: ElasticView) -> Collection[int]:
        plan = Planning(pool)
        for workflow, task, kind in self._noted:
            plan.put_on(kind, workflow, task)
        workflows = list(pool.present)
        self._rng.shuffle(workflows)
        plan.put_all(workflows)
        return self.carry_out(plan)


def _shares(left: Money, present: Sequence[Present]) -> dict[int, Money]:
    weights = {one.number: one.workflow.priority for one in present}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1)
    total = sum(weights.values())
    return {number: Money(left * weight // total) for number, weight in weights.items()}
