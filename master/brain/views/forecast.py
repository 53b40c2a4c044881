"""Forecasts of the schedules on offer: the questions a predictor is asked about them.

A question is plain data, so that it can be answered elsewhere while the run goes on: prediction
takes longer than an event may. What is shown of a schedule is what its median run takes and costs:
Te and Be know neither machines that stand or still have to start, nor whole tasks and the tail.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from bats.common.messages import MachineId, TaskId
from bats.common.money import NOTHING, Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.learning.experience import runtimes_with_earlier
from bats.master.brain.learning.regression import SAME, Line
from bats.master.brain.learning.still_running import completed
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import plan_of
from bats.master.brain.planning.schedules import Schedule, allowance
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.prediction.families import Doubt
from bats.master.brain.prediction.predictors import Question, Standing, predict
from bats.master.brain.views.known_runtimes import known_runtimes, longer_than
from bats.master.brain.views.order.order_left import order_left
from bats.master.brain.views.outlook import pace
from bats.master.brain.views.readonly import (
    MachineState,
    MachineView,
    Phase,
    RunView,
    TaskState,
)


def promised(run: RunView) -> tuple[Schedule, ...]:
    """The schedules on offer, and what is done instead if a limit of the user's own decided."""
    plan = run.plan
    if (
        plan is None
        or not run.schedules
        or run.choice.name in {"", *(s.name for s in run.schedules)}
    ):
        return run.schedules
    expected = plan_of(run.planning_clusters(), plan.tasks, plan.mix)
    coming = (m.id for m in run.pool.alive() if m.state is MachineState.REQUESTED)
    left = run.ledger.left or NOTHING
    budget = Money(left + sum(run.ledger.reserved_for(machine) for machine in coming))
    own = Schedule(
        run.choice.name, budget, plan.mix, expected.makespan_seconds, expected.cost, delta_n=0
    )
    return (*run.schedules, own)


def questions(
    run: RunView, schedules: Sequence[Schedule], confidence: float = 0.9
) -> tuple[Question, ...]:
    """Questions, one for each schedule, in their order.

    The budget asked about is what its choice would allow; a cushion comes on top only if granted.
    """
    if not schedules:
        return ()  # perhaps nothing is known yet
    left = run.ledger.left_of(run.choice.budget)
    clusters = run.planning_clusters()
    samples = tuple(tuple(known_runtimes(run, c)) for c in run.clusters)
    ends_at = run.choice.deadline_at
    if ends_at is None and run.settings.deadline_seconds is not None:
        ends_at = run.began_at + run.settings.deadline_seconds
    means = run.provisioner.means(run)
    order = order_left(run)
    asked = []
    for schedule in schedules:
        allowed = allowance(schedule, left)
        standing, tasks = _standing(run, clusters, samples, schedule.mix)
        asked.append(
            Question(
                clusters,
                samples,
                tasks,
                schedule.mix,
                allowed,
                None if ends_at is None else max(0.0, ends_at - run.now),
                copying=run.replicator.foreseen,
                confidence=confidence,
                seed=run.settings.seed,
                standing=standing,
                means=means and replace(means, money=_money(run, schedule, allowed)),
                order=order,
            )
        )
    return tuple(asked)


def paying_for_order(run: RunView, schedules: Sequence[Schedule]) -> tuple[Schedule, ...]:
    """Schedules of a workflow, with the money and the time that its order takes, at the worst.

    Machines wait for tasks that are not ready, and paid time is lost: Be of the formulas knows none
    of that. One more ATU of each machine is for what a run does otherwise than these.
    """
    found = []
    for schedule, question in zip(schedules, questions(run, schedules), strict=True):
        told = predict(replace(question, budget=None, quick=True))
        spare = sum(
            count * c.offering.price
            for count, c in zip(schedule.mix, question.clusters, strict=True)
        )
        needed = Money(max(schedule.budget, told.cost + spare))
        makespan = max(schedule.makespan_seconds, told.median_seconds)
        cost = Money(max(schedule.cost, told.median_cost))
        found.append(replace(schedule, budget=needed, makespan_seconds=makespan, cost=cost))
    return tuple(found)


def _money(run: RunView, schedule: Schedule, allowed: Money) -> Money:
    """The money left of it; machines asked for with the choice have had their part."""
    left = run.ledger.left
    return allowed if left is None or schedule.name != run.choice.name else left


def _standing(
    run: RunView, clusters: tuple[Cluster, ...], samples: Sequence[Sequence[float]], mix: Mix
) -> tuple[tuple[Standing, ...], int]:
    """The machines that the mix would keep, and the tasks that they and new ones would share.

    Machines it would not keep go on to the end of their paid time.
    """
    keep: list[Standing] = []
    tasks = run.tasks.waiting
    for k, wanted in enumerate(mix):
        there = [m for m in run.pool.living[k].values() if m.state is MachineState.UP]
        there.sort(key=lambda m: (-m.paid_until(run.now), m.id))
        for machine in there:
            tasks += len(machine.queued)
        keep.extend(_as_it_stands(run, machine, samples[k]) for machine in there[:wanted])
        for machine in there[wanted:]:
            if run.clusters[k].profile.count:
                tasks -= pace(run, machine, clusters[k]).ft
    return tuple(keep), max(0, tasks)


def _as_it_stands(run: RunView, machine: MachineView, sample: Sequence[float]) -> Standing:
    busy = []
    for attempt in machine.active.values():
        tau = run.now - attempt.since
        longer = [seconds for seconds in sample if seconds > tau]
        busy.append(fmean(longer) - tau if longer else 0.0)
    idle = [0.0] * (machine.offering.slots - len(busy))
    since = run.now if machine.charged_since is None else machine.charged_since
    entered = run.provisioner.time.entered(machine, run.now)
    return Standing(machine.cluster, (*busy, *idle), run.now - since, entered)


def foretold(schedules: Sequence[Schedule], bounds: Sequence[Bounds]) -> tuple[Schedule, ...]:
    """Schedules with their bounds, and with the median run as estimate."""
    return tuple(
        replace(s, bounds=b, makespan_seconds=b.median_seconds, cost=b.median_cost)
        for s, b in zip(schedules, bounds, strict=True)
    )


def told(run: RunView) -> tuple[Schedule, ...]:
    """The offers as foretold, and what was told of a plan that is none of them.

    A limit of the user's own decides without offers: then its plan is all that is told.
    """
    choice = run.choice
    offers = choice.offered.schedules if choice.offered else ()
    own = choice.told.schedules if choice.told else ()
    return (*offers, *(one for one in own if one.name not in {offer.name for offer in offers}))


def planned(run: RunView) -> tuple[Schedule, ...]:
    """The schedules that may be chosen of, as planned; once one is chosen, that alone."""
    schedules = promised(run)
    return tuple(one for one in schedules if run.choice.name in ("", one.name))


# --- for who runs the bag ahead ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StandingMachine:
    """A machine that lives."""

    id: MachineId
    cluster: int
    slots: int
    state: MachineState
    requested_at: float
    charged_since: float | None
    active: tuple[tuple[TaskId, int, float], ...]  # task, attempt, since when
    queued: tuple[tuple[TaskId, int], ...]
    collecting: tuple[tuple[TaskId, int, float], ...]  # ended; what they left is on its way


@dataclass(frozen=True, slots=True)
class Known:
    """Runtimes are canonical, in seconds."""

    now: float
    seed: int
    choosing: bool  # nothing has been chosen yet
    decided: bool  # nothing that is told changes what may be spent
    tasks: int  # of the whole bag
    unfinished: int
    runtimes: tuple[float, ...]  # completed by what still runs; empty while nothing is known
    experienced: tuple[float, ...]  # the same, completed by what earlier bags tell of the shape
    done: tuple[float, ...]  # as they are
    earlier: tuple[tuple[float, ...], float]  # runtimes of earlier bags, and their weight
    longer_than: Mapping[TaskId, float]  # of tasks that run or were stopped
    lines: tuple[Line, ...]  # to each cluster
    start_seconds: tuple[float, ...]  # of each cluster, from request to joining
    boot_seconds: tuple[float, ...]  # the part of that which is charged
    machines: tuple[StandingMachine, ...]
    spent: Money
    budget: Money | None  # the user's own
    due_at: float | None
    workflow: bool = False
    expected: tuple[float, ...] = ()  # of each task that is not done, by a law; 0.0 of the others
    ratios: tuple[float, ...] = ()  # of runtimes to what the law expects of them
    own: tuple[tuple[float, ...], ...] = ()  # of those done, each where it ended first
    hazards: tuple[float, ...] = ()  # machines of each kind that are lost, per second of one
    doubts: tuple[Doubt | None, ...] = ()  # how fast each kind is; None: it is the canonical one


def foreknown(run: RunView) -> Known:
    elapsed = longer_than(run, run.pool.alive())
    done = list(run.canonical.sample()) if run.canonical.count else []
    runtimes = tuple(completed(done, list(elapsed.values()))) if done else ()
    earlier = _earlier(run)
    return Known(
        run.now,
        run.settings.seed,
        run.phase is Phase.CHOOSING,
        run.choice.budget is not None or run.choice.told is not None,
        len(run.tasks),
        run.tasks.unfinished,
        runtimes,
        runtimes_with_earlier(runtimes, *earlier),
        tuple(done),
        earlier,
        elapsed,
        tuple(c.line for c in run.clusters),
        tuple(c.start_seconds for c in run.clusters),
        tuple(c.boot_seconds for c in run.clusters),
        tuple(_machine(machine) for machine in run.pool.alive()),
        run.provisioner.time.spent(run),
        run.choice.budget,
        run.due_at,
        run.settings.graph is not None,
        *_by_law(run),
        own=_own(run),
        hazards=tuple(run.hazard(c.index) for c in run.clusters),
        doubts=_doubts(run),
    )


PRICE_TELLS: Final = 0.7
"""σ of the logarithm of a kind's speed, if it is held to be in proportion to its price."""

FREE_TELLS: Final = 1.0
"""Likewise of kinds that cost nothing, which are held to be as fast as the others."""


def _canonical_kind(run: RunView) -> int:
    return min(run.clusters, key=lambda c: (c.line.error, c.line is not SAME)).index


def _own(run: RunView) -> tuple[tuple[float, ...], ...]:
    """Runtimes of each kind; those known before the bag began are of the canonical one."""
    if not run.settings.known:
        return tuple(tuple(map(c.line.back, c.own.sample())) for c in run.clusters)
    base = _canonical_kind(run)
    return tuple(tuple(run.canonical.sample()) if c.index == base else () for c in run.clusters)


def _doubts(run: RunView) -> tuple[Doubt | None, ...]:
    """Doubt of each line, by what it was fitted to and by what the kind costs."""
    base = _canonical_kind(run)
    usual = run.canonical.mean_done if run.canonical.count else 1.0
    found: list[Doubt | None] = []
    for c in run.clusters:
        if c.index == base:
            found.append(None)
            continue
        mine, theirs = (_rate(one.offering) for one in (c, run.clusters[base]))
        line = math.log(c.line.convert(usual) / usual)
        priced = bool(mine and theirs)
        by_price = (math.log(theirs / mine) if priced else 0.0) - line
        found.append(Doubt(c.line.error, by_price, PRICE_TELLS if priced else FREE_TELLS))
    return tuple(found)


def _rate(offering: Offering) -> float:
    """The price of a place's second."""
    return offering.price / offering.atu_seconds / offering.slots


def _by_law(run: RunView) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if run.foreseen is None:
        return (), ()
    wanted = (TaskState.WAITING, TaskState.RUNNING)
    expected = (
        seconds if state in wanted else 0.0
        for seconds, state in zip(run.foreseen.seconds.tolist(), run.tasks.states, strict=True)
    )
    return tuple(expected), run.foreseen.law.ratios


def _earlier(run: RunView) -> tuple[tuple[float, ...], float]:
    """The runtimes of earlier bags, canonical, on the kind that tells most; and their weight."""
    settings = run.settings
    if not settings.learned:
        return (), 0.0
    best = max(range(len(settings.learned)), key=lambda k: settings.learned_weight[k])
    line = run.clusters[best].line
    weight = settings.learned_weight[best]
    return tuple(line.back(seconds) for seconds in settings.learned[best]), weight


def _machine(machine: MachineView) -> StandingMachine:
    return StandingMachine(
        machine.id,
        machine.cluster,
        machine.slots,
        machine.state,
        machine.requested_at,
        machine.charged_since,
        tuple((one.task, one.attempt, one.since) for one in machine.active.values()),
        tuple((one.task, one.attempt) for one in machine.queued),
        tuple((one.task, one.attempt, one.since) for one in machine.collecting.values()),
    )
