"""PROB's evaluation: workflows planned with distributions, with means, with the worst of a hundred.

The paper's world: four kinds of machines, one for each task, paid by the second. A task takes its
processor's time and what its data needs at bandwidths that vary, the more on the cheaper kinds. How
much they vary is published in pictures only. For Table 3 it is set so that the first level of Q9
takes 4.8 % longer than means say; for all else so that the tasks of CyberShake on the smallest kind
cost 14 % more, which is Average's error there. Nothing else is set by what was published. Q9's
levels are those of TPC-H at 500 GB: its tables in blocks of 256 MB, a reducer for each GB.
`--data vm-noise.json` takes the spreads of real machines as well: burstable ones for the two small
kinds, steady ones for the two large.

Then ours: machines that tasks share, paid by the hour, and what is told of plans against what came.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from figures import Report

from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.probability.combination import Evaluation
from bats.master.brain.probability.histogram import (
    Histogram,
    add,
    constant,
    from_samples,
    maximum_of,
    runtime,
)
from bats.master.brain.probability.rented_machines import Outcomes, World, shared
from bats.master.brain.probability.stages import Order
from bats.master.brain.probability.structure import Structure
from bats.master.brain.probability.workflow_planning import (
    AVERAGE,
    PROB,
    WORST_CASE,
    WorkflowPlan,
    WorkflowProblem,
    fastest,
)
from bats.master.simulate.workflows.scientific import SCIENTIFIC
from studies.study import Options, Study, chance

KINDS: Final = ("m1.small", "m1.medium", "m1.large", "m1.xlarge")
DOLLARS_AN_HOUR: Final = (0.044, 0.087, 0.175, 0.35)
ECU: Final = (1, 2, 4, 8)
DISK: Final = (40.0, 60.0, 90.0, 130.0)  # MB/s
NETWORK: Final = (25.0, 40.0, 70.0, 110.0)
VARIES: Final = (1.0, 0.8, 0.55, 0.45)  # the spread of a kind's bandwidths, to that of the first

BLOCK: Final = 256.0  # MB a map
REDUCED: Final = 1000.0  # MB a reducer
# MB that each job of Q9 reads at a scale of 500, in the order of its Hive script (HIVE-600): nation
# and supplier; what comes of each join, at first half of lineitem's columns, with lineitem,
# partsupp, part (of which 1 in 18 is green), orders; what is grouped, and ordered. Of Q1: lineitem,
# then what is ordered
Q9_READS: Final = (700.0, 380_000.0, 248_000.0, 202_000.0, 95_000.0, 10_000.0, 100.0)
Q1_READS: Final = (379_000.0, 100.0)
SHUFFLED: Final = 0.3  # of what maps read goes to the reducers

PUBLISHED_LEVELS: Final = (4.8, 7.4, 9.4, 10.5, 13.7, 15.9, 18.3, 21.5, *[27.6] * 6)
JUDGES: Final = {"Prob": PROB, "Average": AVERAGE, "Worst-case": WORST_CASE}
SAVED: Final = {  # of Worst-case's time
    ("Montage", "tight"): 51, ("Montage", "loose"): 24, ("CyberShake", "loose"): 37,
    ("Q1", "tight"): 36, ("Q1", "loose"): 19, ("Q9", "loose"): 26,
}  # fmt: skip
ERROR: Final = {"Montage": 2, "CyberShake": 14, "Q1": 12, "Q9": 20}  # of Average's cost, tight, %
PLANNED: Final = {"Montage": 2.5, "CyberShake": 1.7, "Q1": 6.1, "Q9": 7.0}  # seconds, on 6 cores


@dataclass(frozen=True, slots=True)
class Profile:
    """A task: seconds on one ECU, and MB from disk and network."""

    processor: float
    disk: float
    network: float


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    order: Order
    profiles: Sequence[Profile]  # of each step


@dataclass(frozen=True, slots=True)
class Spreads:
    """The bandwidths of each kind, as histograms of MB/s."""

    disk: Sequence[Histogram]
    network: Sequence[Histogram]


# --- the workflows --------------------------------------------------------------------------------


def scientific(name: str, size: int, seed: int) -> Job:
    """Montage reads and writes a lot, CyberShake moves much over the network (section 6.1)."""
    made = SCIENTIFIC[name.lower()](size, chance(seed))
    near, starts = neighbours(made.graph), made.graph.starts()
    disk, network = (18.0, 2.0) if name == "Montage" else (10.0, 12.0)  # MB for each second
    profiles = []
    for step in range(len(made.graph.steps)):
        seconds = float(np.mean(made.seconds[starts[step] : starts[step + 1]]))
        profiles.append(Profile(seconds / 2, disk * seconds, network * seconds))
    step_of = [made.graph.step_of(task) for task in range(made.graph.tasks)]
    return Job(name, Order(step_of, near.parents), profiles)


def chained(name: str, reads: Sequence[float]) -> Job:
    """Jobs of maps and reduces; each level waits for the whole one before."""
    widths, profiles = [], []
    for read in reads:
        maps, reducers = math.ceil(read / BLOCK), math.ceil(SHUFFLED * read / REDUCED)
        each = read / maps
        profiles.append(Profile(each / 60, each, 0.1 * each))
        each = SHUFFLED * read / reducers
        profiles.append(Profile(each / 80, 0.5 * each, each))
        widths += [maps, reducers]
    step_of = [level for level, width in enumerate(widths) for _ in range(width)]
    parents: list[Sequence[int]] = []
    before: Sequence[int] = ()
    for width in widths:
        level = range(len(parents), len(parents) + width)
        parents += [before] * width
        before = list(level)
    return Job(name, Order(step_of, parents), profiles)


def jobs(options: Options) -> list[Job]:
    return [
        scientific("Montage", 1000 if options.quick else 10_567, options.seed),
        scientific("CyberShake", 1000, options.seed),
        chained("Q1", Q1_READS),
        chained("Q9", Q9_READS),
    ]


# --- how machines vary ----------------------------------------------------------------------------


def spreads(varies: float, seed: int) -> Spreads:
    """Bandwidths whose logarithms are normal; the network's vary half as much again."""
    rng = chance(seed, 7)

    def of(mean: float, spread: float) -> Histogram:
        return from_samples(mean * rng.lognormal(-spread * spread / 2, spread, 20_000))

    return Spreads(
        [of(mean, varies * by) for mean, by in zip(DISK, VARIES, strict=True)],
        [of(mean, 1.5 * varies * by) for mean, by in zip(NETWORK, VARIES, strict=True)],
    )


def calibrated(measured: Callable[[Spreads], float], wanted: float, seed: int) -> float:
    """The spread with which that is measured."""
    low, high = 0.01, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        if measured(spreads(middle, seed)) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def cost_short(job: Job, vary: Spreads) -> float:
    """How much less than they cost means tell of all tasks on the smallest kind."""
    return 1 - work_on(job, by_mean_bandwidth(job, vary), 0) / work_on(job, runtimes(job, vary), 0)


def real(path: Path) -> Spreads:
    """The shapes of two kinds of real machines, burstable and steady, at our kinds' means."""
    known = json.loads(path.read_text())

    def shape(test: str, machine: str, mean: float) -> Histogram:
        (points,) = (
            one["points"]
            for name, one in known.items()
            if name.startswith(test) and f"{machine} eastus long-lived" in name
        )
        found = from_samples(points)
        return found.scaled(mean / found.mean)

    machines = ("B8ms", "B8ms", "D8s_v5", "D8s_v5")
    tests = "seq read 64 KB remote disk", "seq write 64 KB remote disk"
    disk, network = (
        [shape(test, *one) for one in zip(machines, means, strict=True)]
        for test, means in zip(tests, (DISK, NETWORK), strict=True)
    )
    return Spreads(disk, network)


def runtimes(job: Job, vary: Spreads) -> list[list[Histogram]]:
    """Of each step on each kind."""
    return [
        [
            runtime(constant(one.processor / ecu), (one.disk, disk), (one.network, network))
            for ecu, disk, network in zip(ECU, vary.disk, vary.network, strict=True)
        ]
        for one in job.profiles
    ]


def by_mean_bandwidth(job: Job, vary: Spreads) -> list[list[Histogram]]:
    """What a planner believes that knows bandwidths by their means (3.1)."""
    return seen(job, vary, lambda bandwidth: bandwidth.mean)


def by_the_worst(job: Job, vary: Spreads) -> list[list[Histogram]]:
    """Likewise by what 99 of 100 exceed."""
    return seen(job, vary, lambda bandwidth: bandwidth.quantile(0.01))


def seen(job: Job, vary: Spreads, how: Callable[[Histogram], float]) -> list[list[Histogram]]:
    return [
        [
            constant(one.processor / ecu + one.disk / how(disk) + one.network / how(network))
            for ecu, disk, network in zip(ECU, vary.disk, vary.network, strict=True)
        ]
        for one in job.profiles
    ]


SEEN: Final = {"Prob": runtimes, "Average": by_mean_bandwidth, "Worst-case": by_the_worst}


# --- Table 3 --------------------------------------------------------------------------------------


def levels_short(job: Job, vary: Spreads, kind: int = 1) -> list[float]:
    """How much less than it takes to the end of each level means tell, all on one kind."""
    true, told = runtimes(job, vary), by_mean_bandwidth(job, vary)
    widths = np.bincount(job.order.step)
    upto, by_means, found = constant(0.0), 0.0, []
    for level, width in enumerate(widths.tolist()):
        upto = add(upto, maximum_of(true[level][kind], width))
        by_means += told[level][kind].mean
        found.append(1 - by_means / upto.mean)
    return found


def against_draws(report: Report, job: Job, vary: Spreads, draws: int, kind: int = 1) -> None:
    """The mean to the end of a chain of levels, by histograms and by that many runs of it."""
    of_levels = [of_kinds[kind] for of_kinds in runtimes(job, vary)]
    widths = np.bincount(job.order.step).tolist()
    upto, drawn, rng = constant(0.0), np.zeros(draws), chance(17)
    for seconds, width in zip(of_levels, widths, strict=True):
        upto = add(upto, maximum_of(seconds, width))
        # the longest of so many is drawn by its own chance: F^n at a uniform number
        drawn += seconds.at(rng.random(draws) ** (1 / width))
    off = abs(100 * (upto.mean / float(drawn.mean()) - 1))
    report.bar(f"{job.name}: mean of 14 levels to {draws:,} draws", "<= 1 %", off, off <= 1)


def why_table3(report: Report, job: Job, vary: Spreads, kind: int = 1) -> None:
    """What each level would have to be for the published errors, beside what it is.

    Levels take about as long as each other by means. An error e to the end of the k-th then says
    that k levels take k/(1-e) of them; the difference is what the k-th takes.
    """
    true, told = runtimes(job, vary), by_mean_bandwidth(job, vary)
    ends = [0.0] + [k / (1 - e / 100) for k, e in enumerate(PUBLISHED_LEVELS, 1)]
    for level, width in enumerate(np.bincount(job.order.step).tolist()):
        ours = maximum_of(true[level][kind], width).mean / told[level][kind].mean
        report.figure(
            f"level {level}, {width} tasks: the longest to the mean, as published needs, and is",
            round(ends[level + 1] - ends[level], 2), ours,
        )  # fmt: skip


# --- paths that share tasks -----------------------------------------------------------------------


def shared_paths(report: Report, options: Options, vary: Spreads) -> None:
    """The reduction against a simulation of the graph, and the bounds of the true mean."""
    for name in SCIENTIFIC:
        big = name == "montage" and not options.quick
        made = SCIENTIFIC[name](10_567 if big else 1000, chance(options.seed))
        starts = made.graph.starts()
        each = [float(np.mean(made.seconds[a:b])) for a, b in pairwise(starts)]
        times = dict(
            enumerate(runtime(constant(one / 2), (18 * one, vary.disk[0])) for one in each)
        )
        structure = Structure.of(neighbours(made.graph).parents)
        reduced = structure.makespan(Evaluation(times), made.graph.step_of).mean
        drawn = float(structure.draws(times, made.graph.step_of, 2000, chance(5)).mean())
        found = structure.measured(times, made.graph.step_of, chance(6))
        low, high = found.between
        report.figure(
            f"{name}, {len(structure.parents)} tasks: reduction longer than a simulation, %", None,
            f"{100 * (reduced / drawn - 1):.2f}; mean between {low:.0f} and {high:.0f} s; "
            f"{'simulated' if found.simulated else 'by the reduction'}",
        )  # fmt: skip
        told = abs(100 * (found.distribution.mean / drawn - 1))
        report.bar(f"{name}: what is told, to other draws", "<= 2 %", told, told <= 2)


# --- figures 6 and 7, Table 2 ---------------------------------------------------------------------


def rented_by(atu_seconds: float, most: int) -> tuple[Cluster, ...]:
    return tuple(
        Cluster(
            Offering(name, Money(round(1e9 * dollars * atu_seconds / 3600)), atu_seconds, most),
            1.0,
            most,
        )
        for name, dollars in zip(KINDS, DOLLARS_AN_HOUR, strict=True)
    )


def work_on(job: Job, times: Sequence[Sequence[Histogram]], kind: int) -> float:
    widths = np.bincount(job.order.step)
    seconds = sum(width * of[kind].mean for width, of in zip(widths.tolist(), times, strict=True))
    return float(seconds) * DOLLARS_AN_HOUR[kind] / 3600 * 1e9


def problem_of(job: Job, vary: Spreads, budget: str) -> WorkflowProblem:
    """One machine for each task, as published; Bmin and Bmax are the expected costs (6.1)."""
    times = runtimes(job, vary)
    low, high = work_on(job, times, 0), work_on(job, times, len(KINDS) - 1)
    money = (3 * low + high) / 4 if budget == "tight" else (low + 3 * high) / 4
    return WorkflowProblem(
        job.order, rented_by(1.0, len(job.order)), times, Money(round(money)), chance=0.99
    )


@dataclass(frozen=True, slots=True)
class Seen:
    plan: WorkflowPlan
    outcomes: Outcomes
    planning: float  # seconds of processor

    def kept(self, budget: Money) -> float:
        return self.outcomes.chance_of_cost(float(budget))


def planned(
    judge: str, job: Job, vary: Spreads, problem: WorkflowProblem, options: Options
) -> Seen | None:
    began = time.process_time()
    plan = fastest(replace(problem, runtimes=SEEN[judge](job, vary)), JUDGES[judge])
    took = time.process_time() - began
    if plan is None:
        return None
    return Seen(plan, runs_of(problem, plan, options), took)


def runs_of(problem: WorkflowProblem, plan: WorkflowPlan, options: Options) -> Outcomes:
    """A hundred runs, with other numbers than any plan was made with."""
    world = World(
        problem.order, plan.stages, problem.clusters, problem.runtimes, runs=100,
        seed=10_000 + options.seed,
    )  # fmt: skip
    return world.outcomes(lambda stage, place: plan.on[stage][place])


def compare(report: Report, options: Options, vary: Spreads, world: str) -> None:
    kept: dict[str, list[float]] = {"Prob": [], "Average": []}
    saved: list[float] = []
    for job in jobs(options):
        for budget in ("tight", "loose"):
            problem = problem_of(job, vary, budget)
            found = {judge: planned(judge, job, vary, problem, options) for judge in JUDGES}
            prob, average, worst = found.values()
            what = f"{world}, {job.name}, {budget}"
            if prob is None or average is None:
                report.figure(f"{what}: Prob's plan", None, "none")
                continue
            seconds = float(prob.outcomes.seconds.mean())
            for judge in ("Prob", "Average"):
                one = found[judge]
                assert one is not None
                kept[judge].append(one.kept(problem.budget))
                report.figure(
                    f"{what}: {judge}'s makespan, cost of budget, runs within it", None,
                    f"{float(one.outcomes.seconds.mean()):.0f} s, "
                    f"{float(one.outcomes.cost.mean()) / problem.budget:.3f}, "
                    f"{one.kept(problem.budget):.2f}",
                )  # fmt: skip
            if worst is None:
                report.figure(f"{what}: Prob saves of Worst-case's time", "no plan", "no plan")
            else:
                less = 1 - seconds / float(worst.outcomes.seconds.mean())
                report.figure(
                    f"{what}: Prob saves of Worst-case's time", SAVED.get((job.name, budget)),
                    100 * less, "%",
                )  # fmt: skip
                if budget == "loose":
                    saved.append(less)
            if budget == "tight":
                short = 1 - average.plan.cost.mean / float(average.outcomes.cost.mean())
                report.figure(
                    f"{what}: Average's error of the cost", ERROR[job.name], 100 * short, "%"
                )
                report.figure(f"{what}: planning, processor", PLANNED[job.name], prob.planning, "s")
                limit = {"Montage": 2.5, "CyberShake": 1.7}.get(job.name)
                if limit:
                    report.bar(
                        f"{what}: planning takes",
                        f"<= {limit} s",
                        prob.planning,
                        prob.planning <= limit,
                    )
            if job.name == "CyberShake" and budget == "loose":
                table2(report, world, problem, found)
    report.bar(
        f"{world}: Prob keeps the budget, least of all cells",
        ">= 0.98",
        min(kept["Prob"]),
        min(kept["Prob"]) >= 0.98,
    )
    report.figure(
        f"{world}: Average keeps it in so many of 100 runs",
        "<= 85",
        str([round(100 * one) for one in kept["Average"]]),
    )
    if saved:
        mean = sum(saved) / len(saved)
        report.bar(
            f"{world}: Prob saves of Worst-case's time, loose, mean of those with a plan",
            ">= 0.19",
            mean,
            mean >= 0.19,
        )


def by_spread(report: Report, options: Options) -> None:
    """What Prob saves of Worst-case's time where budgets are loose, by how much machines vary."""
    small = replace(options, quick=True)
    for varies in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        vary, saved = spreads(varies, options.seed), []
        for job in jobs(small):
            problem = problem_of(job, vary, "loose")
            prob, worst = (
                planned(one, job, vary, problem, small) for one in ("Prob", "Worst-case")
            )
            if prob is not None and worst is not None:
                took = float(prob.outcomes.seconds.mean() / worst.outcomes.seconds.mean())
                saved.append(100 * (1 - took))
        report.figure(
            f"spread {varies}: Prob saves of Worst-case's time, loose, mean and each", 26.5,
            f"{np.mean(saved):.1f} % {[round(one) for one in saved]}" if saved else "no plans",
        )  # fmt: skip


def table2(
    report: Report, world: str, problem: WorkflowProblem, found: dict[str, Seen | None]
) -> None:
    """Hours of each kind for one CyberShake."""
    for judge, one in found.items():
        if one is None:
            continue
        hours = [0.0] * len(KINDS)
        for stage, chosen in zip(one.plan.stages, one.plan.on, strict=True):
            for group, on in zip(stage, chosen, strict=True):
                parts = shared(len(group), on, problem.clusters, problem.runtimes[group.step])
                for part in parts.tolist():
                    kind = on[part].kind
                    hours[kind] += problem.runtimes[group.step][kind].mean / 3600
        told = ", ".join(f"{h:.1f} h {k}" for h, k in zip(hours, KINDS, strict=True) if h)
        report.figure(f"{world}, Table 2: hours of {judge}", None, told)


# --- against Monte Carlo --------------------------------------------------------------------------

WITHIN: Final = 0.01  # of every decile, at three standard errors: as near as the histograms
FEWEST: Final = 299  # of which one in a hundred is seen with 95 %: what a plan needs at least


def draws_for_deciles(seconds: Histogram) -> int:
    """M, so that each decile of a runtime is drawn as near as its histogram has it.

    The standard error of a quantile is √(p(1-p)/M) over the density there.
    """
    most = 0.0
    for tenth in range(1, 10):
        p = tenth / 10
        value = seconds.quantile(p)
        slope = (seconds.quantile(p + 0.02) - seconds.quantile(p - 0.02)) / 0.04
        most = max(most, p * (1 - p) * (3 * slope / (WITHIN * value)) ** 2)
    return math.ceil(most)


def against_monte_carlo(report: Report, options: Options, vary: Spreads) -> None:
    """Every plan that Prob compares, evaluated with M draws of each task instead.

    One evaluation is timed and taken as many times as plans are compared.
    """
    speeds: dict[str, list[float]] = {"at least": [], "deciles": []}
    ratios = []
    for job in jobs(options):
        problem = problem_of(job, vary, "loose")
        one = planned("Prob", job, vary, problem, options)
        if one is None:
            continue
        at_a_time = max(1, min(FEWEST, 4_000_000 // len(job.order)))
        world = World(
            problem.order, one.plan.stages, problem.clusters, problem.runtimes, runs=at_a_time,
            seed=77,
        )  # fmt: skip
        began = time.process_time()
        world.outcomes(lambda stage, place, on=one.plan.on: on[stage][place])  # type: ignore[misc]
        each = (time.process_time() - began) / at_a_time
        M = max(draws_for_deciles(of_kinds[0]) for of_kinds in problem.runtimes)
        report.figure(
            f"{job.name}: M for deciles, plans compared, a draw of one, Prob for all", None,
            f"{M}, {one.plan.compared}, {1000 * each:.2f} ms, {one.planning:.2f} s",
        )  # fmt: skip
        for what, draws in (("at least", FEWEST), ("deciles", M)):
            speeds[what].append(each * draws * one.plan.compared / one.planning)
        best = fastest(problem, replace(PROB, runs=200 if options.quick else 1000), looks=24)
        if best is not None:
            theirs = runs_of(problem, best, options)
            ratios.append(float(one.outcomes.seconds.mean() / theirs.seconds.mean()))
    ratio, speed = float(np.mean(ratios)), float(np.mean(speeds["deciles"]))
    report.bar("Prob's makespan to Monte Carlo's plan, mean", "<= 1.05", ratio, ratio <= 1.05)
    report.bar("Prob's speed to Monte Carlo's of M draws", ">= 450", speed, speed >= 450)
    least = float(np.mean(speeds["at least"]))
    report.figure(f"Prob's speed to Monte Carlo's of {FEWEST} draws", None, least)


# --- what is told, and what comes -----------------------------------------------------------------


def chances(report: Report, options: Options, vary: Spreads) -> None:
    """Deadlines and budgets at random, the told chance of keeping both, and 2,000 runs."""
    runs, each = (400, 10) if options.quick else (2000, 10)
    rng = chance(options.seed, 3)
    told, kept = [], []
    for number in range(runs // each):
        name = ("Montage", "CyberShake")[number % 2]
        job = scientific(name, int(rng.integers(30, 200)), 100 + number)
        problem = replace(
            problem_of(job, vary, "loose"), clusters=rented_by(60.0, 30), chance=0.9, seed=number
        )
        problem = replace(problem, budget=Money(2 * problem.budget))
        plan = fastest(problem)
        if plan is None:
            continue
        limit = plan.seconds.quantile(float(rng.uniform(0.02, 0.98)))
        told += [plan.seconds.chance_within(limit)] * each
        world = World(
            job.order,
            plan.stages,
            problem.clusters,
            problem.runtimes,
            runs=each,
            seed=5000 + number,
        )
        outcomes = world.outcomes(lambda stage, place, on=plan.on: on[stage][place])  # type: ignore[misc]
        kept += (outcomes.seconds <= limit).tolist()
    place = np.minimum((np.asarray(told) * 5).astype(int), 4)
    worst = 0.0
    for fifth in range(5):
        mine = place == fifth
        if mine.sum() >= (40 if options.quick else 200):
            off = float(np.asarray(kept)[mine].mean() - np.asarray(told)[mine].mean())
            worst = max(worst, abs(off))
            report.figure(
                f"told chance in fifth {fifth + 1}: came less told",
                None,
                100 * off,
                f"points, {mine.sum()} runs",
            )
    if not options.quick:
        report.bar(
            "told chance against outcome, worst fifth of 200 runs or more",
            "<= 7 points",
            100 * worst,
            worst <= 0.07,
        )


def by_the_hour(report: Report, options: Options, vary: Spreads) -> None:
    """Twenty machines of each kind, paid by the hour and shared by tasks: budgets as plans go."""
    job = scientific("Montage", 200 if options.quick else 1000, options.seed)
    for cents in (100, 300, 900):
        problem = replace(
            problem_of(job, vary, "loose"),
            clusters=rented_by(3600.0, 20),
            budget=Money(cents * 10_000_000),
        )
        for judge in JUDGES:
            one = planned(judge, job, vary, problem, options)
            report.figure(
                f"shared by the hour, {len(job.order)} tasks for ${cents / 100:.2f}: {judge}",
                None,
                "no plan"
                if one is None
                else f"{float(one.outcomes.seconds.mean()):.0f} s, in budget "
                f"{one.kept(problem.budget):.2f}",
            )


# --- the study ------------------------------------------------------------------------------------


def run(report: Report, options: Options) -> None:
    q9, cyber = chained("Q9", Q9_READS), scientific("CyberShake", 1000, options.seed)
    of_table = calibrated(
        lambda vary: levels_short(q9, vary)[0], PUBLISHED_LEVELS[0] / 100, options.seed
    )
    of_cost = calibrated(
        lambda vary: cost_short(cyber, vary), ERROR["CyberShake"] / 100, options.seed
    )
    report.figure("spread of the smallest kind's disk: for Table 3", None, of_table)
    report.figure("spread of the smallest kind's disk: for all else", None, of_cost)
    vary = spreads(of_cost, options.seed)
    short = levels_short(q9, spreads(of_table, options.seed))
    for level, (published, ours) in enumerate(zip(PUBLISHED_LEVELS, short, strict=True)):
        report.figure(
            f"Table 3: error of means to the end of level {level}", published, 100 * ours, "%"
        )
    off = max(abs(100 * ours - told) for ours, told in zip(short, PUBLISHED_LEVELS, strict=True))
    report.bar("Table 3: the most that a level is off", "<= 5 points", off, off <= 5)
    grows = all(after >= before - 1e-6 for before, after in pairwise(short))
    report.bar("Table 3: the error grows from level to level", "yes", str(grows), grows)
    why_table3(report, q9, spreads(of_table, options.seed))
    against_draws(report, q9, spreads(of_table, options.seed), 200_000)
    shared_paths(report, options, vary)
    by_spread(report, options)
    compare(report, options, vary, "calibrated")
    compare(report, options, spreads(of_table, options.seed), "spread of Table 3")
    against_monte_carlo(report, options, vary)
    by_the_hour(report, options, vary)
    chances(report, options, vary)
    if options.data is not None:
        compare(report, options, real(options.data), "real")


STUDIES = (
    Study("prob", "workflows planned with distributions, means and the worst (Tables 2, 3)", run),
)
