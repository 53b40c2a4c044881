"""Lending: paid time that a bag has no use for runs tasks of other bags, at no charge.

The bag that pays for a machine needs it first: it begins a task there as if nobody else were, and
whoever had borrowed the machine gives back what ran. At the end of its paid time it goes as ever. A
bag that has ended keeps a machine for others as long as one of them uses it, and pays nothing for
that: the ATU is billed anyway, and no other is entered.
"""

import math
from typing import NamedTuple

from bats.common.billing import charge_atus
from bats.common.messages import MachineId
from bats.common.offering import MANUAL
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.protocol.events import Lends, Unwanted
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views import investments


class Spare(NamedTuple):
    """A machine of which its bag uses so many places, until its paid time ends."""

    until: float
    used: int


def lends(run: Run, event: Lends) -> None:
    run.lends = event.to_others


def unwanted(run: Run, event: Unwanted) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is not None:
        machine.unwanted = True


def spare(run: Run) -> dict[MachineId, Spare]:
    """The machines that others may use, as far as it does not."""
    if not run.lends or run.phase is Phase.SAMPLING:
        return {}
    ending = run.phase is Phase.ENDING
    idle = run.pool.alive() if ending else [run.pool.machines[one] for one in run.pool.idle]
    return {
        machine.id: Spare(_until(run, machine), len(machine.active))
        for machine in idle
        if is_spare(run, machine)
    }


def is_spare(run: Run, machine: Machine) -> bool:
    return (
        run.lends
        and machine.lent_until is None
        and machine.offering.backend != MANUAL  # that is the household's
        and machine.state is MachineState.UP
        and machine.charged_since is not None
        and not (machine.draining or machine.unwanted)
        and not (machine.offering.free and not run.clusters[machine.cluster].shared)
        and not machine.queued
        and machine.offering.reliable
        and _until(run, machine) > run.now
    )


def _until(run: Run, machine: Machine) -> float:
    """The end of the time that costs nothing more."""
    return math.inf if machine.offering.free else machine.idle_until(run.now)


def keeps(run: Run, machine: Machine) -> bool:
    """True if a bag that has ended keeps it for others; then it is reserved for no longer.

    One that costs nothing has its lease renewed as long as others use it.
    """
    if not is_spare(run, machine):
        return False
    if machine.offering.free:
        return True
    needed = investments.atus_until(run, machine, 0.0)
    if machine.atus > needed:
        machine.atus, machine.nr = needed, 0
        run.ledger.owe(machine.id, charge_atus(machine.offering, needed))
        hiring.announce(run, machine)
    run.pool.alarm(machine, machine.idle_until(run.now))
    return True
