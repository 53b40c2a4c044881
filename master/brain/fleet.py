"""Asking for machines and letting them go, with the money reserved first."""

from typing import Final

from bats.common.billing import atus, charge, charge_atus
from bats.common.money import NOTHING
from bats.master.brain.commands import RenewLease, StartMachines, StopMachine
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.state import ClusterState, Run

FREE_LEASE_SECONDS: Final = 900.0
"""A free machine costs nothing but should not outlive its master by much."""

START_FAILURES: Final = 3
"""So many machines in a row that do not start, and the offering is set aside."""


def start(run: Run, cluster: int, count: int) -> int:
    """Ask for machines as far as the ledger covers their first ATU; returns how many."""
    c = run.clusters[cluster]
    offering = c.offering
    room = offering.max_machines - len(run.living[cluster])
    started = []
    term = run.first_term(offering)
    for _ in range(min(count, room) if c.startable else 0):
        machine = Machine(run.new_machine_id(), cluster, offering, run.now)
        machine.atus = term
        if not run.ledger.reserve(machine.id, charge_atus(offering, term)):
            break
        run.add(machine)
        started.append(machine.id)
    if started:
        run.out.append(StartMachines(cluster, tuple(started)))
    return len(started)


def stop(run: Run, machine: Machine, reason: str) -> None:
    """Tell it to stop now; its tasks go back when it is gone."""
    if machine.state in (MachineState.STOPPING, MachineState.GONE):
        return
    machine.move(MachineState.STOPPING)
    run.hungry.pop(machine.id, None)
    run.idle.pop(machine.id, None)
    run.out.append(StopMachine(machine.id, reason))


def take_back(run: Run, machine: Machine, unpaid_since: float | None) -> bool:
    """It was held to be gone; False when the ledger does not cover what it costs from then on."""
    offering = machine.offering
    owed = 0 if unpaid_since is None else atus(offering, max(0.0, run.now - unpaid_since))
    term = max(run.first_term(offering), owed)
    if not run.ledger.reserve(machine.id, charge_atus(offering, term)):
        return False
    machine.move(MachineState.SILENT)
    machine.atus, machine.nr, machine.charged_since = term, 0, unpaid_since
    machine.leaving, machine.draining = False, ""
    run.add(machine)
    if unpaid_since is not None:
        announce(run, machine)
    return True


def charged(run: Run, machine: Machine, since: float) -> None:
    """The provider's meter runs: the ATUs count from here."""
    if machine.charged_since is None and machine.alive:
        machine.charged_since = since
        announce(run, machine)


def renew(run: Run, machine: Machine) -> bool:
    """Reserve the next term; False when the ledger does not cover it."""
    term = run.term(machine.offering)
    if not run.ledger.reserve(machine.id, charge_atus(machine.offering, machine.atus + term)):
        return False
    machine.atus += term
    machine.nr = max(0, machine.nr - term)
    announce(run, machine)
    return True


def announce(run: Run, machine: Machine) -> None:
    """Tell the worker until when it may live, and look at it again before its ATU ends."""
    if machine.offering.free:
        run.out.append(RenewLease(machine.id, run.now + FREE_LEASE_SECONDS))
        run.alarm(machine, run.now + FREE_LEASE_SECONDS / 2)
        return
    stop_by = machine.stop_by(run.now)
    run.alarm(machine, stop_by)
    run.out.append(RenewLease(machine.id, machine.lease_until(run.now)))


def settle(run: Run, machine: Machine, at: float) -> None:
    """It is gone: pay what its uptime costs, give back what was reserved beyond."""
    cost = NOTHING
    if machine.charged_since is not None:
        cost = charge(machine.offering, at - machine.charged_since)
    run.ledger.settle(machine.id, cost)


def set_aside(run: Run, c: ClusterState, reason: str) -> None:
    """Plan without this offering from now on; machines not yet charged are called off."""
    if c.set_aside:
        return
    c.set_aside = reason
    run.say(f"{c.offering.name} is set aside: {reason}")
    for machine in list(run.living[c.index].values()):
        if machine.state is MachineState.REQUESTED:
            stop(run, machine, reason)
