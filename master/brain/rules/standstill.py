"""Money that is spent while nothing ends, for longer than can be explained: nothing more is bought.

A task may hang, a program may wait for what never comes, machines may break as soon as they work.
The budget bounds what that costs; this says so long before.
"""

from typing import Final

from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.units import in_words
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.state import Run
from bats.master.brain.rules import pausing
from bats.master.brain.views.investments import lengths

LONGER: Final = 20
"""A standstill is so many times as long as the longest task known: that is no long tail."""

LEAST_SECONDS: Final = 60.0
"""A standstill is never shorter: less may be a slow network or a busy computer."""

BEYOND: Final = 2
"""The bag would cost so many budgets if every task took as long as those that run have."""

FRUITLESS: Final = 6
"""The number of machines in a row that were paid for and ended without a task done."""

SHARE: Final = 5
"""One part in so many of the money must be gone since a task ended, before any of it counts."""

SHARE_BESIDE_FREE: Final = 2
"""That part where an offering is free: others may have its machines, and leave them yet."""


def something_ended(run: Run) -> None:
    run.progress.ended_last, run.progress.spent_then, run.progress.fruitless = run.now, None, 0


def gone(run: Run, machine: Machine) -> None:
    """A machine ended; one that was asked to, with nothing begun, tells nothing.

    Nor does an unreliable one: that it is lost was to be expected.
    """
    if not machine.offering.reliable:
        return
    if not machine.done_count and machine.charged_since is not None and machine.active:
        run.progress.fruitless += 1


def look(run: Run) -> None:
    """Pause the run if its money goes and nothing comes of it."""
    limit = run.ledger.limit
    if run.progress.spent_then is None:  # counted no oftener than is looked
        run.progress.spent_then = run.spent()
    lost = Money(run.spent() - run.progress.spent_then)
    if run.pause is not None or limit is None or not lost or lost * SHARE < limit:
        return
    if words := _hanging(run) or _hopeless(run, limit, lost) or _breaking(run):
        because = f"{run.hampered} So " if run.hampered else ""
        pausing.pause(run, f"{because}{words}; {run.shown(lost)} spent meanwhile")


def _hanging(run: Run) -> str:
    longest = max(lengths(run, c.index).longest for c in run.clusters)
    # One that was stopped was long already: it gets its time when it runs again.
    longest = max(longest, *(seconds for _, seconds in run.tasks.stopped.values()), 0.0)
    running = [seconds for seconds, _ in _running(run)]
    if not longest or not running or _of_unknown_steps(run):
        return ""
    atu = max(c.offering.atu_seconds for c in run.clusters if run.pool.living[c.index])
    since = min(*running, run.now - run.progress.ended_last)
    if since < max(LONGER * longest, 2 * atu, LEAST_SECONDS):
        return ""
    return (
        f"nothing has ended for {in_words(since)}, the longest task so far took "
        f"{in_words(longest)}, and {len(running)} run{'s' if len(running) == 1 else ''}"
    )


def _of_unknown_steps(run: Run) -> bool:
    """True if a task runs of a step of which none has ended: others do not tell how long it takes.

    The budget bounds what it may cost, as it does for the first tasks of all.
    """
    order = run.tasks.order
    if order is None or run.steps is None:
        return False
    return any(
        not run.steps.count(order.step_of(task))
        for machine in run.pool.alive()
        for task in machine.active
    )


def _running(run: Run) -> list[tuple[float, Offering]]:
    """The time that each running task has run, on what is paid for."""
    return [
        (run.now - attempt.since, machine.offering)
        for machine in run.pool.alive()
        if machine.state is MachineState.UP and not machine.offering.free
        for attempt in machine.active.values()
    ]


def _hopeless(run: Run, limit: Money, lost: Money) -> str:
    """Words if nothing has ended at all, and what runs is too long already for so many tasks.

    Where machines cost nothing the money need not do for all of them.
    """
    if run.tasks.done or any(lengths(run, c.index).count for c in run.clusters):
        return ""
    bounds = _running(run)
    if not bounds:
        return ""
    least = min(
        seconds * run.tasks.unfinished * offering.price / offering.atu_seconds / offering.slots
        for seconds, offering in bounds
    )
    if least < BEYOND * limit:
        return ""
    shortest = min(seconds for seconds, _ in bounds)
    free = any(c.offering.free and not c.set_aside for c in run.clusters)
    if free and lost * SHARE_BESIDE_FREE < limit:
        return ""
    too_long = shortest * BEYOND * limit / least
    if _has_free(run) and _longest_on_free(run) < too_long:
        return ""
    return (
        f"no task has ended, and each has run for {in_words(shortest)} or longer: "
        f"{run.tasks.unfinished} tasks cost {run.shown(Money(round(least)))} at least"
    )


def _has_free(run: Run) -> bool:
    """True if a machine that costs nothing is there, or can be asked for once others leave it."""
    return any(machine.offering.free and machine.staying for machine in run.pool.alive()) or any(
        c.offering.free and c.startable and run.settings.offerings[c.index].max_machines
        for c in run.clusters
    )


def _longest_on_free(run: Run) -> float:
    """The time that a running task has had on a machine that costs nothing."""
    return max(
        (
            run.now - attempt.since
            for machine in run.pool.alive()
            if machine.offering.free
            for attempt in machine.active.values()
        ),
        default=0.0,
    )


def _breaking(run: Run) -> str:
    if run.progress.fruitless < FRUITLESS:
        return ""
    return f"{run.progress.fruitless} machines in a row ended with a task on them and none done"
