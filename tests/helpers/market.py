"""Clusters to plan with, and the stupid twin: try every mix there is."""

import itertools
import math
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from bats.common import billing
from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import TIE, Plan, limits


def hourly(
    minutes: Sequence[float], prices: Sequence[str | int], most: Sequence[int]
) -> tuple[Cluster, ...]:
    """Clusters as the paper has them: T in minutes, c per ATU of an hour, A."""
    return tuple(
        cluster(T * 60, money(c), A, name=f"cluster{i}")
        for i, (T, c, A) in enumerate(zip(minutes, prices, most, strict=True))
    )


def cluster(
    mean_seconds: float,
    price: Money,
    limit: int,
    *,
    atu_seconds: float = 3600.0,
    minimum_seconds: float = 0.0,
    boundary_seconds: float = 0.0,
    slots: int = 1,
    name: str = "cluster",
) -> Cluster:
    offering = Offering(
        ClusterName(name), price, atu_seconds, limit, slots, minimum_seconds, boundary_seconds
    )
    return Cluster(offering, mean_seconds, limit)


means = st.one_of(
    st.sampled_from([60.0, 120.0, 180.0, 225.0, 900.0]),  # nice ones tie often
    st.floats(1e-3, 1e5),
)
prices = st.one_of(st.integers(0, 12), st.integers(0, 10**9)).map(Money)
tasks_left = st.one_of(st.integers(1, 12), st.integers(1, 100_000))

# How fast a machine of a price may be: what makes mixes hard to choose between.
KINDS = {
    "any": lambda r, price: r.uniform(0.001, 1),
    "about the same value": lambda r, price: price * r.uniform(0.95, 1.05),
    "all of the same value": lambda r, price: price / 100,
    "the large ones better": lambda r, price: price**1.2,
    "the large ones worse": lambda r, price: price**0.8 * r.uniform(0.9, 1.1),
}


@st.composite
def markets(draw: st.DrawFn, *, one_bill: bool = False) -> tuple[Cluster, ...]:
    """One to three clusters of up to four machines, few enough to try all mixes."""
    atus = st.sampled_from([1.0, 60.0, 600.0, 3600.0])
    minimums = st.sampled_from([0.0, 0.0, 60.0])
    boundaries = st.sampled_from([0.0, 0.0, 0.25, 0.9])
    atu, minimum, boundary = draw(atus), draw(minimums), draw(boundaries)
    return tuple(
        cluster(
            draw(means),
            draw(prices),
            draw(st.integers(0, 4)),
            atu_seconds=atu if one_bill else draw(atus),
            minimum_seconds=minimum if one_bill else draw(minimums),
            boundary_seconds=boundary if one_bill else draw(boundaries),
            slots=draw(st.sampled_from([1, 1, 2, 5])),
            name=f"cluster{i}",
        )
        for i in range(draw(st.integers(1, 3)))
    )


def every_plan(clusters: tuple[Cluster, ...], tasks: float) -> Iterator[Plan]:
    """All mixes that finish the bag, free machines always in full."""
    most = limits(clusters, tasks)
    choices = [
        [limit] if c.offering.free else range(limit + 1)
        for c, limit in zip(clusters, most, strict=True)
    ]
    for mix in itertools.product(*choices):
        speed = sum(
            a * c.offering.slots / c.mean_seconds for a, c in zip(mix, clusters, strict=True)
        )
        if speed > 0:
            makespan = tasks / speed
            cost = sum(
                a * billing.charge_to_work(c.offering, makespan)
                for a, c in zip(mix, clusters, strict=True)
            )
            yield Plan(mix, speed, makespan, Money(cost))


def fastest_of_all(
    clusters: tuple[Cluster, ...], tasks: float, budget: Money, deadline: float = math.inf
) -> Plan | None:
    """The fastest affordable mix; of equals the cheapest, then the one of fewest machines."""
    affordable = [
        plan
        for plan in every_plan(clusters, tasks)
        if plan.cost <= budget and plan.makespan_seconds <= deadline
    ]
    if not affordable:
        return None
    top = max(plan.speed for plan in affordable)
    as_fast = [plan for plan in affordable if plan.speed >= top * (1 - TIE)]
    return min(as_fast, key=lambda plan: (plan.cost, plan.machines))


def rates(mix: Mix, clusters: tuple[Cluster, ...]) -> int:
    """The price of a mix per ATU."""
    return sum(a * c.offering.price for a, c in zip(mix, clusters, strict=True))


def budgets(clusters: tuple[Cluster, ...], tasks: int, share: float, nudge: int) -> Money:
    """Somewhere among the costs of all mixes, or just beside one of them."""
    costs = sorted({plan.cost for plan in every_plan(clusters, tasks)})
    if not costs:
        return Money(nudge + 1)
    return Money(max(0, costs[int(share * (len(costs) - 1))] + nudge))


def same(found: Plan | None, best: Plan | None) -> bool:
    if found is None or best is None:
        return found is best
    return (
        abs(found.speed - best.speed) <= best.speed * TIE
        and found.cost == best.cost
        and found.machines == best.machines
    )
