"""A mix of machines for the money and the tasks left, kept until reality falls behind it.

It is bought as in the paper (T §2.2.3), by the planner that the bag names.
"""

from collections.abc import Callable
from typing import Final

from bats.common.money import Money
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.views import prospects
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.readonly import RunView

MEANINGFUL: Final = 0.9
"""A faster mix is taken when it needs at most this share of the time: estimates waver by less."""

Shares = tuple[float, ...]
"""Shares of the wanted room for error that are tried, the largest first."""


def plan(
    run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str, shares: Shares
) -> Aim | None:
    if view.N_e == 0 and run.plan is not None:
        return None  # paid time does the rest
    return Aim(prospects.solve(run, clusters, view, shares), cause)


def watch(run: RunView, clusters: tuple[Cluster, ...], view: Outlook, shares: Shares) -> Aim | None:
    """Another one on a violation, or a much faster one."""
    if run.plan is None or view.N_e > view.N_p + (run.choice.delta_n if run.choice.cushion else 0):
        if not prospects.can_hire(run):
            return None
        return plan(run, clusters, view, "behind the plan", shares)
    if run.settings.upgrade and run.choice.deadline_at is None and view.N_e and view.speed > 0:
        solution = prospects.solve(run, clusters, view, shares)
        if solution is None:
            return None
        delay = max((c.start_seconds for c in clusters), default=0.0)
        faster = solution.makespan_seconds + delay <= MEANINGFUL * view.N_e / view.speed
        if faster and solution.mix != run.plan.mix:
            return Aim(solution, "faster for the same money")
    return None


def most_of_the_best(
    run: RunView,
    clusters: tuple[Cluster, ...],
    tasks: int,
    price_of_one: Callable[[Cluster], Money],
) -> Mix:
    """The most machines that the money can start, of the kind that does most for it."""
    money = prospects.money_left(run)
    mix = free_machines(run, clusters)
    prices = {
        k: price
        for k, price in prices_of_work(clusters).items()
        if price_of_one(clusters[k]) <= money
    }
    if prices:
        best = min(prices, key=lambda k: (prices[k], k))
        useful = -(-tasks // clusters[best].offering.slots)
        wanted = money // price_of_one(clusters[best])
        mix[best] = min(clusters[best].limit, wanted, useful)
    return tuple(mix)


def free_machines(run: RunView, clusters: tuple[Cluster, ...]) -> list[int]:
    return [len(run.pool.staying(k)) if c.offering.free else 0 for k, c in enumerate(clusters)]


def prices_of_work(clusters: tuple[Cluster, ...]) -> dict[int, float]:
    """Money per task on each kind that can be had and costs something."""
    return {
        k: c.offering.price / c.offering.atu_seconds / c.speed
        for k, c in enumerate(clusters)
        if c.limit and not c.offering.free
    }
