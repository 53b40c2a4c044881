"""What runs is an investment: machines are held to the ends of tasks (science.md, section 12).

A task that is begun obliges: money for it must be there until it ends, and stopping it costs what
it ran. So a machine's reserve reaches ahead to what is billed anyway or to the expected end of
what it runs, whichever is later, and is renewed while that lasts. A task is begun only if what is
left pays for it, to a told quantile, beside all that runs already. A machine is let go with a task
on it only where running the task anew elsewhere is cheaper than paying on.
"""

import math
from typing import Final

from bats.common.billing import charge_atus
from bats.master.brain.books.machine import Machine
from bats.master.brain.books.state import Phase, Run
from bats.master.brain.rules import fleet
from bats.master.brain.views.investments import (
    LIKELY,
    QUANTILE,
    _mean,
    atus_until,
    elapsed,
    fits,
    lengths,
    owed,
)
from bats.master.brain.views.readonly import ProfileView

SLACK: Final = 0.05
"""A reserve reaches beyond an expected end by so much of the task: clocks and tasks waver."""

STEP: Final = 0.25
"""A task that outlasts all that is known is reserved for by so much of what it has run."""

SOONEST_SECONDS: Final = 1.0
"""The first step where nothing is known yet."""

LEASES: Final = 1.5
"""A lease that must be renewed is reserved for so many times."""

PLENTY: Final = 4.0
"""With money for so many tasks on each machine, one more is begun without a closer look."""


def reach(run: Run, machine: Machine) -> float:
    """How far ahead a machine that runs something is reserved at a time, in seconds from now."""
    ahead = 0.0
    for attempt in machine.active.values():
        tau = run.now - attempt.since
        known = lengths(run, machine.cluster)
        likely = known.tail_mean(elapsed(run, machine, attempt)) if known.count else 0.0
        step = (1 + SLACK) * likely - tau
        if step <= SLACK * tau or not known.count:
            step = max(STEP * tau, SOONEST_SECONDS)
        ahead = max(ahead, step)
    return ahead


def cover(run: Run, machine: Machine, seconds: float) -> bool:
    """Reserve for so long from now, or for as long as half of the money left lasts.

    False when not even one ATU more than what is reserved already is covered.
    """
    offering = machine.offering
    wanted = atus_until(run, machine, max(seconds, offering.lease_seconds))
    if wanted <= machine.atus:
        return True
    more = wanted - machine.atus
    if not run.ledger.covers(charge_atus(offering, more)):
        left = run.ledger.left or 0
        more = max(1, left // 2 // offering.price)
    return fleet.extend(run, machine, more)


def cover_lease(run: Run, machine: Machine) -> None:
    """Reserve for the lease and a part more, so that it need not be done again at once."""
    ahead = max(reach(run, machine), LEASES * machine.offering.lease_seconds)
    more = atus_until(run, machine, ahead) - machine.atus
    if more > 0:
        fleet.extend(run, machine, more)


def may_begin_sample(run: Run, machine: Machine) -> bool:
    """A sample is begun with as much money as its first step takes."""
    if machine.offering.free or not run.settings.prudence or fits(run, machine):
        return True
    known = lengths(run, machine.cluster)
    first = (1 + SLACK) * known.mean_done if known.count else SOONEST_SECONDS
    return cover(run, machine, first)


def may_begin(run: Run, machine: Machine) -> bool:
    """Whether one more task may begin here: it fits into paid time, or the money lasts for it."""
    if fits(run, machine):
        return True
    known = lengths(run, machine.cluster)
    if machine.leaving or run.phase is Phase.CHOOSING:
        return False
    if not known.count:
        return cover(run, machine, SOONEST_SECONDS)
    if not _affordable(run, machine, known) and not _nothing_better(run, machine, known):
        return False
    return cover(run, machine, (1 + SLACK) * known.mean_done)


def _nothing_better(run: Run, machine: Machine, known: ProfileView) -> bool:
    """Whether nothing else runs that needs the money, and it should do for one more task."""
    if any(other.active for other in run.alive() if not other.offering.free):
        return False
    left = run.ledger.left or 0
    seconds = machine.stop_by(run.now) - run.now
    seconds += left // machine.offering.price * machine.offering.atu_seconds
    return known.share_within(seconds) >= LIKELY


def _affordable(run: Run, machine: Machine, known: ProfileView) -> bool:
    """Whether the money lasts for what runs, and for one more, to the quantile."""
    left = run.ledger.left
    if left is None:
        return True
    rate = machine.offering.price / machine.offering.atu_seconds
    each = max(
        (
            (_mean(run, k) or known.mean_done) * o.price / o.atu_seconds
            for k, o in enumerate(run.settings.offerings)
        ),
    )
    if left > PLENTY * each * (1 + sum(len(group) for group in run.living)):
        return True
    expected, variance = owed(run)
    length = known.mean_done
    deviation = known.spread * length
    paid = max(0.0, machine.stop_by(run.now) - run.now)
    expected += max(0.0, length - paid) * rate
    variance += (deviation * rate) ** 2
    return expected + QUANTILE * math.sqrt(variance) <= left
