"""Asking for machines and letting them go, with the money reserved first."""

from typing import Final

from bats.common.billing import atus, charge_atus, first_atus
from bats.common.money import NOTHING
from bats.master.brain.books.machine import LEASE_SECONDS, Machine, MachineState
from bats.master.brain.books.state import ClusterState, Run
from bats.master.brain.protocol.commands import RenewLease, StartMachines, StopMachine

START_FAILURES: Final = 3
"""The number of machines in a row that do not start after which their offering is set aside."""


def start(run: Run, cluster: int, count: int) -> int:
    """Ask for machines as far as the ledger covers their first ATU; returns how many."""
    if run.pause is not None:
        return 0
    c = run.clusters[cluster]
    offering = c.offering
    room = offering.max_machines - len(run.pool.living[cluster])
    started = []
    least = first_atus(offering)
    for _ in range(min(count, room) if c.startable else 0):
        machine = Machine(run.pool.new_machine_id(), cluster, offering, run.now)
        machine.atus = least
        if not run.ledger.reserve(machine.id, charge_atus(offering, least)):
            break
        run.pool.add(machine)
        started.append(machine.id)
    if started:
        run.out.append(StartMachines(cluster, tuple(started)))
    return len(started)


def pays_for(run: Run, c: ClusterState) -> bool:
    """True if the money covers the first ATUs of another machine."""
    return run.ledger.covers(charge_atus(c.offering, first_atus(c.offering)))


def stop(run: Run, machine: Machine, reason: str) -> None:
    """Tell it to stop now; its tasks go back when it is gone."""
    if machine.state in (MachineState.STOPPING, MachineState.GONE):
        return
    machine.move(MachineState.STOPPING)
    machine.told_to_stop_at = run.now
    run.pool.hungry.pop(machine.id, None)
    run.pool.idle.pop(machine.id, None)
    run.out.append(StopMachine(machine.id, reason))


def take_back(run: Run, machine: Machine, unpaid_since: float | None) -> bool:
    """Take a machine back; False when the ledger does not cover what it costs from then on."""
    offering = machine.offering
    owed = 0 if unpaid_since is None else atus(offering, max(0.0, run.now - unpaid_since))
    term = max(first_atus(offering), owed)
    if not run.ledger.reserve(machine.id, charge_atus(offering, term)):
        return False
    machine.move(MachineState.SILENT)
    machine.told_to_stop_at = None
    machine.atus, machine.nr, machine.charged_since = term, 0, unpaid_since
    machine.leaving, machine.draining = False, ""
    run.pool.add(machine)
    if unpaid_since is not None:
        announce(run, machine)
    return True


def charged(run: Run, machine: Machine, since: float) -> None:
    """The provider's meter runs: the ATUs count from here.

    A machine that joined before its provider spoke was charged earlier than that was known.
    """
    if machine.alive and (machine.charged_since is None or since < machine.charged_since):
        machine.charged_since = since
        announce(run, machine)


def extend(run: Run, machine: Machine, more: int = 1) -> bool:
    """Reserve so many ATUs more; False when the ledger does not cover them."""
    if not run.ledger.reserve(machine.id, charge_atus(machine.offering, machine.atus + more)):
        return False
    machine.atus += more
    machine.nr = max(0, machine.nr - more)
    announce(run, machine)
    return True


def announce(run: Run, machine: Machine) -> None:
    """Tell the worker until when it may live, and look at it again before its ATU ends."""
    if machine.offering.free:
        run.out.append(RenewLease(machine.id, run.now + LEASE_SECONDS))
        run.pool.alarm(machine, run.now + LEASE_SECONDS / 2)
        return
    stop_by = machine.stop_by(run.now)
    run.pool.alarm(machine, stop_by)
    mind_lease(run, machine)
    run.out.append(RenewLease(machine.id, machine.lease_until(run.now)))


def mind_lease(run: Run, machine: Machine) -> None:
    """Look at it again when it is paid ahead for no more than its lease."""
    if machine.leased_beyond_atus:
        run.pool.alarm(machine, machine.stop_by(run.now) - machine.offering.lease_seconds)


def settle(run: Run, machine: Machine, at: float) -> None:
    """Settle the bill of a machine that is gone, and give back what was reserved beyond."""
    cost = NOTHING
    if machine.charged_since is not None:
        entered = atus(machine.offering, at - machine.charged_since)
        cost = charge_atus(machine.offering, entered)
        machine.entered += entered
    run.ledger.settle(machine.id, cost)


def set_aside(run: Run, c: ClusterState, reason: str) -> None:
    """Plan without this offering from now on; machines not yet charged are called off."""
    if c.set_aside:
        return
    c.set_aside = reason
    run.say(f"{c.offering.name} is set aside: {reason}")
    for machine in list(run.pool.living[c.index].values()):
        if machine.state is MachineState.REQUESTED:
            stop(run, machine, reason)


def try_free_again(run: Run) -> None:
    """Ask once more for machines that cost nothing and of which too many in a row did not start."""
    for c in run.clusters:
        if c.offering.free and c.set_aside and c.start_failures >= START_FAILURES:
            c.set_aside, c.start_failures = "", START_FAILURES - 1
