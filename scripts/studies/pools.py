"""Systems and workloads of the thesis, for studies of pools, and what is kept of a run."""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean, pstdev
from typing import NamedTuple

from numpy.random import Generator

from bats.master.simulate.workflows import estimates
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.mixtures import hyper_gamma, mixed, size_of
from bats.master.simulate.workflows.pool_run import (
    Account,
    Arriving,
    Estimating,
    poisson,
    run_pool,
)
from bats.master.simulate.workflows.scientific import Generate, ligo, montage, sipht
from bats.master.simulate.workflows.stability import lyapunov, wieland
from studies.study import Options, chance

PLACES = 100
SAME_SPEED = (1.0,) * PLACES
TWO_SPEEDS = (1.5, 0.5) * (PLACES // 2)
MEAN_WORK = 3600.0
WORKLOADS: Mapping[str, Generate | None] = {
    "Montage": montage,
    "LIGO": ligo,
    "SIPHT": sipht,
    "mixture": None,
}
ESTIMATES: Mapping[str, object] = {
    "exact": lambda _: estimates.exact,
    "static": estimates.static,
    "random I": estimates.random_one,
    "random II": estimates.random_two,
}


class Case(NamedTuple):
    """One run of a pool."""

    policy: str
    load: float  # imposed utilization
    workflows: int
    seed: int
    workload: str = "mixture"
    speeds: Sequence[float] = SAME_SPEED
    error: str = "exact"
    f_e: float = 1.0
    at_once: bool = False


def draw(kind: Generate | None, rng: Generator) -> Generated:
    if kind is None:
        return mixed(rng)
    _, size = size_of(rng)
    return kind(size, rng).scaled(hyper_gamma(rng))


def coming(case: Case) -> list[Arriving]:
    """The same workflows for all policies; their estimates are drawn apart from them."""
    per_second = 0.0 if case.at_once else case.load * len(case.speeds) / MEAN_WORK
    own = chance(case.seed, 42)

    def estimating(of: Generated, _: Generator) -> Sequence[float]:
        return made(of, own)

    made: Estimating = ESTIMATES[case.error](case.f_e)  # type: ignore[operator]
    kind = WORKLOADS[case.workload]
    rng = chance(case.seed, 41, list(WORKLOADS).index(case.workload))
    return poisson(rng, case.workflows, per_second, partial(draw, kind), estimating)


class Seen(NamedTuple):
    """What is kept of a run."""

    wieland: bool
    lyapunov: bool
    present: float  # mean number of workflows
    slowdown: float  # mean of response / c
    deviation: float
    lasted: float
    work: float  # Σ t_e / places
    stays: dict[str, tuple[float, float]]  # mean wait and makespan, by size


def run_case(case: Case) -> Seen:
    """The first third of the workflows is not counted, nor what comes after the last arrival."""
    arriving = coming(case)
    account = run_pool(arriving, case.speeds, case.policy, case.seed)
    return seen(arriving, account, sum(case.speeds))


class Verdict(NamedTuple):
    """What the tests of stability say of a run."""

    wieland: bool
    lyapunov: bool


def verdict(arriving: Sequence[Arriving], policy: str, seed: int) -> Verdict:
    """The run goes no further than the last arrival, for nothing later is looked at."""
    begin, end = arriving[len(arriving) // 3].at, arriving[-1].at
    present = run_pool(arriving, SAME_SPEED, policy, seed, until=end).present
    return Verdict(wieland(present, begin, end), lyapunov(present, begin, end))


def seen(arriving: Sequence[Arriving], account: Account, speed: float) -> Seen:
    third = len(arriving) // 3
    begin, end = arriving[third].at, arriving[-1].at
    counted = list(zip(arriving, account.stays, strict=True))[third : 2 * third]
    slowdowns = [stay.response / one.critical for one, stay in counted]
    stays = {}
    for name, least, most in (("S", 0, 39), ("M", 40, 199), ("L", 200, 10**9)):
        of_size = [stay for one, stay in counted if least <= len(one.seconds) <= most]
        if of_size:
            stays[name] = (
                fmean(one.wait for one in of_size),
                fmean(one.makespan for one in of_size),
            )
    settled = end > begin
    return Seen(
        not settled or wieland(account.present, begin, end),
        not settled or lyapunov(account.present, begin, end),
        mean_present(account, begin, end) if settled else 0.0,
        fmean(slowdowns),
        pstdev(slowdowns),
        account.ended - arriving[0].at,
        sum(sum(one.seconds) for one in arriving) / speed,
        stays,
    )


def mean_present(account: Account, begin: float, end: float) -> float:
    area = 0.0
    changes = [*account.present, (account.ended, 0)]
    for (at, count), (until, _) in itertools.pairwise(changes):
        area += count * max(0.0, min(until, end) - max(at, begin))
    return area / (end - begin)


def most_stable(found: Sequence[Seen | Verdict]) -> bool:
    """Each test passes in two of three runs, or in the only one."""
    needed = (len(found) + 1) // 2
    return (
        sum(one.wieland for one in found) >= needed and sum(one.lyapunov for one in found) >= needed
    )


def seeds(options: Options) -> list[int]:
    return [options.seed] if options.quick else [options.seed + k for k in range(3)]
