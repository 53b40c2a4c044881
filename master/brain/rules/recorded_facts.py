"""Facts that a store has beside the journal, taken in where today's decisions disagree with them.

A journal tells what happened, not what was decided. An engine of another release may ask for other
machines, or send tasks to others, when it hears it again. What was paid, done and failed stays.
"""

from bats.common.billing import charge_atus, first_atus
from bats.common.money import NOTHING
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Asked, Closed, GivenUp
from bats.master.brain.rules import dispatch


def asked(run: Run, event: Asked) -> None:
    """Enter the machine; one of our own that had its number was never asked for."""
    if (there := run.pool.machines.get(event.machine)) is not None and there.alive:
        there.move(MachineState.GONE)
        run.pool.forget(there)
        run.ledger.settle(there.id, NOTHING)
    offering = run.clusters[event.cluster].offering
    machine = Machine(event.machine, event.cluster, offering, event.at)
    machine.atus = first_atus(offering)
    run.ledger.owe(machine.id, charge_atus(offering, machine.atus))
    run.pool.add(machine)
    run.pool.last_machine = max(run.pool.last_machine, machine.id)


def given_up(run: Run, event: GivenUp) -> None:
    for task in event.tasks:
        if run.tasks.states[task] in (
            TaskState.WAITING,
            TaskState.RUNNING,
            TaskState.BLOCKED,
        ):
            run.tasks.give_up(task)


def closed(run: Run, event: Closed) -> None:
    if run.phase in dispatch.BUSY_PHASES:
        run.end(BagOutcome(event.outcome), event.words)
