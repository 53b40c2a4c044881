"""The outlook: what is paid for, what is left, what the plan can still do (T §2.2.3).

For machine j with uptime up, nt tasks done in rt, and a running task of elapsed τ, expected τe:
v = (nt+1)/(rt+τe) is its speed, δ what its paid time has left after the running task,
ft = floor(δ·v) the tasks that will still fit, η = δ - ft/v what remains of it.
N_e = tasks in the bag - Σ ft; N_p = Σ floor((nr·ATU + η)·v), nr ATUs being planned beyond.
"""

import math

from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.views.order.work_left import work_left
from bats.master.brain.views.readonly import MachineState, MachineView, RunView


@dataclass(frozen=True, slots=True)
class Pace:
    """One machine's part."""

    v: float  # tasks per second, over all slots
    ft: int
    eta: float
    unfit: int  # running tasks that the paid time of a leaving machine does not cover


@dataclass(frozen=True, slots=True)
class Outlook:
    """`N_p` counts free machines for as long as the plan lasts."""

    N_e: int
    N_p: int
    speed: float  # of the machines that stay, tasks per second
    free_speed: float


def pace(run: RunView, machine: MachineView, cluster: Cluster) -> Pace:
    profile = run.clusters[machine.cluster].profile
    running = [run.now - attempt.since for attempt in machine.active.values()]
    expected = [profile.tail_mean(tau) for tau in running]
    rt = machine.done_seconds + sum(expected)
    nt = machine.done_count + len(running)
    v = machine.slots * nt / rt if nt and rt > 0 else machine.slots / cluster.mean_seconds
    if machine.offering.free:
        return Pace(v, 0, 0.0, 0)
    left = sum(e - tau for e, tau in zip(expected, running, strict=True)) / machine.slots
    delta = run.provisioner.time.works_until(machine, run.now) - run.now - left
    if delta < 0:
        unfit = len(running) if machine.leaving else 0
        return Pace(v, 0, delta, unfit)
    ft = math.floor(delta * v)
    return Pace(v, ft, delta - ft / v, 0)


def outlook(
    run: RunView, clusters: tuple[Cluster, ...], without: MachineView | None = None
) -> Outlook:
    """`clusters` carry the current T_i; `without` asks what the other machines would do."""
    n_e = math.ceil(work_left(run).tasks)
    n_p = 0
    speed = free_speed = 0.0
    until = 0.0 if run.plan is None else run.plan.at + run.plan.makespan_seconds
    for machine in run.pool.alive():
        if machine is without or machine.state not in (MachineState.UP, MachineState.REQUESTED):
            continue
        if not run.clusters[machine.cluster].profile.count or not machine.slots:
            continue
        p = pace(run, machine, clusters[machine.cluster])
        if machine.offering.free:
            free_speed += p.v
            speed += p.v
            n_p += math.floor(max(0.0, until - run.now) * p.v)
            continue
        n_e += p.unfit - p.ft
        if machine.staying:
            speed += p.v
            ahead = machine.nr * machine.offering.atu_seconds + p.eta
            n_p += math.floor(max(0.0, ahead) * p.v)
    return Outlook(max(0, n_e), n_p, speed, free_speed)
