"""Reserving for machines ahead, as long as policies say that it is worth it and the money lasts."""

from bats.common.billing import charge_atus
from bats.master.brain.books.machine import Machine
from bats.master.brain.books.state import Run
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views.investments import atus_until


def begins(run: Run, machine: Machine, seconds: float | None) -> bool:
    """True if a task begins there that needs the machine to be reserved for so long."""
    return seconds is not None and (seconds == 0.0 or cover(run, machine, seconds))


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
    return hiring.extend(run, machine, more)


def renew(run: Run, machine: Machine, seconds: float) -> None:
    """Reserve for all of that time, or leave it."""
    more = atus_until(run, machine, seconds) - machine.atus
    if more > 0:
        hiring.extend(run, machine, more)
