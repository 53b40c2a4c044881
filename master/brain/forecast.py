"""What the schedules offered now may come to: the questions a predictor is asked about them.

A question is plain data, so that it can be answered elsewhere while the run goes on: prediction
takes longer than an event may.
"""

from collections.abc import Sequence
from dataclasses import replace

from bats.master.brain.bounds import Bounds
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.mix import Cluster, Mix
from bats.master.brain.outlook import pace
from bats.master.brain.predictors import Question, Standing
from bats.master.brain.schedules import Schedule
from bats.master.brain.state import Run


def questions(run: Run, confidence: float = 0.9) -> tuple[Question, ...]:
    """One for each schedule on offer, in their order.

    The budget asked about is the schedule's own; a cushion comes on top only if it is granted.
    """
    clusters = run.planning_clusters()
    samples = tuple(tuple(c.profile.sample()) for c in run.clusters)
    ends_at = run.deadline_at
    if ends_at is None and run.settings.deadline_seconds is not None:
        ends_at = run.began_at + run.settings.deadline_seconds
    asked = []
    for schedule in run.schedules:
        standing, tasks = _standing(run, clusters, schedule.mix)
        asked.append(
            Question(
                clusters,
                samples,
                tasks,
                schedule.mix,
                schedule.budget,
                None if ends_at is None else max(0.0, ends_at - run.now),
                replicate=run.settings.replicate and run.settings.tail != "none",
                confidence=confidence,
                seed=run.settings.seed,
                standing=standing,
            )
        )
    return tuple(asked)


def _standing(
    run: Run, clusters: tuple[Cluster, ...], mix: Mix
) -> tuple[tuple[Standing, ...], int]:
    """The machines that the mix would keep, and the tasks that they and new ones would share.

    Machines it would not keep go on to the end of their paid time.
    """
    keep: list[Standing] = []
    tasks = run.tasks.waiting
    for k, wanted in enumerate(mix):
        there = [m for m in run.living[k].values() if m.state is MachineState.UP]
        there.sort(key=lambda m: (-m.paid_until(run.now), m.id))
        for machine in there:
            tasks += len(machine.queued)
        keep.extend(_as_it_stands(run, machine) for machine in there[:wanted])
        for machine in there[wanted:]:
            if run.clusters[k].profile.count:
                tasks -= pace(run, machine, clusters[k]).ft
    return tuple(keep), max(0, tasks)


def _as_it_stands(run: Run, machine: Machine) -> Standing:
    profile = run.clusters[machine.cluster].profile
    elapsed = [run.now - attempt.since for attempt in machine.active.values()]
    busy = [profile.tail_mean(tau) - tau if profile.count else 0.0 for tau in elapsed]
    idle = [0.0] * (machine.offering.slots - len(busy))
    since = run.now if machine.charged_since is None else machine.charged_since
    return Standing(machine.cluster, (*busy, *idle), run.now - since, machine.atus)


def with_bounds(schedules: Sequence[Schedule], bounds: Sequence[Bounds]) -> tuple[Schedule, ...]:
    return tuple(replace(s, bounds=b) for s, b in zip(schedules, bounds, strict=True))
