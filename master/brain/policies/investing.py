"""Investments in what runs: machines are held to the ends of tasks.

A task that is begun obliges: money for it must be there until it ends, and stopping it costs what
it ran. So a machine's reserve reaches ahead to what is billed anyway or to the expected end of
what it runs, whichever is later, and is renewed while that lasts. A task is begun only if what is
left pays for it, to a told quantile, beside all that runs already. A machine is let go with a task
on it only where running the task anew elsewhere is cheaper than paying on.
"""

import math
from typing import Final

from bats.common.billing import atus
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.policies.paid_time import Copies, PaidTime
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.views import investments
from bats.master.brain.views.investments import (
    LIKELY,
    QUANTILE,
    SLACK,
    fits,
    lasts,
    lengths,
    next_seconds,
)
from bats.master.brain.views.readonly import (
    ClusterView,
    MachineState,
    MachineView,
    Phase,
    ProfileView,
    RunView,
)

STEP: Final = 0.25
"""A task that outlasts all that is known is reserved for by so much of what it has run."""

SOONEST_SECONDS: Final = 1.0
"""The first step where nothing is known yet."""

LEASES: Final = 1.5
"""A lease that must be renewed is reserved for so many times."""

PLENTY: Final = 4.0
"""The tasks per machine for which money is plenty: one more is begun without a closer look."""

JOIN_SECONDS: Final = 600.0
"""A machine that is billed by less than that may take so long to join."""


class Investing(PaidTime):
    patience_seconds = JOIN_SECONDS

    def to_begin(self, run: RunView, machine: MachineView, *, paid_only: bool) -> float | None:
        """Seconds to begin a task: none if it fits into paid time, its length if money lasts."""
        if fits(run, machine):
            return 0.0
        if paid_only or machine.leaving or _waits_for_user(run):
            return None
        known = lengths(run, machine.cluster)
        if not known.count:
            return SOONEST_SECONDS
        if not _affordable(run, machine, known) and not _nothing_better(run, machine, known):
            return None
        return (1 + SLACK) * next_seconds(run, machine)

    def to_sample(self, run: RunView, machine: MachineView) -> float | None:
        """Seconds to begin a task of the sample: its first step."""
        if fits(run, machine):
            return 0.0
        known = lengths(run, machine.cluster)
        return (1 + SLACK) * known.mean_done if known.count else SOONEST_SECONDS

    def copies(self, run: RunView, machine: MachineView) -> Copies:
        """A copy is for time that is paid anyway, or for money that nothing else needs.

        What has to be paid for should end sooner here; chance is for paid time.
        """
        if investments.may_fit(run, machine):
            return Copies.ANY
        if machine.leaving or not investments.can_pay_for_copies(run):
            return Copies.NONE
        return Copies.SOONER

    def buys_work(self, run: RunView, machine: MachineView) -> bool:
        return bool(machine.active) and investments.has_room(run, machine)

    def why_stop(self, run: RunView, machine: MachineView) -> str:
        if machine.active:
            return _why_not_held(run, machine)
        if machine.leaving:
            return "not in the mix any more"
        if run.phase is Phase.SAMPLING:
            return "the sample has no task for it"
        if _waits_for_user(run):
            return "no schedule has been chosen yet"
        if run.tasks.ready:
            return "the money left does not cover another task on it"
        if run.tasks.waiting:
            return "no task is ready for it"
        return "idle at the end of its paid time"

    def to_pay(self, run: RunView, machine: MachineView) -> float | None:
        if machine.state is MachineState.REQUESTED:
            since = machine.charged_since
            return run.now - (machine.requested_at if since is None else since)
        return reach(run, machine)

    def to_renew(self, run: RunView, machine: MachineView) -> float | None:
        """Seconds for the lease and a part more, so that it need not be done again at once."""
        return max(reach(run, machine), LEASES * machine.offering.lease_seconds)

    def as_planned(self, cluster: ClusterView) -> Offering:
        return cluster.with_its_boot

    def works_until(self, machine: MachineView, now: float) -> float:
        """The end of what it may work: what is reserved need not be entered."""
        return machine.billed_until(now) - machine.offering.boundary_seconds

    def entered(self, machine: MachineView, now: float) -> int:
        since = now if machine.charged_since is None else machine.charged_since
        return atus(machine.offering, now - since)

    def spent(self, run: RunView) -> Money:
        return run.spent()


def _waits_for_user(run: RunView) -> bool:
    """True if somebody is asked. Who has said how to choose would have machines work meanwhile."""
    return run.phase is Phase.CHOOSING and run.settings.rule == ASK


def reach(run: RunView, machine: MachineView) -> float:
    """The seconds from now for which a machine that runs something is reserved at a time."""
    ahead = 0.0
    for attempt in machine.active.values():
        tau = run.now - attempt.since
        known = lengths(run, machine.cluster)
        likely = lasts(run, machine, attempt) if known.count else 0.0
        step = (1 + SLACK) * likely - tau
        if step <= SLACK * tau or not known.count:
            step = max(STEP * tau, SOONEST_SECONDS)
        ahead = max(ahead, step)
    return ahead


def _why_not_held(run: RunView, machine: MachineView) -> str:
    if run.phase is Phase.SAMPLING or (machine.nr and not machine.leaving):
        return ""
    if any(investments.counts(run, attempt) for attempt in machine.active.values()):
        held = investments.worth_holding(run, machine)
        if not held and not run.tasks.waiting:
            held = investments.can_pay_for_all(run)  # anew it would end later
        return "" if held else "what it runs costs less to run anew elsewhere"
    hopes = any(investments.foreseen(run, machine, attempt) for attempt in machine.active.values())
    if hopes and not machine.leaving and investments.can_pay_for_copies(run):
        return ""
    return "what it runs should end sooner elsewhere"


def _nothing_better(run: RunView, machine: MachineView, known: ProfileView) -> bool:
    """True if nothing else runs that needs the money, and it should do for one more task."""
    if any(other.active for other in run.pool.alive() if not other.offering.free):
        return False
    left = run.ledger.left or 0
    seconds = machine.stop_by(run.now) - run.now
    seconds += left // machine.offering.price * machine.offering.atu_seconds
    return known.share_within(seconds) >= LIKELY


def _affordable(run: RunView, machine: MachineView, known: ProfileView) -> bool:
    """True if the money lasts for what runs, and for one more, to the quantile."""
    left = run.ledger.left
    if left is None:
        return True
    rate = machine.offering.price / machine.offering.atu_seconds
    each = max(
        (
            (investments.mean_of(run, k) or known.mean_done) * o.price / o.atu_seconds
            for k, o in enumerate(run.settings.offerings)
        ),
    )
    if left > PLENTY * each * (1 + sum(len(group) for group in run.pool.living)):
        return True
    expected, variance = investments.owed(run)
    length = next_seconds(run, machine)
    deviation = known.spread * length
    paid = max(0.0, machine.stop_by(run.now) - run.now)
    expected += max(0.0, length - paid) * rate
    variance += (deviation * rate) ** 2
    return expected + QUANTILE * math.sqrt(variance) <= left
