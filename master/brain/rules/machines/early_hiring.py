"""Machines that every plan will want, asked for while the sample goes on.

A slow kind of machine holds the sample up for as long as one of its tasks takes. Until then it may
be anything from as fast as it can be, its running tasks ending this very moment, to no good at all.
What the fastest mix holds of the kinds that are known already, whatever that may be, is not waited
for.
"""

from dataclasses import replace
from statistics import fmean
from typing import Final

from bats.common.money import Money
from bats.common.units import counted
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import ClusterState, Run
from bats.master.brain.learning.still_running import completed
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import Problem
from bats.master.brain.rules import sampling
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views import prospects
from bats.master.brain.views.estimate import spread_and_error
from bats.master.brain.views.newcomers import tasks_of_new

SHARES: Final = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)
"""Shares of the speed that unknown kinds can have at best."""

FEWEST: Final = 4
"""The fewest runtimes of which the spread is known."""

AT_BEST_SECONDS: Final = 1e-3
"""The runtime where nothing has run long enough to tell."""


def hire(run: Run) -> None:
    """Hire with twice the usual room for error: what is asked for now cannot be called off."""
    sample, left = run.sample, run.ledger.left
    if run.phase is not Phase.SAMPLING or not sampling.plans_by_budget(run):
        return
    if sample is None or left is None:  # without a budget nothing is sure to be bought
        return
    known = [c for c in run.clusters if sampling.enough(run, c) and len(_done(run, c)) >= FEWEST]
    if not known or len(known) == len(run.clusters):
        return
    noise = max(_noise(run, c) for c in known)
    at_best = [_at_best(run, c, known=c in known) for c in run.clusters]
    mixes = []
    for share in SHARES:
        clusters = tuple(
            cluster if run.clusters[k] in known else _slower(cluster, share)
            for k, cluster in enumerate(at_best)
        )
        mixes.append(_mix(run, clusters, left, noise))
    for c in known:
        wanted = min(mix[c.index] for mix in mixes)
        missing = min(wanted - len(run.pool.staying(c.index)), prospects.affordable_starts(run, c))
        new = [max(0, missing) if other is c else 0 for other in run.clusters]
        tasks = [count for count in tasks_of_new(run, new)[c.index] if count]
        if hiring.start(run, c.index, len(tasks)):
            sample.hired.add(c.index)
            run.say(
                f"every plan wants {wanted} {c.offering.name}, whatever the sample will show: "
                f"{len(tasks)} more, for {counted(sum(tasks), 'task')}"
            )


def call_back(run: Run) -> None:
    """Machines that left while tasks waited for others are had again when those are ready."""
    sample = run.sample
    if run.phase is not Phase.SAMPLING or sample is None or run.tasks.order is None:
        return
    for c in run.clusters:
        living = run.pool.living[c.index]
        missing = sample.machines[c.index] - len(living)
        if missing <= 0 or c.start_failures or not run.tasks.ready:
            continue
        free = sum(max(0, machine.slots - machine.load) for machine in living.values())
        useful = -(-(run.tasks.ready - free) // c.offering.slots)
        if useful > 0 and sampling.continues(run, c.index):
            came = hiring.start(run, c.index, min(missing, useful))
            if came:
                run.say(f"{came} {c.offering.name} again, to learn of tasks that are ready now")


def _at_best(run: Run, c: ClusterState, *, known: bool) -> Cluster:
    """A cluster at its best: what a kind has shown that holds the sample up is a lower bound."""
    mean = fmean(_runtimes(run, c)) if known else sampling.least_mean(run, c)
    mean = max(mean, AT_BEST_SECONDS)
    limit = c.offering.max_machines if c.startable else 0
    return Cluster(c.with_its_boot, mean, limit, c.start_seconds, c.boot_seconds)


def _slower(cluster: Cluster, share: float) -> Cluster:
    if share == 0:
        return replace(cluster, limit=0)
    return replace(cluster, mean_seconds=cluster.mean_seconds / share)


def _mix(run: Run, clusters: tuple[Cluster, ...], left: Money, noise: float) -> Mix:
    ahead = sum(
        max(0.0, machine.paid_until(run.now) - run.now)
        * machine.offering.price
        / machine.offering.atu_seconds
        for machine in run.pool.alive()
    )
    tasks = run.tasks.unfinished * (1 + run.provisioner.room * noise)
    money = Money(left + round(ahead))
    plan = run.planner.fastest(Problem(clusters, tasks, money))
    return plan.mix if plan else (0,) * len(clusters)


def _noise(run: Run, c: ClusterState) -> float:
    done = _done(run, c)
    _, noise = spread_and_error(_runtimes(run, c), len(done), max(done), run.tasks.waiting)
    return noise


def _done(run: Run, c: ClusterState) -> list[float]:
    return list(sampling.observed(run, c).values())


def _runtimes(run: Run, c: ClusterState) -> list[float]:
    return completed(_done(run, c), run.elapsed(c.index))
