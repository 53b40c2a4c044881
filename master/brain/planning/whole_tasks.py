"""Tasks are not fluid: ΔN, what a mix leaves undone in its paid time, and ΔB, its price (T §3.1.5).

The knapsack splits tasks between machines; machines do not. In M whole ATUs a machine of type k
does n_k = floor(M/T_k) tasks on each slot, so ΔN = N - Σ a_k·n_k tasks may be left over. ΔN is at
most Σ a_k·slots_k: every slot has at most one task to end.
"""

import math

from bats.common import billing
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import Plan


def whole_tasks(cluster: Cluster, makespan_seconds: float) -> int:
    """n_k: how many tasks one machine ends in the ATUs that the makespan takes."""
    paid = _paid(cluster, makespan_seconds)
    per_slot = math.floor(paid / cluster.mean_seconds * (1 + billing.ROUNDING))
    return per_slot * cluster.offering.slots


def delta_n(clusters: tuple[Cluster, ...], tasks: float, plan: Plan) -> int:
    """ΔN: above 0, the schedule is risky."""
    done = sum(
        a * whole_tasks(cluster, plan.makespan_seconds)
        for a, cluster in zip(plan.mix, clusters, strict=True)
        if a > 0
    )
    return math.ceil(tasks) - done


def cushion(clusters: tuple[Cluster, ...], plan: Plan, count: int) -> Money:
    """ΔB: the price of running the last `count` tasks on machines of the mix that stay for them.

    Each slot takes one. Machines that finish within one more ATU come first, then the cheaper.
    """
    staying = sorted(
        (
            _Longer.than_planned(cluster, plan.makespan_seconds, a)
            for a, cluster in zip(plan.mix, clusters, strict=True)
            if a > 0
        ),
        key=lambda longer: (longer.atus > 1, longer.price / longer.slots),
    )
    price, left = 0, count
    spare: list[_Longer] = []
    for longer in staying:
        machines = max(0, min(longer.machines, left // longer.slots))
        price += machines * longer.price
        left -= machines * longer.slots
        if machines < longer.machines:
            spare.append(longer)
    if left > 0:
        enough = [longer for longer in spare if longer.slots >= left]
        price += min((longer.price for longer in enough), default=NOTHING)
    return Money(price)


@dataclass(frozen=True, slots=True)
class _Longer:
    """The price of a machine that stays for one task per slot beyond its planned time."""

    machines: int
    slots: int
    atus: int
    price: Money

    @classmethod
    def than_planned(cls, cluster: Cluster, makespan_seconds: float, machines: int) -> "_Longer":
        offering = cluster.offering
        paid = _paid(cluster, makespan_seconds)
        longer = billing.atus_to_work(offering, paid + cluster.mean_seconds)
        atus = longer - billing.atus_to_work(offering, paid)
        price = billing.charge_atus(offering, atus)
        return cls(machines, offering.slots, atus, price)


def _paid(cluster: Cluster, makespan_seconds: float) -> float:
    """M in whole ATUs of this cluster, as far as they are worked."""
    offering = cluster.offering
    return billing.paid_work(offering, billing.atus_to_work(offering, makespan_seconds))
