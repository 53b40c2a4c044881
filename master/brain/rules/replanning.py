"""Solving for the money and the tasks left, with room for what is not known (science.md, 4)."""

import math

from bats.common.billing import charge, charge_to_work
from bats.common.money import Money
from bats.common.units import counted
from bats.master.brain.books.state import Run
from bats.master.brain.learning.sample_size import DELTA
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import Plan as Solution
from bats.master.brain.planning.problem import Problem
from bats.master.brain.rules import fleet
from bats.master.brain.rules.adopting import adopt, follow
from bats.master.brain.views import prospects
from bats.master.brain.views.outlook import Outlook, outlook
from bats.master.brain.views.prospects import (
    by_timetable,
    least_money,
    look_ahead,
    money_left,
    solve,
)


def replan(run: Run, cause: str) -> None:
    """Solve for the money and the tasks left, and move towards the answer."""
    if run.pause is not None:
        return
    keep_free_machines(run)
    if not any(c.startable and not c.offering.free for c in run.known()):
        return
    clusters = run.planning_clusters()
    view = outlook(run, clusters)
    if by_timetable(run):
        if not run.tasks.waiting:
            return
        ahead = look_ahead(run)
        if ahead is None:
            go_as_far_as_it_goes(run, clusters, view, cause)
        else:
            follow(run, ahead, view, cause)
        return
    if view.N_e == 0 and run.plan is not None:
        return  # paid time does the rest
    solution = solve(run, clusters, view)
    if solution is None:
        go_as_far_as_it_goes(run, clusters, view, cause)
    else:
        run.short_of_money = False
        adopt(run, solution, view, cause)


def go_as_far_as_it_goes(
    run: Run, clusters: tuple[Cluster, ...], view: Outlook, cause: str
) -> None:
    """No mix can finish. Go on with the machines that do most for the money, and say so."""
    money = money_left(run)
    if not run.short_of_money:
        run.short_of_money = True
        run.say(_what_finishing_costs(run, clusters, view.N_e))
    mix = [len(run.staying(k)) if c.offering.free else 0 for k, c in enumerate(clusters)]
    prices = {
        k: c.offering.price / c.offering.atu_seconds / c.speed
        for k, c in enumerate(clusters)
        if c.limit and not c.offering.free
    }
    there = {k: price for k, price in prices.items() if run.staying(k)}
    if there and run.settings.prudence:
        # Those that are there can use all the money: another one only costs its start.
        least = min(there.values()) * (1 + DELTA)
        for k, price in there.items():
            mix[k] = len(run.staying(k)) if price <= least else 0
    elif prices:
        affordable = {k: v for k, v in prices.items() if _price_of_one(run, clusters[k]) <= money}
        if affordable:
            best = min(affordable, key=lambda k: (affordable[k], k))
            useful = math.ceil(view.N_e / clusters[best].offering.slots)
            wanted = money // _price_of_one(run, clusters[best])
            mix[best] = min(clusters[best].limit, wanted, useful)
    speed = sum(a * c.speed for a, c in zip(mix, clusters, strict=True))
    if speed:
        adopt(run, Solution(tuple(mix), speed, view.N_e / speed, money), view, cause)


def _price_of_one(run: Run, c: Cluster) -> Money:
    """What a new machine costs for its start and its first tasks."""
    if not run.settings.prudence:
        return charge(c.offering, 0.0)
    return charge_to_work(c.offering, c.mean_seconds)


def _what_finishing_costs(run: Run, clusters: tuple[Cluster, ...], N: int) -> str:
    least: Money | None
    if by_timetable(run):
        least = least_money(run)
    else:
        cheapest = run.planner.cheapest(Problem(clusters, N, prospects.money_left(run)))
        least = None if cheapest is None else cheapest.cost
    rest = f"the last {counted(run.tasks.waiting, 'task')}"
    if least is None:
        return f"no machine can be had to finish {rest}"
    return (
        f"{run.shown(money_left(run))} will hardly finish {rest}: that needs about "
        f"{run.shown(least)}; going on with what does most for the money"
    )


def keep_free_machines(run: Run) -> None:
    """Free machines that broke down are asked for again."""
    for c in run.clusters:
        if c.startable and c.offering.free:
            useful = math.ceil(run.tasks.unfinished / c.offering.slots)
            wanted = min(c.offering.max_machines, useful)
            fleet.start(run, c.index, wanted - len(run.staying(c.index)))
