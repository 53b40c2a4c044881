"""Do promises come true? What is told of schedules before they are chosen, and what comes of them.

Two kinds of machines; a bag is sampled, a schedule is chosen by its name, and its budget is all the
money there is. The chance that this suffices is held against how many bags were finished, the time
and its 90 % bound against how long those took.
"""

from dataclasses import dataclass
from statistics import fmean, median

from figures import Report

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.simulate.workloads import WORKLOADS

from .study import Options, Study, chance, run_all

SPEEDS = (1.0, 2.0)
OFFERINGS = (
    Offering(ClusterName("slow"), money(1), 3600, 10, boundary_seconds=300.0),
    Offering(ClusterName("fast"), money(3), 3600, 10, boundary_seconds=300.0),
)
TASKS = 300
START_SECONDS = 240.0
PAPERS = ("normal", "levy", "multi-modal")
KINDS = (*PAPERS, *(kind for kind in WORKLOADS if kind not in PAPERS))
APART = 0.15
NAMES = ("cheapest", "cheapest+10%", "cheapest+20%", "fastest-20%", "fastest-10%", "fastest")

Job = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Kept:
    told: float  # the chance that the budget suffices
    finished: bool
    off: float  # by how much longer it took than promised, as a share
    held: bool  # the 90 % bound on its time


def one(job: Job) -> Kept:
    from experiments.promises import simulated
    from experiments.twin import Starts

    kind, name, seed = job
    runtimes = WORKLOADS[kind].draw(TASKS, chance(10, KINDS.index(kind), seed))
    kept = simulated(
        Settings(TASKS, OFFERINGS, rule=ASK, seed=seed),
        lambda task, cluster: float(runtimes[task]) / SPEEDS[cluster],
        Starts((START_SECONDS,), 0.0, 0.0),
        lambda _: name,
    )
    bounds = kept.schedule["bounds"]
    return Kept(bounds["chance_in_budget"], kept.complete, kept.deviation, kept.bound_held)


def chances(report: Report, options: Options) -> None:
    kinds, names = (PAPERS, NAMES[1::2]) if options.quick else (KINDS, NAMES)
    seeds = options.seeds(20, 4)
    jobs = [(kind, name, seed) for kind in kinds for name in names for seed in seeds]
    found = dict(zip(jobs, run_all(one, jobs, options, "chances"), strict=True))
    apart = {}
    for kind in kinds:
        for name in names:
            _row(report, f"{kind} {name}", [found[kind, name, seed] for seed in seeds])
        mine = [kept for (of, _, _), kept in found.items() if of == kind]
        _row(report, kind, mine)
        apart[kind] = abs(fmean(kept.told for kept in mine) - _share(mine))
    worst = max(apart[kind] for kind in PAPERS)
    report.bar("chance told to share finished, apart at most, the paper's bags", APART, worst,
               worst <= APART)  # fmt: skip


def _row(report: Report, what: str, mine: list[Kept]) -> None:
    done = [kept for kept in mine if kept.finished]
    off = f", off by {100 * median(kept.off for kept in done):+.0f} %" if done else ""
    held = f", bound held in {sum(kept.held for kept in done)}" if done else ""
    report.figure(
        f"{what}: told {fmean(kept.told for kept in mine):.0%}{off}{held}",
        None,
        _share(mine),
        f"of {len(mine)} finished",
    )


def _share(mine: list[Kept]) -> float:
    return fmean(kept.finished for kept in mine)


STUDIES = (Study("chances", "do the chances and times told of schedules come true?", chances),)
