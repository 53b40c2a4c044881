"""Studies of what a bag would cost: many runs in virtual time, by the engine of real ones.

Each run draws its bag anew. Cases are ways to choose: a schedule's name, a budget, a deadline.
Every case sees the same bags, once with the tail strategy asked about and once without any.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import field
from itertools import accumulate
from statistics import median
from typing import Any, Final, Generic, TypeVar

import numpy as np

from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.engine import Engine
from bats.master.brain.planning.mix import Mix
from bats.master.brain.policies.by_name import NTDMR
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.protocol.parameters import Parameters
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.unreliable.weighing import KnownPools
from bats.master.simulate.driver import NEVER, Conditions, Simulation
from bats.master.simulate.workloads import Runtimes, Workload

NO_TAIL: Final = "none"
USUAL_TAIL: Final = "stochastic+random"
_EDGE: Final = 0.05  # a range leaves out so much at either end

V = TypeVar("V", bound=float)


@dataclass(frozen=True, slots=True)
class World:
    """The parts that are the same in every case. A task of runtime t takes t/speed on a machine."""

    tasks: int
    offerings: tuple[Offering, ...]
    speeds: tuple[float, ...]
    deadline_seconds: float | None = None
    start_seconds: float = 0.0  # from asking for a machine to its first task
    replicate: bool = True
    currency: str = "$"
    policy: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the scheduler that are not as usual, but for tail strategy and seed."""
    parameters: Parameters = ()  # that runtimes may be found to follow from
    graph: Graph | None = None  # which tasks wait for which; None: none does


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    rule: str
    budget: Money | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run."""

    done: int
    seconds: float
    cost: Money
    mix: Mix | None  # most at a time since the choice; None: the bag ended with its sample
    sample_seconds: float
    sample_cost: Money  # for ATUs that had begun when the schedule was chosen
    words: str  # how it ended


@dataclass(frozen=True, slots=True)
class Range(Generic[V]):
    """The median, and what nine of ten runs lie between."""

    low: V
    median: V
    high: V


@dataclass(frozen=True, slots=True)
class Summary:
    """All runs of a case. Times are those of runs that finished the bag."""

    case: Case
    runs: int
    finished: int  # runs that did all tasks; none ever spends more than its budget
    in_time: int  # of these, within the deadline
    mix: Mix | None  # the one most often had
    seconds: Range[float] | None
    cost: Range[Money]
    sample_time: float  # share of the makespan
    sample_cost: float  # share of the cost
    saved_seconds: float | None  # by the tail strategy, in the median
    saved_cost: Money | None
    words: str  # how a run ended that did not finish


Job = tuple[World, Case, str, Runtimes, int]


def study(
    world: World,
    cases: Sequence[Case],
    workload: Workload,
    *,
    tail: str = USUAL_TAIL,
    runs: int = 30,
    seed: int = 1,
    workers: int = 1,
    step: Callable[[], None] = lambda: None,
) -> list[Summary]:
    """`step` is called once for each of the simulations; `simulations` says how many."""
    tails = _tails(tail)
    outcomes: dict[tuple[Case, str], list[Outcome]] = {(c, t): [] for c in cases for t in tails}
    pool = ProcessPoolExecutor(workers) if workers > 1 else None
    try:
        for number in range(runs):
            drawn = workload.draw(world.tasks, np.random.default_rng([seed, number]))
            jobs: list[Job] = [(world, c, t, drawn, seed + number) for c, t in outcomes]
            found = pool.map(simulated, jobs) if pool else map(simulated, jobs)
            for into, outcome in zip(outcomes.values(), found, strict=True):
                into.append(outcome)
                step()
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
    return [
        _summary(world, case, outcomes[case, tail], outcomes[case, tails[-1]]) for case in cases
    ]


def simulations(cases: Sequence[Case], tail: str, runs: int) -> int:
    return len(cases) * len(_tails(tail)) * runs


def pools_shown(world: World, workload: Workload, seed: int = 1) -> KnownPools | None:
    """The pools as one run by the strategy given shows them; None without unreliable machines."""
    if all(offering.reliable for offering in world.offerings):
        return None
    runtimes = workload.draw(world.tasks, np.random.default_rng([seed, 0]))
    simulation = _simulation((world, Case("", "fastest"), NTDMR, runtimes, seed))
    simulation.run()
    return simulation.engine.known_pools()


def simulated(job: Job) -> Outcome:
    """One run of one case."""
    chosen: list[float] = []

    def look(engine: Engine) -> None:
        run = engine.headline()
        if run.chosen and not chosen:
            chosen.append(run.chosen_at)

    simulation = _simulation(job, look)
    history = simulation.run()
    run, seen = simulation.engine.headline(), simulation.engine.view()
    took = seen.ended_at or run.now
    cost = run.settled
    at = chosen[0] if chosen else took
    stays = history.uptimes.values()
    mix = _most_at_once(stays, at, len(job[0].offerings)) if chosen else None
    before = Money(cost - simulation.engine.committed_since(at)) if chosen else cost
    words = history.end.words if history.end else ""
    return Outcome(run.done, took, cost, mix, at, before, words)


def _most_at_once(stays: Iterable[tuple[int, float, float]], since: float, kinds: int) -> Mix:
    """The most machines of each kind that were there at a time, from then on."""
    most = [0] * kinds
    for k in range(kinds):
        mine = [
            (max(since, came), left) for kind, came, left in stays if kind == k and left > since
        ]
        moves = sorted([(came, 1) for came, _ in mine] + [(left, -1) for _, left in mine])
        most[k] = max(accumulate(step for _, step in moves), default=0)
    return tuple(most)


def _simulation(job: Job, look: Callable[[Engine], None] = lambda _: None) -> Simulation:
    world, case, tail, runtimes, seed = job
    settings = Settings(
        world.tasks,
        world.offerings,
        case.budget,
        world.deadline_seconds,
        case.rule,
        replicate=world.replicate,
        tail=tail,
        currency=world.currency,
        seed=seed,
        parameters=world.parameters,
        graph=world.graph,
        **world.policy,
    )
    return Simulation(
        settings,
        lambda task, cluster: float(runtimes[task]) / world.speeds[cluster],
        _conditions(world, float(np.mean(runtimes[: world.tasks]))),
        seed,
        after_event=look,
    )


def _conditions(world: World, mean_seconds: float) -> Conditions:
    """Losses are those that the clouds file emulates: by the hour told, by the task in silence."""

    def per_hour(cluster: int, lost: str) -> float:
        emulated = world.offerings[cluster].settings
        same = emulated.get("lost", "told") == lost
        return float(emulated.get("lost_per_hour", 0.0)) if same else 0.0

    def life(rng: random.Random, cluster: int) -> float:
        hazard = per_hour(cluster, "told") / 3600
        return rng.expovariate(hazard) if hazard else NEVER

    def silent(rng: random.Random, cluster: int) -> bool:
        hazard = per_hour(cluster, "silent") / 3600
        return rng.random() < -math.expm1(-hazard * mean_seconds / world.speeds[cluster])

    return Conditions(
        start_seconds=lambda _rng, _cluster: world.start_seconds, life_seconds=life, silent=silent
    )


def _tails(tail: str) -> list[str]:
    return [tail] if tail == NO_TAIL else [tail, NO_TAIL]


def _summary(
    world: World, case: Case, ours: Sequence[Outcome], without: Sequence[Outcome]
) -> Summary:
    finished = [one for one in ours if one.done == world.tasks]
    deadline = world.deadline_seconds
    both = [
        (mine, other)
        for mine, other in zip(ours, without, strict=True)
        if mine.done == other.done == world.tasks and ours is not without
    ]
    failures = [one.words for one in ours if one.done < world.tasks]
    return Summary(
        case,
        len(ours),
        len(finished),
        sum(deadline is None or one.seconds <= deadline for one in finished),
        Counter(one.mix for one in ours).most_common(1)[0][0],
        _range([one.seconds for one in finished]) if finished else None,
        _range([one.cost for one in ours]),
        median(one.sample_seconds / one.seconds if one.seconds else 0.0 for one in ours),
        median(one.sample_cost / one.cost if one.cost else 0.0 for one in ours),
        median(other.seconds - mine.seconds for mine, other in both) if both else None,
        Money(round(median(other.cost - mine.cost for mine, other in both))) if both else None,
        failures[0] if failures else "",
    )


def _range(values: Sequence[V]) -> Range[V]:
    rising = sorted(values)
    last = len(rising) - 1
    return Range(*(rising[round(share * last)] for share in (_EDGE, 0.5, 1 - _EDGE)))
