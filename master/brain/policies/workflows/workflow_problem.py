"""The rest of a workflow as a problem for a planner who counts with distributions."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean

from bats.common.money import Money
from bats.master.brain.learning.still_running import completed
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.prediction.workflow_rollout import ALONE, AMONG, FEW, WIDELY, OrderLeft
from bats.master.brain.probability.histogram import Histogram, from_samples
from bats.master.brain.probability.rented_machines import Rented
from bats.master.brain.probability.stages import Order
from bats.master.brain.probability.workflow_planning import WorkflowProblem
from bats.master.brain.views import investments, prospects
from bats.master.brain.views.order.order_left import order_left
from bats.master.brain.views.readonly import MachineState, RunView


def workflow_problem(run: RunView, clusters: tuple[Cluster, ...]) -> WorkflowProblem | None:
    """The tasks that are left, by what is known of their steps; None if nothing is known yet."""
    left = order_left(run)
    if left is None or not any(left.samples):
        return None
    samples = _completed(left)
    known = [seconds for sample in samples for seconds in sample]
    parents: list[list[int]] = [[] for _ in left.step]
    for task, children in enumerate(left.children):
        for child in children:
            parents[child].append(task)
    usual = sum(known) / len(known)
    runtimes: list[list[Histogram]] = []
    for sample in samples:
        canonical = _possible(sample, usual)
        runtimes.append(
            [canonical.scaled(max(0.0, c.line.convert(usual)) / usual) for c in run.clusters]
        )
    deadline = run.choice.deadline_at
    return WorkflowProblem(
        Order(left.step, parents),
        clusters,
        runtimes,
        Money(max(0, prospects.money_left(run))),
        float("inf") if deadline is None else max(1e-3, deadline - run.now),
        there=_there(run),
        running=[
            (task, left.factors[cluster] * _rest(samples[left.step[task]] or known, tau))
            for task, cluster, tau in left.running
        ],
        seed=run.settings.seed,
    )


def _completed(left: OrderLeft) -> list[list[float]]:
    """The runtimes of each step, completed by those of its tasks that still run."""
    running: list[list[float]] = [[] for _ in left.samples]
    for task, _, tau in left.running:
        running[left.step[task]].append(tau)
    return [
        completed(done, taus) if done else []
        for done, taus in zip(left.samples, running, strict=True)
    ]


def _rest(sample: Sequence[float], tau: float) -> float:
    """The time that a task that has run for so long should have left."""
    longer = [seconds for seconds in sample if seconds > tau]
    return fmean(longer) - tau if longer else 0.0


def _there(run: RunView) -> list[Rented]:
    """Machines that stay, when they are free and until when they are paid, from now on."""
    return [
        Rented(
            machine.cluster,
            investments.busy_seconds(run, machine)
            if machine.joined_at is not None
            else max(
                0.0, machine.requested_at + run.clusters[machine.cluster].start_seconds - run.now
            ),
            max(0.0, machine.stop_by(run.now) - run.now),
        )
        for machine in run.pool.alive()
        if machine.staying and machine.state in (MachineState.UP, MachineState.REQUESTED)
    ]


def _possible(sample: Sequence[float], usual: float) -> Histogram:
    """The runtimes of a step; wide around the mean of those of which next to nothing is known."""
    n = len(sample)
    if n > FEW:
        return from_samples(sample)
    mean = sum(sample) / n if n else usual
    spread = math.hypot(AMONG, ALONE / math.sqrt(n) if n else WIDELY)
    bell = NormalDist(-spread * spread / 2, spread)
    return from_samples([mean * math.exp(bell.inv_cdf((k + 0.5) / 400)) for k in range(400)])
