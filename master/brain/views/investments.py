"""Investments in what runs: what it should still take, and what may be spent beside it.

Nothing here changes the books; `reserving` does.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from bats.common.billing import atus, charge_atus
from bats.common.money import Money
from bats.master.brain.views.estimate import typical_seconds
from bats.master.brain.views.readonly import (
    AttemptView,
    MachineState,
    MachineView,
    Phase,
    ProfileView,
    RunView,
    TaskState,
)

QUANTILE: Final = 1.645
"""A task is begun if the money lasts for all that runs with 95 %, in standard deviations."""

SLACK: Final = 0.05
"""A reserve reaches beyond an expected end by so much of the task: clocks and tasks waver."""

LIKELY: Final = 0.5
"""A task is begun on a machine that leaves if it should end in time with this chance."""


def lengths(run: RunView, cluster: int) -> ProfileView:
    """The known runtimes of this cluster, while the sample goes on too."""
    c = run.clusters[cluster]
    return c.profile if c.profile.count else c.sampled


def elapsed(run: RunView, machine: MachineView, attempt: AttemptView) -> float:
    """The time that this task is known to last on this machine."""
    tau = run.now - attempt.since
    stopped = run.outlasted(attempt.task)
    return max(tau, run.clusters[machine.cluster].line.convert(stopped)) if stopped else tau


def lasts(run: RunView, machine: MachineView, attempt: AttemptView) -> float:
    """The time that it should take in all; no more than it has where nobody knows."""
    tau = elapsed(run, machine, attempt)
    known, line = lengths(run, machine.cluster), run.clusters[machine.cluster].line
    if run.foreseen is not None:
        return max(tau, line.convert(run.foreseen.lasts(attempt.task, line.back(tau))))
    return known.tail_mean(tau) if known.count else tau


def length(run: RunView, machine: MachineView, attempt: AttemptView) -> float | None:
    """The time of a running task in all; None while nothing is known to compare it with."""
    known = lengths(run, machine.cluster)
    if not known.count:
        return None
    tau = elapsed(run, machine, attempt)
    likely = lasts(run, machine, attempt)
    return likely if likely > tau else tau + known.mean_done


def busy_seconds(run: RunView, machine: MachineView) -> float:
    """The seconds until its last running task should end; where nothing is known, as long again."""
    longest = 0.0
    for attempt in machine.active.values():
        whole = length(run, machine, attempt)
        tau = run.now - attempt.since
        longest = max(longest, tau if whole is None else whole - tau)
    return longest


def atus_until(run: RunView, machine: MachineView, seconds: float) -> int:
    """The number of ATUs in all that pay for work until so long from now."""
    offering = machine.offering
    since = run.now if machine.charged_since is None else machine.charged_since
    return atus(offering, run.now + seconds + offering.boundary_seconds - since)


# --- whether to hold -----------------------------------------------------------------------------


def worth_holding(run: RunView, machine: MachineView) -> bool:
    """True if paying on to the end of what it runs is no dearer than running it anew elsewhere."""
    if not machine.active:
        return False
    price = task_price(run)
    if price is None:
        return True
    offering = machine.offering
    busy = busy_seconds(run, machine)
    paid = charge_atus(offering, atus_until(run, machine, busy)) - charge_atus(
        offering, machine.atus
    )
    return paid - _worth_of_the_rest(run, machine, busy, price) <= _invested(run, machine) * price


def task_price(run: RunView) -> float | None:
    """The price of an average task on the cheapest kind; None while nothing is known."""
    prices = [
        mean * c.offering.price / c.offering.atu_seconds / c.offering.slots
        for c in run.clusters
        if not c.offering.free
        and (c.startable or run.pool.living[c.index])
        and (mean := mean_of(run, c.index)) is not None
    ]
    return min(prices, default=None)


def mean_of(run: RunView, cluster: int) -> float | None:
    c = run.clusters[cluster]
    if c.profile.count:
        return typical_seconds(run, c)
    return c.sampled.mean_done if c.sampled.count else None


def _invested(run: RunView, machine: MachineView) -> float:
    """Tasks of average length that would have to be run anew."""
    known = lengths(run, machine.cluster)
    if not known.count:
        return math.inf
    tasks = 0.0
    for attempt in machine.active.values():
        if counts(run, attempt):
            whole = length(run, machine, attempt)
            tasks += (whole or 0.0) / known.mean_done
    return tasks


def counts(run: RunView, attempt: AttemptView) -> bool:
    """True if the task's end is waited for here: no copy elsewhere should end sooner."""
    if attempt.sampling and run.phase is Phase.SAMPLING:
        return True
    if run.tasks.states[attempt.task] != TaskState.RUNNING:
        return False
    copies = run.tasks.running[attempt.task]
    return len(copies) == 1 or first_to_end(run, copies) is attempt


def foreseen(run: RunView, machine: MachineView, attempt: AttemptView) -> bool:
    """True if tasks are known that took longer than this one has: else nobody knows its end."""
    known = lengths(run, machine.cluster)
    return bool(known.count) and known.longest > elapsed(run, machine, attempt)


def _worth_of_the_rest(run: RunView, machine: MachineView, busy: float, price: float) -> float:
    """The gain of other tasks from the ATU that the running ones do not fill."""
    known = lengths(run, machine.cluster)
    if not run.tasks.waiting or not known.count or run.phase is not Phase.EXECUTING:
        return 0.0
    rest = _spare_seconds(run, machine, busy)
    tasks = min(run.tasks.waiting, int(rest / known.mean_done) * machine.slots)
    return max(0, tasks) * price


def _spare_seconds(run: RunView, machine: MachineView, busy: float) -> float:
    """The seconds that ATUs pay for beyond so many."""
    offering = machine.offering
    since = run.now if machine.charged_since is None else machine.charged_since
    paid_until = since + atus_until(run, machine, busy) * offering.atu_seconds
    return paid_until - offering.boundary_seconds - run.now - busy


# --- whether to begin ----------------------------------------------------------------------------


def next_seconds(run: RunView, machine: MachineView) -> float:
    """The time that the next task should take here; something must be known."""
    task = run.tasks.longest
    if run.foreseen is not None and task is not None:
        return run.clusters[machine.cluster].line.convert(float(run.foreseen.seconds[task]))
    return lengths(run, machine.cluster).mean_done


def idle_seconds(run: RunView, machine: MachineView) -> float:
    """The time that is billed anyway, on the canonical cluster."""
    seconds = machine.idle_until(run.now) - run.now
    return run.clusters[machine.cluster].line.back(seconds) if seconds > 0 else 0.0


def fits(run: RunView, machine: MachineView) -> bool:
    """True if the next task should end in the time that is billed anyway."""
    task = run.tasks.longest
    if run.foreseen is not None and task is not None:
        return run.foreseen.share_within(task, idle_seconds(run, machine)) >= LIKELY
    return _share_within(run, machine, machine.idle_until(run.now)) >= LIKELY


def may_fit(run: RunView, machine: MachineView) -> bool:
    """True if a task might end in the time that is billed anyway."""
    return _share_within(run, machine, machine.idle_until(run.now)) > 0


def _share_within(run: RunView, machine: MachineView, until: float) -> float:
    known = lengths(run, machine.cluster)
    return known.share_within(until - run.now) if known.count and until > run.now else 0.0


def has_room(run: RunView, machine: MachineView) -> bool:
    """True if the ATUs that end what it runs have room for another task."""
    known = lengths(run, machine.cluster)
    if not known.count:
        return False
    busy = busy_seconds(run, machine)
    return _spare_seconds(run, machine, busy) >= known.mean_done


def owed(run: RunView) -> tuple[float, float]:
    """The cost of running tasks beyond what is reserved: its mean and variance."""
    expected = variance = 0.0
    for machine in run.pool.alive():
        if machine.offering.free or machine.state is not MachineState.UP or not machine.active:
            continue
        if not any(counts(run, attempt) for attempt in machine.active.values()):
            continue
        known = lengths(run, machine.cluster)
        if not known.count:
            continue
        rate = machine.offering.price / machine.offering.atu_seconds
        ends = run.now + busy_seconds(run, machine)
        beyond = ends - machine.stop_by(run.now)
        deviation = known.spread * known.mean_done
        if beyond > -deviation:
            expected += max(0.0, beyond) * rate
            variance += (deviation * rate) ** 2
    return expected, variance


def can_pay_for_all(run: RunView) -> bool:
    """True if every machine could be paid on to the expected end of its tasks, ATUs counted."""
    total = 0
    for machine in run.pool.alive():
        if machine.active and not machine.offering.free:
            wanted = atus_until(run, machine, busy_seconds(run, machine))
            total += max(0, wanted - machine.atus) * machine.offering.price
    return run.ledger.covers(Money(total))


def can_pay_for_copies(run: RunView) -> bool:
    """True if money is left when all that must end has ended, to the quantile.

    In a long tail what has run for long will run for long: twice as long again is kept for it.
    """
    left = run.ledger.left
    if left is None:
        return True
    expected, variance = owed(run)
    again = sum(
        2 * (run.now - attempt.since) * machine.offering.price / machine.offering.atu_seconds
        for machine in run.pool.alive()
        for attempt in machine.active.values()
        if counts(run, attempt)
    )
    return max(expected, again) + QUANTILE * math.sqrt(variance) < left


def reserve_of(run: RunView) -> Money:
    """The money that must not be spent on anything but the tasks that run."""
    expected, _ = owed(run)
    return Money(math.ceil(expected))


def first_to_end(run: RunView, copies: Sequence[AttemptView]) -> AttemptView:
    """The copy of a task that should end first; of equals the oldest."""
    return min(copies, key=lambda copy: (estimate_of(run, copy)[0], copy.attempt))


def estimate_of(run: RunView, copy: AttemptView) -> tuple[float, float]:
    """(ts - τs, tc) of one copy."""
    source = run.pool.machines[copy.machine]
    tau = run.now - copy.since if copy.task in source.active else 0.0
    canonical = run.to_canonical(source.cluster, tau) if tau else 0.0
    if run.foreseen is not None:
        tc = run.foreseen.lasts(copy.task, canonical)
    else:
        tc = run.canonical.tail_mean(canonical)
    ts = converter(run, source.cluster)(tc)
    remaining = max(0.0, ts - tau)
    if source.state is not MachineState.UP:
        remaining = max(remaining, ts)  # silent or stopping: expect no result from it
    return remaining, tc


def converter(run: RunView, cluster: int) -> Callable[[float], float]:
    return run.clusters[cluster].line.convert
