"""Pools of workflows: what must hold exactly, whatever the seeds (thesis §2.3, §3.2, §3.4.3)."""

import itertools
from collections.abc import Sequence

from figures import Report

from bats.master.simulate.workflows.generated import Growing
from bats.master.simulate.workflows.pool_run import Account, Arriving, poisson, run_pool
from bats.master.simulate.workflows.stability import stable
from studies.pools import SAME_SPEED, TWO_SPEEDS, Case, coming
from studies.study import Options, Study, chance, run_all

SAME = (("slop:1", "sr"), ("slop:0", "bf"), ("fes:0", "bf"), ("fes:99", "sr"))
"""Policies that are one and the same."""

EVERY = ("bf", "cpp", "fdws", "fes:1", "fwp", "hr", "owm", "slop:0.8", "sr", "wheft")


def identities(report: Report, options: Options) -> None:
    arriving = coming(Case("", 0.5, 300, options.seed))
    starts = {
        name: run_pool(arriving, SAME_SPEED, name, options.seed).starts
        for name in sorted({name for pair in SAME for name in pair})
    }
    report.figure("starts of tasks compared", None, len(starts["sr"]))
    for one, other in SAME:
        same = starts[one] == starts[other]
        report.bar(f"{one} starts every task as {other} does", "all", str(same), same)
    differ = starts["sr"] != starts["bf"]
    report.bar("sr and bf differ", "yes", str(differ), differ)


def in_1024ths(arriving: Sequence[Arriving]) -> list[Arriving]:
    """The same with times that add up exactly."""
    return [
        Arriving(
            round(one.at * 1024) / 1024,
            one.near,
            [round(seconds * 1024) / 1024 for seconds in one.seconds],
            one.estimates,
        )
        for one in arriving
    ]


def books_agree(arriving: Sequence[Arriving], account: Account, speeds: Sequence[float]) -> bool:
    work = sum(
        arriving[number].seconds[task] / speeds[place]
        for (number, task), (_, place) in account.starts.items()
    )
    area = sum(
        count * (until - at) for (at, count), (until, _) in itertools.pairwise(account.present)
    )
    return (
        account.busy_seconds == work
        and area == sum(stay.response for stay in account.stays)
        and len(account.starts) == sum(len(one.seconds) for one in arriving)
    )


def orders_kept(arriving: Sequence[Arriving], account: Account, speeds: Sequence[float]) -> bool:
    """No task begins before its parents have ended, and no place has two at a time."""
    lives: dict[int, list[tuple[float, float]]] = {}
    for (number, task), (began, place) in account.starts.items():
        one = arriving[number]
        lives.setdefault(place, []).append((began, began + one.seconds[task] / speeds[place]))
        for parent in one.near.parents[task]:
            start, where = account.starts[number, parent]
            if start + one.seconds[parent] / speeds[where] > began:
                return False
    return all(
        before[1] <= after[0]
        for life in lives.values()
        for before, after in itertools.pairwise(sorted(life))
    )


def little(report: Report, options: Options) -> None:
    halves = tuple(2.0 if speed > 1 else 0.5 for speed in TWO_SPEEDS)  # divide exactly
    for name, speeds in itertools.product(EVERY, (SAME_SPEED, halves)):
        arriving = in_1024ths(coming(Case("", 0.6, 60 if options.quick else 300, options.seed)))
        account = run_pool(arriving, speeds, name, options.seed)
        whole = books_agree(arriving, account, speeds)
        kept = orders_kept(arriving, account, speeds)
        where = "one speed" if speeds is SAME_SPEED else "two speeds"
        report.bar(f"{name}, {where}: busy = work, ∫N = Σ responses", "exact", str(whole), whole)
        report.bar(f"{name}, {where}: parents first, one task a place", "all", str(kept), kept)


def queue(job: tuple[float, int, int]) -> bool:
    """The verdict on one queue of single tasks before one place, M/M/1."""
    load, seed, tasks = job
    rng = chance(seed, 43)

    def single(_: object) -> object:
        growing = Growing()
        growing.add("task", float(rng.exponential()))
        return growing.grown()

    arriving = poisson(rng, tasks, load, single)  # type: ignore[arg-type]
    account = run_pool(arriving, (1.0,), "bf", seed)
    begin, end = arriving[tasks // 3].at, arriving[-1].at
    return stable(account.present, begin, end)


def stability(report: Report, options: Options) -> None:
    runs = 6 if options.quick else 20
    loads = {0.8: (True, 19), 0.9: (True, 16), 1.1: (False, 16), 1.2: (False, 19)}
    jobs = [(load, options.seed + k, 3000) for load in loads for k in range(runs)]
    verdicts = dict(zip(jobs, run_all(queue, jobs, options, "wf-stability"), strict=True))
    for load, (wanted, needed) in loads.items():
        right = sum(v is wanted for job, v in verdicts.items() if job[0] == load)
        least = needed * runs // 20
        said = "stable" if wanted else "unstable"
        report.bar(f"load {load:g} found {said}, of {runs}", least, right, right >= least)
    constant = [(float(t), 5) for t in range(1000)]
    growing = [(float(t), t) for t in range(1000)]
    for name, changes, wanted in (("constant", constant, True), ("growing", growing, False)):
        found = stable(changes, 100, 999)
        report.bar(f"a {name} queue", str(wanted), str(found), found is wanted)


def later(arriving: Sequence[Arriving], seconds: float) -> list[Arriving]:
    """All but the first come so much later: nothing competes until its first task has ended."""
    first, *others = arriving
    moved = [Arriving(o.at + seconds, o.near, o.seconds, o.estimates) for o in others]
    return [first, *moved]


def invariance(report: Report, options: Options) -> None:
    count = 100 if options.quick else 300

    def starts(policy: str, error: str, f_e: float) -> object:
        case = Case(policy, 0.9, count, options.seed, error=error, f_e=f_e)
        arriving = later(coming(case), 1e5) if policy == "fwp" else coming(case)
        return run_pool(arriving, SAME_SPEED, policy, options.seed).starts

    for policy in ("cpp", "fdws", "hr", "fwp"):
        plain = starts(policy, "exact", 1.0)
        for f_e in (1 / 8, 8.0):
            same = starts(policy, "static", f_e) == plain
            report.bar(f"{policy}: estimates × {f_e:g} change nothing", "all", str(same), same)
        for error in ("random I", "random II"):
            drawn = starts(policy, error, 0.1)
            same = starts(policy, error, 12.8) == drawn
            report.bar(f"{policy}, {error}: f_e .1 is as 12.8", "all", str(same), same)
        differ = drawn != plain
        report.bar(f"{policy}: random II is not as no error", "yes", str(differ), differ)


STUDIES = (
    Study("wf-identities", "placement: policies that are one and the same", identities),
    Study("wf-little", "placement: busy time, workflows present, order of tasks", little),
    Study("wf-stability", "the tests of stability on queues whose answer is known", stability),
    Study("wf-invariance", "placement: the factor of an error of estimates is inert", invariance),
)
