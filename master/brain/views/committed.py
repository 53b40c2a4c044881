"""Money that is spent or reserved, for ATUs that begin in a window of time."""

from bats.common.billing import begun_before, charge_atus
from bats.common.money import Money
from bats.master.brain.books.machine import Machine
from bats.master.brain.books.state import Run


def committed_since(run: Run, at: float) -> Money:
    """Of a machine that is not charged yet all is to come.

    Whatever else is doubtful counts as of this window: rather too little may be spent in it.
    """
    if at <= 0:  # of the bag's own time: it is not as old as the window
        return run.ledger.committed
    before = sum(charge_atus(m.offering, _begun(m, at)) for m in run.pool.machines.values())
    return Money(run.ledger.committed - before)


def _begun(machine: Machine, at: float) -> int:
    since = machine.charged_since
    if since is None or at < since:
        return 0
    begun = begun_before(machine.offering.atu_seconds, since, at)
    if not machine.alive:
        return min(machine.entered, begun)
    return machine.entered + min(machine.atus, begun)
