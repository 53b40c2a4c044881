"""Systems and workloads of chapter 4 of the thesis, for studies of scalers (§4.3, §4.5)."""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import fmean, pstdev
from typing import Final, NamedTuple

from numpy.random import Generator

from bats.master.brain.elasticity.curves import Elasticity
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placer import Forgetful, Pick, Placer, PoolView
from bats.master.brain.placement.placers import placer
from bats.master.brain.scaling.elastic_pool import ElasticPool, Rules
from bats.master.brain.scaling.rehearsal import WAITING, Rehearsal, best
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import ElasticView, Kind, in_order
from bats.master.brain.scaling.scalers import scaler
from bats.master.simulate.workflows.elastic_run import Account, Coming, run_elastic
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.mixtures import hyper_gamma, raw, size_of
from bats.master.simulate.workflows.scientific import cybershake, epigenomics
from studies.study import chance

MACHINES: Final = 50
INTERVAL: Final = 30.0
WORKFLOWS: Final = 200
BETWEEN: Final = 117.77
WORK: Final = 465_095.0
HOUR: Final = 3600.0
BOOT: Final = 9.0
"""Seconds: what the published tables imply of machines that start in under 30."""
SLOW_BOOT: Final = 45.0


class Case(NamedTuple):
    """One run of a pool."""

    scaler: str
    seed: int
    workload: int = 1
    boot: float = BOOT
    rate: float = 1.0
    atu: float = HOUR
    release: str = "idle"
    workflows: int = WORKFLOWS
    waiting: float | None = None  # of `rehearse`
    one_queue: bool = False  # of tasks; else of workflows, as §4.4.2 has it


class Seen(NamedTuple):
    """What is kept of a run."""

    elasticity: Elasticity
    responses: tuple[float, ...]
    sizes: tuple[int, ...]
    accounted: float  # H̄, hours
    charged: float  # C̄, hours


def others(rng: Generator) -> Generated:
    """CyberShake and Epigenomics: of the thesis is only their order of size."""
    _, size = size_of(rng)
    return (cybershake, epigenomics)[int(rng.integers(2))](size, rng)


def drawn(case: Case) -> list[Coming]:
    """The same workflows for all scalers."""
    rng = chance(case.seed, 51, case.workload)
    now, made = 0.0, list[tuple[float, Generated]]()
    for _ in range(case.workflows):
        now += float(rng.exponential(BETWEEN))
        made.append((now, raw(rng) if case.workload < 3 else others(rng)))
    if case.workload == 3:
        made = [(at, one.scaled(one.total / 3)) for at, one in made]
    elif case.workload == 1:
        factor = WORK * case.workflows / WORKFLOWS / sum(one.total for _, one in made)
        made = [(at, one.scaled(one.total * factor)) for at, one in made]
    else:
        made = [(at, one.scaled(hyper_gamma(rng, 323.73, 88.291))) for at, one in made]
    return [
        Coming(at, Workflow(neighbours(one.graph), one.seconds), (one.seconds,)) for at, one in made
    ]


class InTurn(Forgetful):
    """Tasks of all workflows in the order in which they could start: one queue of tasks."""

    def __init__(self) -> None:
        self._queue: deque[tuple[Present, int]] = deque()
        self._queued: set[tuple[int, int]] = set()

    def arrived(self, pool: PoolView) -> None:
        for one in pool.present:
            for task in sorted(one.waiting_tasks(), key=one.breadth):
                if (one.number, task) not in self._queued:
                    self._queued.add((one.number, task))
                    self._queue.append((one, task))

    def place(self, pool: PoolView) -> Iterator[Pick]:
        self.arrived(pool)
        while self._queue:
            yield Pick(*self._queue.popleft(), pool.fastest())


KNOBS: Final[Mapping[str, Mapping[str, float]]] = {"reg": {"window": 10}}
"""The window of Reg is 60 in the thesis, whose table comes out nearer with 10."""


def run_case(case: Case) -> Seen:
    coming = drawn(case)
    account = run_elastic(coming, [pool_of(case, coming)], partial(float, case.boot), case.seed)
    return seen(case, coming, account)


FORESEEING: Final = "rehearse, foreseeing"


class Foreseeing:
    """Rehearse, that knows which workflows come before its rehearsal ends: nobody can."""

    sees_tasks = True

    def __init__(self, coming: list[Coming]) -> None:
        self._coming = [
            Present(number, one.workflow, one.at) for number, one in enumerate(coming, len(coming))
        ]

    def want(self, pool: ElasticView) -> list[int]:
        until = pool.now + 2 * pool.interval + pool.boot_seconds
        soon = [one for one in self._coming if pool.now < one.arrived < until]
        return in_order(best(Rehearsal(pool, WAITING, soon)), pool.kinds)


def pool_of(case: Case, coming: list[Coming]) -> ElasticPool:
    knobs = dict(KNOBS.get(case.scaler, {}))
    if case.rate != 1:
        knobs["rate"] = case.rate
    if case.waiting is not None:
        knobs["waiting"] = case.waiting
    least = MACHINES if case.scaler == "none" else 0
    rules = Rules([Kind("VM", MACHINES)], INTERVAL, release(case.release, case.atu), least)
    places: Placer = InTurn() if case.one_queue else placer("breadth-first")
    own = Foreseeing(coming) if case.scaler == FORESEEING else scaler(case.scaler, **knobs)
    return ElasticPool(rules, own, places, case.seed)


def seen(case: Case, coming: list[Coming], account: Account) -> Seen:
    return Seen(
        account.elasticity,
        tuple(stay.response for stay in account.stays),
        tuple(len(one.workflow.near) for one in coming),
        account.accounted,
        account.charged(case.atu),
    )


class Slowdown(NamedTuple):
    """S_e: responses against those of the same workload with all machines always on."""

    mean: float
    deviation: float
    small: float
    medium: float
    large: float


def slowdown(own: Seen, base: Seen) -> Slowdown:
    ratios = [one / other for one, other in zip(own.responses, base.responses, strict=True)]

    def of_size(least: int, most: int) -> float:
        chosen = [r for r, size in zip(ratios, own.sizes, strict=True) if least <= size <= most]
        return fmean(chosen) if chosen else 1.0

    return Slowdown(
        fmean(ratios), pstdev(ratios), of_size(0, 39), of_size(40, 199), of_size(200, 10**9)
    )
