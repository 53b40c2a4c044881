"""Workflows planned by distributions and run by the engine: what it tells, and what comes.

Five families of workflows on two kinds of machines, of which the slow one varies more. A budget,
or a deadline as well, is drawn; of each run the chance that was told when it was decided is kept,
and whether it was done for the money and in time. Then the same workflows by their mixes, step by
step with distributions, with means and with the worst of a hundred.
"""

from statistics import fmean, geometric_mean
from typing import Final, NamedTuple

import numpy as np
from figures import Report

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell
from bats.master.simulate.workflows.scientific import SCIENTIFIC
from studies.study import Options, Study, chance, run_all

PRICES: Final = ("0.02", "0.05")
SPEED: Final = (1.0, 2.0)
VARIES: Final = (0.4, 0.1)  # σ of the logarithm of runtimes on each kind
PLANNERS: Final = ("knapsack", "prob", "average", "worst-case")
FAMILIES: Final = tuple(SCIENTIFIC)
ENOUGH: Final = 200  # runs in a fifth that is judged

Job = tuple[str, str, float, bool, int, bool]  # planner, family, ATU, deadline, number, told


class Ran(NamedTuple):
    chance: float | None  # told that the budget and the deadline are kept
    done: bool
    in_time: bool
    over: bool  # more was spent than allowed
    seconds: float
    part: float  # of the money that was allowed


def run_one(job: Job) -> Ran:
    planner, family, atu, deadline, number, told = job
    rng = chance(number, 51, FAMILIES.index(family))
    work = SCIENTIFIC[family](int(rng.integers(30, 90)), rng)
    varies = np.stack([rng.lognormal(-s * s / 2, s, work.graph.tasks) for s in VARIES])
    offerings = tuple(
        Offering(ClusterName(name), Money(round(money(price) * atu / 60)), atu, max_machines=8)
        for name, price in zip(("slow", "fast"), PRICES, strict=True)
    )
    # the work on slow machines, and an ATU of each of four of either kind
    least = sum(work.seconds) / 60 * money(PRICES[0])
    budget = Money(
        round(float(rng.uniform(1.0, 3.0)) * least + 4 * sum(o.price for o in offerings))
    )
    limit = None
    if deadline:
        limit = float(rng.uniform(0.7, 3.0)) * (sum(work.seconds) / 12 + max(work.seconds))
    settings = Settings(
        work.graph.tasks, offerings, budget, limit, graph=work.graph, planner=planner,
        seed=number, foresight=told,
    )  # fmt: skip
    simulation = Simulation(
        settings,
        lambda task, kind: work.seconds[task] / SPEED[kind] * float(varies[kind, task]),
        Conditions(start_seconds=lambda _rng, _kind: 10.0),
        number,
        foretell=foretell if told else None,
    )
    ended = simulation.run(until=1e7).ended_at
    view = simulation.engine.view()
    done = view.done == view.total
    promise = simulation.engine.run.choice.told
    bounds = promise.schedules[0].bounds if promise is not None else None
    return Ran(
        None if bounds is None else bounds.chance_in_budget * bounds.chance_in_deadline,
        done,
        done and (limit is None or (ended is not None and ended <= limit)),
        view.spent > budget,
        ended if done and ended is not None else float("inf"),
        view.spent / budget,
    )


def chances(report: Report, options: Options) -> None:
    """The told chance of keeping budget and deadline, by fifths."""
    each = options.bags or (20 if options.quick else 200)
    worlds = [(60.0, False), (600.0, True), (10.0, True), (10.0, False)]
    jobs = [
        ("prob", family, *worlds[number % 4], number, True)
        for family in FAMILIES
        for number in range(2 * each)
    ]
    found = run_all(run_one, jobs, options, "prob-engine chances")
    over = sum(one.over for one in found)
    report.bar("runs that spent more than they may", 0, over, over == 0)
    told = [(one.chance, one.in_time) for one in found if one.chance is not None]
    report.figure("runs, and those that were told a chance", None, f"{len(found)}, {len(told)}")
    worst = 0.0
    for fifth in range(5):
        mine = [one for one in told if min(4, int(5 * one[0])) == fifth]
        if mine:
            said, came = fmean(one for one, _ in mine), fmean(kept for _, kept in mine)
            report.figure(
                f"told {20 * fifth}-{20 * fifth + 20} %: {len(mine)} runs, told {said:.2f}, came",
                round(said, 2), came,
            )  # fmt: skip
            if len(mine) >= ENOUGH:
                worst = max(worst, abs(said - came))
    if not options.quick:
        report.bar(
            f"told chance to outcome, points, the worst fifth of {ENOUGH} runs or more",
            "<= 7", 100 * worst, worst <= 0.07,
        )  # fmt: skip


def planners(report: Report, options: Options) -> None:
    """The same budgets by each planner: whose makespans are shortest?"""
    each = 4 if options.quick else 20
    cells = [(f, atu, n) for f in FAMILIES for atu in (10.0, 60.0, 600.0) for n in range(each)]
    jobs = [(planner, f, atu, False, n, False) for planner in PLANNERS for f, atu, n in cells]
    found = dict(zip(jobs, run_all(run_one, jobs, options, "prob-engine planners"), strict=True))
    over = sum(one.over for one in found.values())
    report.bar("runs of all planners that spent more than they may", 0, over, over == 0)
    usual = PLANNERS[0]
    for planner in PLANNERS:
        of_it = {cell: found[planner, cell[0], cell[1], False, cell[2], False] for cell in cells}
        done = sum(one.done for one in of_it.values())
        line = (
            f"{planner}: all done in {done} of {len(cells)}; makespan to {usual}'s, where both are"
        )
        ratios = [
            one.seconds / found[usual, cell[0], cell[1], False, cell[2], False].seconds
            for cell, one in of_it.items()
            if one.done and found[usual, cell[0], cell[1], False, cell[2], False].done
        ]
        report.figure(line, None, geometric_mean(ratios))
        for family in FAMILIES:
            ratios = [
                one.seconds / found[usual, family, cell[1], False, cell[2], False].seconds
                for cell, one in of_it.items()
                if cell[0] == family
                and one.done
                and found[usual, family, cell[1], False, cell[2], False].done
            ]
            if planner != usual and ratios:
                report.figure(f"{planner}, {family}", None, geometric_mean(ratios))


def run(report: Report, options: Options) -> None:
    planners(report, options)
    chances(report, options)


STUDIES = (Study("prob-engine", "workflows planned by distributions, run by the engine", run),)
