"""The life of a machine: it is charged for, joins, falls silent, is taken away, and is gone."""

from bats.common.billing import first_atus
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import ClusterState, Run
from bats.master.brain.protocol.commands import KillTask, StopMachine
from bats.master.brain.protocol.events import (
    Announced,
    Cause,
    Charged,
    Found,
    Gone,
    Joined,
    Returned,
    Silent,
)
from bats.master.brain.rules import dispatch, pausing, replanning, standstill
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views.told.under_cap import whose_money


def charged(run: Run, event: Charged) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is not None:
        hiring.charged(run, machine, event.since)


def joined(run: Run, event: Joined) -> None:
    machine = run.pool.machines.get(event.machine)
    if event.cluster >= 0 and (machine is None or not machine.alive):
        machine = _adopt_manual(run, event)
    if machine is None or machine.state in (MachineState.STOPPING, MachineState.GONE):
        if machine is not None and machine.lent_until is None:
            hiring.charged(run, machine, run.now)  # it came up, though it was called off
        run.out.append(StopMachine(event.machine, "not needed any more"))
        return
    if machine.lent_until is not None:
        _reconcile(run, machine, event)
        run.pool.hungry[machine.id] = None
        return
    if machine.state is MachineState.REQUESTED:
        c = run.clusters[machine.cluster]
        c.start_failures = 0
        c.start_count += 1
        c.start_seconds_sum += run.now - machine.requested_at
        if machine.charged_since is not None:
            c.boot_seconds_sum += run.now - machine.charged_since
    machine.move(MachineState.UP)
    machine.slots = event.slots
    machine.joined_at = run.now
    hiring.charged(run, machine, run.now)
    _reconcile(run, machine, event)
    run.pool.hungry[machine.id] = None


def _adopt_manual(run: Run, event: Joined) -> Machine | None:
    """A worker that its user started by hand."""
    offering = run.clusters[event.cluster].offering
    machine = Machine(event.machine, event.cluster, offering, run.now)
    machine.atus = first_atus(offering)
    if run.phase in (Phase.ENDING, Phase.ENDED):
        return None
    if not run.ledger.reserve(machine.id, offering.price * machine.atus):  # type: ignore[arg-type]
        run.say(f"{machine.name} is turned away: {whose_money(run)} does not cover it")
        return None
    run.pool.add(machine)
    return machine


def _reconcile(run: Run, machine: Machine, event: Joined) -> None:
    """Take what the worker holds for the truth about what it runs."""
    holding = set(event.holding)
    for attempt in list(machine.attempts()):
        if (attempt.task, attempt.attempt) not in holding:
            machine.release(attempt.task, attempt.attempt, run.now)
            run.tasks.remove(attempt)
            dispatch.put_back_if_alone(run, attempt.task)
        else:
            holding.discard((attempt.task, attempt.attempt))
    for task, number in sorted(holding):
        by_hand = event.cluster >= 0
        adopted = run.tasks.adopt(task, number, machine.id, renumbered=by_hand)
        if adopted is None or run.phase not in dispatch.BUSY_PHASES:
            run.out.append(KillTask(machine.id, task, number))
        if adopted is not None:
            machine.take(adopted, run.now)
        else:
            run.tasks.recall(task, number)


def silent(run: Run, event: Silent) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is not None and machine.state is MachineState.UP:
        machine.move(MachineState.SILENT)
        run.pool.hungry.pop(machine.id, None)
        run.pool.idle.pop(machine.id, None)
        run.say(f"{machine.name} is silent; its tasks go to others")
        dispatch.on_machine_lost(run, machine, Cause.FAILED)
        if machine.offering.free:
            hiring.stop(run, machine, "not heard of")


def announced(run: Run, event: Announced) -> None:
    """Give it no more tasks; what runs there may still end. Another is bought in its place."""
    machine = run.pool.machines.get(event.machine)
    if machine is None or not machine.alive or machine.draining:
        return
    machine.draining = event.reason
    run.pool.hungry[machine.id] = None
    run.say(f"{machine.name} gets no more tasks: {event.reason}")
    if run.phase is Phase.EXECUTING:
        replanning.replan(run, "a machine is taken away")


def found(run: Run, event: Found) -> None:
    """Count it as silent until its worker speaks; without the money for it, it is stopped."""
    machine = run.pool.machines.get(event.machine)
    if machine is None or machine.alive:
        return
    if run.phase not in dispatch.BUSY_PHASES:
        run.out.append(StopMachine(machine.id, "not needed any more"))
    elif hiring.take_back(run, machine, event.unpaid_since):
        run.say(f"{machine.name} was held to be gone and lives")
        if run.pause is not None:
            hiring.stop(run, machine, pausing.REASON)
    else:
        reason = f"held to be gone, it lives, and {whose_money(run)} does not cover it"
        run.say(f"{machine.name} is stopped: {reason}")
        run.out.append(StopMachine(machine.id, reason))


def gone(run: Run, event: Gone) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is None or not machine.alive:
        return
    c = run.clusters[machine.cluster]
    if _failed_to_start(run, c, machine, event.cause):
        c.start_failures += 1
        if c.start_failures >= hiring.START_FAILURES:
            hiring.set_aside(run, c, event.detail or "its machines do not start")
    standstill.gone(run, machine)
    asked = machine.state is MachineState.STOPPING and not machine.draining
    dispatch.on_machine_lost(run, machine, Cause.STOPPED if asked else event.cause)
    machine.move(MachineState.GONE)
    run.pool.forget(machine)
    hiring.settle(run, machine, event.at)
    if machine.told_to_stop_at is not None:
        c.stop_count += 1
        c.stop_seconds_sum += run.now - machine.told_to_stop_at
    if not asked and run.phase in dispatch.BUSY_PHASES:
        why = event.detail or event.cause.value
        run.say(f"{machine.name} is gone: {why}")
        if run.phase is Phase.SAMPLING and not run.pool.living[c.index]:
            hiring.start(run, c.index, 1)
        elif run.phase is Phase.EXECUTING:
            replanning.replan(run, "a machine was lost")


def _failed_to_start(run: Run, c: ClusterState, machine: Machine, cause: Cause) -> bool:
    """Leases that end before machines join count once for all that were asked for by then.

    While the master is away all end so.
    """
    if machine.joined_at is not None:
        return False
    if cause is Cause.EXPIRED and machine.requested_at >= c.expired_at:
        c.expired_at = run.now
        return True
    return cause is Cause.FAILED


def returned(run: Run, event: Returned) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is None:
        return
    machine.hold_back = True
    for task in event.tasks:
        for attempt in list(machine.attempts()):
            if attempt.task == task:
                machine.release(task, attempt.attempt, run.now)
                run.tasks.remove(attempt)
                dispatch.put_back_if_alone(run, task)
    run.pool.hungry[machine.id] = None
