"""The rest of a workflow as a problem for a planner who counts with distributions."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, pvariance
from typing import Final

import numpy as np

from bats.common.money import Money
from bats.master.brain.learning.still_running import completed
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.prediction.workflow_rollout import ALONE, AMONG, FEW, WIDELY, OrderLeft
from bats.master.brain.probability.histogram import WEIGHTS, Histogram, from_samples
from bats.master.brain.probability.rented_machines import Rented
from bats.master.brain.probability.stages import Order
from bats.master.brain.probability.workflow_planning import WorkflowProblem
from bats.master.brain.views import investments, prospects
from bats.master.brain.views.order.order_left import order_left
from bats.master.brain.views.readonly import MachineState, RunView

KNOWN: Final = 10
"""Tasks from which on what ran on a kind tells how runtimes vary there."""

LEAST: Final = 0.04
"""Of a variance: what is left of it at least where a kind varies less than others."""


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
    varies = _varies(run)
    for step, sample in enumerate(samples):
        canonical = _possible(sample, usual)
        runtimes.append(
            [
                _here(run, left, step, c.index)
                or _spread(canonical, by).scaled(max(0.0, c.line.convert(usual)) / usual)
                for c, by in zip(run.clusters, varies, strict=True)
            ]
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


def _here(run: RunView, left: OrderLeft, step: int, cluster: int) -> Histogram | None:
    """The runtimes of a step on a kind on which enough of its tasks ran, those that run counted."""
    here = run.steps.here(step, cluster) if run.steps is not None else []
    if len(here) < KNOWN:
        return None
    running = [
        tau * left.factors[cluster]
        for task, where, tau in left.running
        if where == cluster and left.step[task] == step
    ]
    return from_samples(completed(here, running))


def _varies(run: RunView) -> list[float]:
    """The variance of (logarithmic) runtimes on each kind beyond that of all kinds together.

    It is known of what ran there, or of earlier bags by how much the machines differ.
    """
    if run.steps is None:
        return [0.0 for _ in run.clusters]
    seen = [run.steps.spread(c.index) for c in run.clusters]
    earlier = run.settings.learned_slowness or [() for _ in run.clusters]
    tasks = sum(known for known, _ in seen)
    if not tasks:
        return [0.0 for _ in run.clusters]
    differ = [pvariance([math.log(x) for x in one]) if one else 0.0 for one in earlier]
    among = sum(known * spread for known, spread in seen) / tasks
    of_machines = sum(known * one for (known, _), one in zip(seen, differ, strict=True)) / tasks
    return [
        spread - among if known >= KNOWN else (one - of_machines if rising else 0.0)
        for (known, spread), one, rising in zip(seen, differ, earlier, strict=True)
    ]


def _spread(seconds: Histogram, more: float) -> Histogram:
    """The same mean, with so much more variance of the logarithms, or less."""
    points = seconds.points
    if not more or points[0] <= 0 or points[0] == points[-1]:
        return seconds
    logs = np.log(points)
    logs -= WEIGHTS @ logs  # a narrow step is stretched much: around 0, or exp overflows
    variance = float(WEIGHTS @ logs**2)
    if variance <= 0:
        return seconds
    power = math.sqrt(max(variance + more, LEAST * variance) / variance)
    stretched = Histogram(np.exp(power * logs))
    return stretched.scaled(seconds.mean / stretched.mean)


def _possible(sample: Sequence[float], usual: float) -> Histogram:
    """The runtimes of a step; wide around the mean of those of which next to nothing is known."""
    n = len(sample)
    if n > FEW:
        return from_samples(sample)
    mean = sum(sample) / n if n else usual
    spread = math.hypot(AMONG, ALONE / math.sqrt(n) if n else WIDELY)
    bell = NormalDist(-spread * spread / 2, spread)
    return from_samples([mean * math.exp(bell.inv_cdf((k + 0.5) / 400)) for k in range(400)])
