"""Solving for the money and the tasks left, with room for what is not known (science.md, 4)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from bats.common.billing import charge_atus
from bats.common.money import Money
from bats.master.brain import fleet
from bats.master.brain.adopting import Ahead, Supply, adopt, follow, supplies
from bats.master.brain.deadline import cheapest_within
from bats.master.brain.estimate import Estimate, estimate
from bats.master.brain.means import Means
from bats.master.brain.mix import Cluster
from bats.master.brain.outlook import Outlook, outlook
from bats.master.brain.planners import PLANNERS
from bats.master.brain.problem import Plan as Solution
from bats.master.brain.problem import Problem
from bats.master.brain.sample_size import DELTA, sample_size
from bats.master.brain.state import Run
from bats.master.brain.timetable import UNCOUNTED, Errand, cheapest_kinds


def money_left(run: Run) -> Money:
    """What a plan may count on: the cushion is not for planning with."""
    left = run.ledger.left
    return UNCOUNTED if left is None else left


def replan(run: Run, cause: str) -> None:
    """Solve for the money and the tasks left, and move towards the answer."""
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


def by_timetable(run: Run) -> bool:
    """The paper's own way is taken without prudence, and for a deadline."""
    return bool(run.settings.prudence) and run.deadline_at is None


def look_ahead(run: Run, *, hiring: bool = True) -> Ahead | None:
    """The soonest end with room for error if the money allows, with less room if it does not.

    With less room, or while little is known, nothing but the cheapest kind of machine is begun:
    it would be needed anyway.
    """
    by_now = estimate(run)
    supply = supplies(run, by_now, hiring=hiring)
    cheap = _no_dear_ones_begun(supply)
    sampled = run.canonical.count >= sample_size(len(run.tasks)) and by_now.noise <= DELTA
    if sampled and len(cheap) < len(supply):
        table = means(run, by_now, supply, money_left(run)).table(run.settings.room)
        if table is not None:
            return Ahead(table, supply, run.settings.room, by_now.noise)
    kept = means(run, by_now, cheap, money_left(run)).kept()
    if kept is None:
        return None
    room, table = kept
    return Ahead(table, cheap, room, by_now.noise)


def means(run: Run, by_now: Estimate, supply: Sequence[Supply], money: Money) -> Means:
    """For what is to be done yet."""
    errand = Errand(by_now.waiting, (1 + by_now.spread**2) / 2, by_now.residual)
    groups = tuple(group for group, _ in supply)
    return Means(groups, errand, by_now.noise, money, run.settings.room)


def _no_dear_ones_begun(supply: list[Supply]) -> list[Supply]:
    cheap = cheapest_kinds([group for group, _ in supply], DELTA)
    return [(g, machines) for g, machines in supply if not g.fresh or g.cluster in cheap]


def _least_money(run: Run) -> Money | None:
    """What a timetable without room for error costs at least, within a hundredth."""
    by_now = estimate(run)
    cheap = _no_dear_ones_begun(supplies(run, by_now, hiring=True))

    def suffices(money: int) -> bool:
        return means(run, by_now, cheap, Money(money)).table(0.0) is not None

    if not suffices(UNCOUNTED):
        return None
    short = enough = max(1, money_left(run))
    while not suffices(enough):
        short, enough = enough, 2 * enough
    while enough - short > enough // 100:
        middle = (short + enough) // 2
        if suffices(middle):
            enough = middle
        else:
            short = middle
    return Money(enough)


def solve(run: Run, clusters: tuple[Cluster, ...], view: Outlook) -> Solution | None:
    """With room for error if the money allows, with less room if it does not."""
    for share in (1.0, 0.5, 0.0) if run.settings.prudence else (0.0,):
        solution = _solve_with_room(run, clusters, view, share)
        if solution is not None:
            return solution
    return None


def _solve_with_room(
    run: Run, clusters: tuple[Cluster, ...], view: Outlook, share: float
) -> Solution | None:
    """Room for three things that the formulas of the paper leave out.

    The mean runtime is known with an error of spread/√n. A slot wastes, when its paid time ends,
    what it has spent on a task that did not fit: half a task and more, (1 + spread²)/2. And an
    outlier at the very end may need one more ATU of its machine.
    """
    known = run.canonical
    if not share or known.count < 2:
        return _solve_exactly(run, Problem(clusters, view.N_e, money_left(run)))
    reserve = share * max(c.offering.price for c in clusters if c.limit)
    money = Money(max(0, money_left(run) - int(reserve)))
    error = share * run.settings.prudence * known.spread / math.sqrt(known.count)
    waste = share * (1 + known.spread**2) / 2
    tasks = view.N_e * (1 + error)
    solution: Solution | None = None
    for _ in range(3):  # the waste depends on the mix, the mix on the waste
        mix = solution.mix if solution else (0,) * len(clusters)
        slots = sum(
            count * c.offering.slots
            for count, c in zip(mix, clusters, strict=True)
            if not c.offering.free
        )
        solution = _solve_exactly(run, Problem(clusters, math.ceil(tasks + waste * slots), money))
        if solution is None:
            return None
    return solution


def _solve_exactly(run: Run, problem: Problem) -> Solution | None:
    planner = PLANNERS[run.settings.planner]
    if run.deadline_at is not None:
        left = max(1e-3, run.deadline_at - run.now)
        within = planner.cheapest(replace(problem, deadline_seconds=left))
        if within is not None and within.cost <= problem.budget:
            return within
    return planner.fastest(problem)


def go_as_far_as_it_goes(
    run: Run, clusters: tuple[Cluster, ...], view: Outlook, cause: str
) -> None:
    """No mix can finish. Go on with the machines that do most for the money, and say so."""
    money = money_left(run)
    if not run.short_of_money:
        run.short_of_money = True
        run.say(_what_finishing_costs(run, clusters, view.N_e))
    best: tuple[float, int] | None = None
    for k, c in enumerate(clusters):
        price = charge_atus(c.offering, run.first_term(c.offering))
        if c.limit and not c.offering.free and price <= money:
            per_task = c.offering.price / c.offering.atu_seconds / c.speed
            best = min(best or (per_task, k), (per_task, k))
    mix = [len(run.staying(k)) if c.offering.free else 0 for k, c in enumerate(clusters)]
    if best is not None:
        c = clusters[best[1]]
        price = charge_atus(c.offering, run.first_term(c.offering))
        useful = math.ceil(view.N_e / c.offering.slots)
        mix[best[1]] = min(c.limit, money // price, useful)
    speed = sum(a * c.speed for a, c in zip(mix, clusters, strict=True))
    if speed:
        adopt(run, Solution(tuple(mix), speed, view.N_e / speed, money), view, cause)


def _what_finishing_costs(run: Run, clusters: tuple[Cluster, ...], N: int) -> str:
    least: Money | None
    if by_timetable(run):
        N, least = run.tasks.waiting, _least_money(run)
    else:
        cheapest = cheapest_within(clusters, N)
        least = None if cheapest is None else cheapest.cost
    if least is None:
        return f"no machine can be had to finish the last {N} tasks"
    return (
        f"{run.shown(money_left(run))} will hardly finish the last {N} tasks: that needs about "
        f"{run.shown(least)}; going on with what does most for the money"
    )


def keep_free_machines(run: Run) -> None:
    """Free machines that broke down are asked for again."""
    for c in run.clusters:
        if c.startable and c.offering.free:
            useful = math.ceil(run.tasks.unfinished / c.offering.slots)
            wanted = min(c.offering.max_machines, useful)
            fleet.start(run, c.index, wanted - len(run.staying(c.index)))
