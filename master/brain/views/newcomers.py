"""Newcomers: which machines that are bought, or still to come, would begin a task that waits.

The others that are there go on meanwhile: who comes when all has begun would be paid for nothing.
"""

import math
from collections.abc import Sequence

from bats.common.billing import charge_atus, first_atus
from bats.master.brain.prediction.first_come import Slot, begun
from bats.master.brain.views import investments
from bats.master.brain.views.investments import QUANTILE
from bats.master.brain.views.readonly import MachineState, MachineView, RunView


def tasks_of_new(run: RunView, wanted: Sequence[int]) -> list[list[int]]:
    """The tasks that each of so many new machines of each kind should begin, the most first.

    Those that the money would let begin nothing, beside all that runs, are left out.
    """
    wanted = _paid_for(run, wanted)
    slots = [slot for m in _there(run) for slot in _slots(run, m)]
    names: list[range] = []
    for c, count in zip(run.clusters, wanted, strict=True):
        first = -1 - sum(map(len, names))
        names.append(range(first, first - count, -1))
        slots += [
            Slot(name, c.start_seconds, _task_seconds(run, c.index))
            for name in names[-1]
            for _ in range(c.offering.slots)
        ]
    counts = begun(slots, run.tasks.waiting)
    return [sorted((counts[name] for name in of_kind), reverse=True) for of_kind in names]


def without_a_task(run: RunView) -> list[MachineView]:
    """Machines that were asked for, are not charged yet, and would begin nothing."""
    there = _there(run)
    coming = [m for m in there if not _has_come(m)]
    open_yet = [m for m in coming if m.charged_since is None and not m.offering.free]
    if not open_yet:
        return []
    come = [m for m in there if _has_come(m)]
    slots = [slot for m in (*come, *coming) for slot in _slots(run, m)]
    counts = begun(slots, run.tasks.waiting)
    return [m for m in open_yet if not counts[m.id]]


def _paid_for(run: RunView, wanted: Sequence[int]) -> list[int]:
    """As many of each kind as the money lets begin a task, by the rule by which tasks are begun."""
    left = run.ledger.left
    if left is None:
        return list(wanted)
    expected, variance = investments.owed(run)
    nothing_runs = not any(m.active for m in run.pool.alive() if not m.offering.free)
    paid = [0] * len(wanted)
    for c, count in zip(run.clusters, wanted, strict=True):
        known, price = investments.lengths(run, c.index), c.offering.price
        ahead = charge_atus(c.offering, first_atus(c.offering))
        per_task = _task_seconds(run, c.index) * price / c.offering.atu_seconds
        for _ in range(count):
            expected += max(ahead, per_task)
            variance += (known.spread * per_task) ** 2 if known.count else 0.0
            alone = nothing_runs and not any(paid)
            if not alone and expected + QUANTILE * math.sqrt(variance) > left:
                break
            paid[c.index] += 1
    return paid


def _there(run: RunView) -> list[MachineView]:
    states = (MachineState.UP, MachineState.REQUESTED)
    return [m for m in run.pool.alive() if m.state in states and not m.draining]


def _has_come(machine: MachineView) -> bool:
    return machine.state is MachineState.UP


def _slots(run: RunView, machine: MachineView) -> list[Slot]:
    T = _task_seconds(run, machine.cluster)
    until = machine.stop_by(run.now) - run.now if machine.leaving else float("inf")
    if not _has_come(machine):
        comes = machine.requested_at + run.clusters[machine.cluster].start_seconds - run.now
        return [Slot(machine.id, max(0.0, comes), T, until)] * machine.slots
    busy = [_left(run, machine, attempt.since, T) for attempt in machine.active.values()]
    busy += [0.0] * (machine.slots - len(busy))
    queued = len(machine.queued) * T / max(1, machine.slots)
    return [Slot(machine.id, left + queued, T, until) for left in busy]


def _left(run: RunView, machine: MachineView, since: float, T: float) -> float:
    """The time that a running task should still take; of one that outlasts all known, as long."""
    known, tau = investments.lengths(run, machine.cluster), run.now - since
    likely = known.tail_mean(tau) if known.count else tau
    return likely - tau if likely > tau else T


def _task_seconds(run: RunView, cluster: int) -> float:
    """The average runtime there; of a kind that nothing is known of, that of the others."""
    mean = investments.mean_of(run, cluster)
    if mean is not None:
        return mean
    others = (investments.mean_of(run, c.index) for c in run.clusters)
    return max((one for one in others if one is not None), default=0.0)
