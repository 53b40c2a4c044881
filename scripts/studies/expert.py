"""ExPERT: strategies for a pool that may never answer beside a reliable one.

The published setting: 150 tasks, 50 unreliable machines, Experiment 11. F_s stands only in a figure
of the paper; 1,000 s + Gamma(2, 665 s) and T_r = 2,330 s make AR come out as printed.
"""

import time
from collections.abc import Sequence

import numpy as np
from figures import Report
from scipy.stats import gamma

from bats.master.brain.unreliable.estimator import Estimate, estimate
from bats.master.brain.unreliable.pools import Pool, World
from bats.master.brain.unreliable.preference import chosen
from bats.master.brain.unreliable.strategy import (
    AR,
    AUR,
    BUDGET,
    CN1T0,
    CN_INF,
    STATIC,
    Strategy,
    static,
)
from bats.master.brain.unreliable.tradeoff import efficient, grid, knee

from .plot import Points, bars, points
from .study import Options, Study

TASKS, MACHINES, T_UR = 150, 50, 2066.0
M_R_MOST = 0.1
BUDGET_CENTS = 750.0
RECOMMENDED = Strategy(3, T_UR, 2 * T_UR, 0.02)
RATIOS = (0.02, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5)

_EVENLY = (np.arange(2000) + 0.5) / 2000
F_S = tuple((1000 + gamma.ppf(_EVENLY, 2, scale=665)).tolist())
WORLD = World(
    TASKS,
    MACHINES,
    Pool(F_S, 1.0, 3600.0, reliability=0.827),  # cents
    Pool((2330.0,), 34.0, 3600.0),
    mean_seconds=T_UR,
)


def study(report: Report, options: Options) -> None:
    repetitions = 60 if options.quick else 240
    names = [f"{BUDGET}=7.5" if name == BUDGET else name for name in STATIC]
    rules = [static(name, WORLD, M_R_MOST, BUDGET_CENTS) for name in STATIC]
    recommended, *others = estimate(WORLD, [RECOMMENDED, *rules], repetitions, options.seed)
    statics = dict(zip(names, others, strict=True))

    began = time.process_time()
    sampled = estimate(WORLD, grid(WORLD, 0.5), 10, options.seed)
    seconds = time.process_time() - began
    least = efficient(estimate(WORLD, grid(WORLD, M_R_MOST), repetitions, options.seed))
    frontier = efficient(
        estimate(WORLD, [e.strategy for e in least], repetitions, options.seed + 1)
    )

    _figures(report, recommended, statics, frontier)
    _bars(report, recommended, statics, frontier)
    report.bar(
        f"CPU seconds for {len(sampled)} strategies, 10 repetitions each", 3.0, seconds,
        seconds <= 3.0,
    )  # fmt: skip
    _plots(options, recommended, statics, frontier, sampled)
    _by_ratio(report, options, sampled)
    _reliable_use(options, sampled)


def per_task(one: Estimate) -> float:
    return one.cost / TASKS


def _figures(
    report: Report, ours: Estimate, statics: dict[str, Estimate], frontier: Sequence[Estimate]
) -> None:
    report.figure("recommended: makespan", 15640, ours.seconds, "s")
    report.figure("recommended: cost", 0.78, per_task(ours), "c/task")
    report.figure("AR: makespan", 70000, statics[AR].seconds, "s")
    for name, one in statics.items():
        if name != AR:
            report.figure(f"{name}: makespan", None, one.seconds, "s")
        report.figure(f"{name}: cost", 22 if name == AR else None, per_task(one), "c/task")
    best = knee(frontier)
    report.figure("least product: strategy", "N=3 T=T_ur D=2T_ur M_r=.02", str(best.strategy))
    report.figure("least product: makespan", None, best.seconds, "s")
    report.figure("least product: cost", None, per_task(best), "c/task")
    second = min(product(one) for one in statics.values())
    report.figure(
        "product against the best static one", -25, 100 * (product(ours) / second - 1), "%"
    )


def product(one: Estimate) -> float:
    return one.seconds * per_task(one)


def _bars(
    report: Report, ours: Estimate, statics: dict[str, Estimate], frontier: Sequence[Estimate]
) -> None:
    usual = statics[CN_INF]
    cost = 100 * (ours.cost / usual.cost - 1)
    seconds = 100 * (ours.seconds / usual.seconds - 1)
    report.bar(
        "recommended against CN∞: cost, % (published -72)", "-73 ± 7", cost, abs(cost + 73) <= 7
    )
    report.bar(
        "recommended against CN∞: makespan, % (published -33)", "-37 ± 10", seconds,
        abs(seconds + 37) <= 10,
    )  # fmt: skip
    all_reliable = per_task(statics[AR])
    report.bar("AR, c/task", "22 ± 1", all_reliable, abs(all_reliable - 22) <= 1)
    for name, one in statics.items():
        if name in (AUR, CN1T0):
            continue
        better = sum(e.seconds < one.seconds and e.cost < one.cost for e in frontier)
        report.bar(
            f"points of the frontier that are better in both than {name}", 1, better, better > 0
        )
    both = statics[CN1T0]
    tie = [e.cost / both.cost for e in frontier if e.seconds <= 1.05 * both.seconds]
    share = min(tie, default=float("inf"))
    report.bar(
        "cost of a point as fast as CN1T0 (± 5 %), share of its cost", 1 / 3, share, share <= 1 / 3
    )
    gain = 100 * (1 - product(knee(frontier)) / min(product(one) for one in statics.values()))
    report.bar("least product, % below the best static one's", 25, gain, gain >= 25)


def _plots(
    options: Options,
    ours: Estimate,
    statics: dict[str, Estimate],
    frontier: Sequence[Estimate],
    sampled: Sequence[Estimate],
) -> None:
    cheap = [e for e in sampled if e.strategy.M_r <= M_R_MOST]
    found = Points("frontier", at(frontier), words(frontier), joined=True, radius=4)
    by_N = [
        Points(f"N={N}", at(some), words(some), radius=2)
        for N in range(4)
        if (some := [e for e in cheap if e.strategy.N == N])
    ]
    points(
        options.out / "expert-7.svg", "Sampled strategies and the frontier (figure 7)",
        [found, *by_N], x="tail makespan, s", y="cents per task", highest=6.0,
    )  # fmt: skip
    marked = [
        ("least product", chosen(frontier, "product")),
        ("fastest", chosen(frontier, "fastest")),
        ("cheapest", chosen(frontier, "cheapest")),
        ("within 1 c/task", chosen(frontier, "fastest", budget=TASKS)),
        ("within 16,000 s", chosen(frontier, "cheapest", deadline_seconds=16000)),
    ]
    points(
        options.out / "expert-8.svg", "The frontier and what is best for whom (figure 8)",
        [found, *(Points(name, at([e]), words([e]), radius=6) for name, e in marked if e)],
        x="tail makespan, s", y="cents per task",
    )  # fmt: skip
    shown = [Points(n, [(e.seconds, per_task(e))], radius=5) for n, e in statics.items() if n != AR]
    whole = [(e.seconds, per_task(e)) for e in frontier]
    points(
        options.out / "expert-9a.svg", "The frontier and static strategies (figure 9a)",
        [Points("frontier", whole, words(frontier), joined=True), *shown],
        x="makespan, s", y="cents per task",
    )  # fmt: skip
    names = ["recommended", *statics]
    bars(
        options.out / "expert-9b.svg", "Makespan × cost (figure 9b)", names,
        {"s · c/task": [product(e) for e in (ours, *statics.values())]}, top=200_000,
    )  # fmt: skip


def at(estimates: Sequence[Estimate]) -> list[tuple[float, float]]:
    """The paper's axes: tail makespan, cost per task."""
    return [(e.tail_seconds, per_task(e)) for e in estimates]


def words(estimates: Sequence[Estimate]) -> list[str]:
    return [f"{e.strategy}: {e.seconds:,.0f} s, {per_task(e):.2f} c/task" for e in estimates]


def _by_ratio(report: Report, options: Options, sampled: Sequence[Estimate]) -> None:
    """Frontiers with M_r fixed (figure 10): few reliable machines are slower, and cheaper."""
    fronts = {M_r: efficient([e for e in sampled if e.strategy.M_r == M_r]) for M_r in RATIOS}
    points(
        options.out / "expert-10.svg", "Frontiers by M_r (figure 10)",
        [Points(f"M_r={M_r}", at(f), words(f), joined=True) for M_r, f in fronts.items()],
        x="tail makespan, s", y="cents per task", highest=6.0,
    )  # fmt: skip
    few = fronts[0.02][0].tail_seconds
    many = min(fronts[M_r][0].tail_seconds for M_r in (0.3, 0.4, 0.5))
    report.figure("fastest tail with M_r = .02, above M_r ≥ .3", 25, 100 * (few / many - 1), "%")


def _reliable_use(options: Options, sampled: Sequence[Estimate]) -> None:
    """M_r, reliable machines used, and the longest queue for them (figure 11)."""
    frontier = efficient(sampled)
    points(
        options.out / "expert-11.svg", "Reliable machines of efficient strategies (figure 11)",
        [
            Points(name, [(e.tail_seconds, count / MACHINES) for e, count in counts], joined=True)
            for name, counts in (
                ("M_r", [(e, e.strategy.M_r * MACHINES) for e in frontier]),
                ("used", [(e, e.reliable_used) for e in frontier]),
                ("queue", [(e, e.reliable_queue) for e in frontier]),
            )
        ],
        x="tail makespan, s", y="of 50 machines",
    )  # fmt: skip


STUDIES = (Study("expert", "unreliable and reliable machines: strategies, frontier", study),)
