"""Forecasts of the schedules on offer: the questions a predictor is asked about them.

A question is plain data, so that it can be answered elsewhere while the run goes on: prediction
takes longer than an event may. What is shown of a schedule is what its median run takes and costs:
Te and Be know neither machines that stand or still have to start, nor whole tasks and the tail.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from bats.common.money import NOTHING, Money
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import plan_of
from bats.master.brain.planning.schedules import Schedule, allowance
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.prediction.predictors import Question, Standing
from bats.master.brain.views.known_runtimes import known_runtimes
from bats.master.brain.views.outlook import pace
from bats.master.brain.views.readonly import MachineState, MachineView, RunView


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
            )
        )
    return tuple(asked)


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
