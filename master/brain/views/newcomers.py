"""Newcomers: which machines that are bought, or still to come, would begin a task that waits.

The others that are there go on meanwhile: who comes when all has begun would be paid for nothing.
"""

import math
from collections.abc import Sequence

from bats.common.billing import charge_atus, first_atus
from bats.common.money import Money
from bats.master.brain.prediction.first_come import Slot, begun
from bats.master.brain.views import investments
from bats.master.brain.views.investments import LIKELY, QUANTILE, SLACK
from bats.master.brain.views.readonly import (
    AttemptView,
    ClusterView,
    MachineState,
    MachineView,
    Phase,
    RunView,
    TaskState,
)


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
    """As many of each kind as the money lets begin a task, by the rule by which tasks are begun.

    Those that are there and idle begin theirs first.
    """
    left = run.ledger.left
    if left is None:
        return list(wanted)
    expected, variance = investments.owed(run)
    for machine in _there(run):
        idle = machine.slots - len(machine.active)
        if _has_come(machine) and idle > 0 and not machine.leaving and not machine.offering.free:
            price, deviation = _price_of_one(run, machine.cluster)
            expected, variance = expected + idle * price, variance + idle * deviation**2
    nothing_runs = not any(m.active for m in run.pool.alive() if not m.offering.free)
    paid = [0] * len(wanted)
    for c, count in zip(run.clusters, wanted, strict=True):
        ahead = charge_atus(c.offering, first_atus(c.offering))
        price, deviation = _price_of_one(run, c.index)
        for _ in range(count):
            expected += max(ahead, price)
            variance += deviation**2
            alone = nothing_runs and not any(paid) and _does_for_one(run, c, left)
            if not alone and expected + QUANTILE * math.sqrt(variance) > left:
                break
            paid[c.index] += 1
    return paid


def _price_of_one(run: RunView, cluster: int) -> tuple[float, float]:
    """The money that is reserved for one task more in a slot there, and its standard deviation."""
    offering, known = run.clusters[cluster].offering, investments.lengths(run, cluster)
    mean = _task_seconds(run, cluster) * offering.price / offering.atu_seconds / offering.slots
    return (1 + SLACK) * mean, known.spread * mean if known.count else 0.0


def _does_for_one(run: RunView, c: ClusterView, left: Money) -> bool:
    """True if the money should do for a task there, with nothing else to be paid."""
    known = investments.lengths(run, c.index)
    if not known.count or c.offering.free:
        return True
    return known.share_within(left // c.offering.price * c.offering.atu_seconds) >= LIKELY


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
    busy = [
        0.0 if _is_over(run, attempt) else _left(run, machine, attempt.since, T)
        for attempt in machine.active.values()
    ]
    busy += [0.0] * (machine.slots - len(busy))
    queued = len(machine.queued) * T / max(1, machine.slots)
    return [Slot(machine.id, left + queued, T, until) for left in busy]


def _is_over(run: RunView, attempt: AttemptView) -> bool:
    """True of what is being told to end: its task is done elsewhere."""
    waited_for = attempt.sampling and run.phase is Phase.SAMPLING
    return run.tasks.states[attempt.task] == TaskState.DONE and not waited_for


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
