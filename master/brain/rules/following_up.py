"""The work after every event: phases, paid time, looks at the plan, free places."""

import heapq
import math

from bats.common.money import NOTHING
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import BagOutcome, WakeAt
from bats.master.brain.rules import (
    choosing,
    dispatch,
    replanning,
    sampling,
    standstill,
    telling,
    user_orders,
)
from bats.master.brain.rules.machines import (
    borrowing,
    carrying_out,
    early_hiring,
    end_of_paid_time,
    hiring,
    lending,
    replicating,
    shares,
)


def follow_up(run: Run) -> None:
    """Decide what is due by now; ask to be woken when more will be."""
    _settle_phase(run)
    run.look_for_law()
    telling.ask_if_known(run)
    _look_at_due(run)
    looked = run.now >= run.next_monitor and _is_looked_after(run)
    if looked:
        run.next_monitor = run.now + replanning.monitor_seconds(run)
        _monitor(run)
        run.pool.hungry.update(run.pool.idle)  # what was not worth copying may be by now
    replicating.see_the_tail(run)
    replicating.follow(run, looked=looked)
    end_of_paid_time.stuck(run)
    user_orders.rank_anew(run)
    if run.pool.idle and run.tasks.ready:
        run.pool.hungry.update(run.pool.idle)
    for machine_id in list(run.pool.hungry):
        machine = run.pool.machines[machine_id]
        fill = dispatch.fill if machine.lent_until is None else borrowing.fill
        fill(run, machine)
    early_hiring.call_back(run)
    replicating.see_the_tail(run)
    replicating.ask(run)
    if run.phase in dispatch.BUSY_PHASES and not run.tasks.waiting:
        carrying_out.call_off(run)
    if run.phase is Phase.ENDING:
        _wind_up(run)
    if run.phase is not Phase.ENDED:
        _wake(run)


def _is_looked_after(run: Run) -> bool:
    """True unless it is paused or waits for a cap: then only the ends of machines are decided."""
    if not run.pool.alive() and (run.waits_for_cap or not run.tasks.unfinished):
        return False
    return run.phase in dispatch.BUSY_PHASES and run.pause is None


def _settle_phase(run: Run) -> None:
    if run.phase is Phase.SAMPLING and sampling.complete(run) and run.tasks.unfinished:
        choosing.sampled(run)
    if not run.tasks.unfinished and run.phase in dispatch.BUSY_PHASES and not run.open:
        failed = run.tasks.counts[TaskState.FAILED]
        if failed:
            words = f"{run.tasks.done} tasks done, {failed} failed"
            if cut_off := run.tasks.counts[TaskState.CUT_OFF]:
                words += f", {cut_off} cut off"
            run.end(BagOutcome.WITH_FAILURES, words)
        elif not len(run.tasks):
            run.end(BagOutcome.COMPLETE, "no task was ever added")
        elif run.tasks.done == 1:
            run.end(BagOutcome.COMPLETE, "its one task is done")
        else:
            left_out = run.tasks.counts[TaskState.DROPPED]
            without = f", {left_out} left out" if left_out else ""
            words = f"{run.tasks.done} tasks done{without}"
            run.end(BagOutcome.COMPLETE, words if left_out else f"all {words}")


def _look_at_due(run: Run) -> None:
    """Machines whose paid time ends now, or soon the time that they may live unheard."""
    due: dict[int, Machine] = {}
    while run.pool.alarms and run.pool.alarms[0][0] <= run.now:
        _, _, machine_id = heapq.heappop(run.pool.alarms)
        machine = run.pool.machines[machine_id]
        if machine.alive and machine.state is not MachineState.STOPPING:
            due[machine_id] = machine
    if due:
        end_of_paid_time.due(run, [m for m in due.values() if _is_due(run, m)])
    for machine in due.values():
        end_of_paid_time.renew(run, machine)


def _is_due(run: Run, machine: Machine) -> bool:
    if machine.offering.free or machine.stop_by(run.now) <= run.now:
        return True
    return not machine.load and not machine.collecting and machine.idle_until(run.now) <= run.now


def _monitor(run: Run) -> None:
    standstill.look(run)
    if run.pause is not None:
        return
    if run.phase is Phase.SAMPLING:
        sampling.leave_out_late(run)
        _settle_phase(run)
        early_hiring.hire(run)
    elif run.phase is Phase.CHOOSING:
        choosing.offer(run)
    else:
        shares.see_what_others_leave(run)
        telling.look_again(run)
        replanning.watch(run)


def _wind_up(run: Run) -> None:
    """The bag has ended: stop every machine, and close when the last one is paid.

    What others use of the time that is paid for anyway, they have till that ends.
    """
    for machine in list(run.pool.borrowed.values()):
        borrowing.give_back(run, machine)
    if run.tasks.unfinished:
        dispatch.kill_everything(run)
        run.tasks.drop_unfinished()
    for machine in run.pool.alive():
        if not lending.keeps(run, machine):
            hiring.stop(run, machine, "the bag has ended")
    if not run.pool.alive():
        run.move(Phase.ENDED)
        assert run.ledger.reserved == NOTHING


def _wake(run: Run) -> None:
    """Ask to be woken for the next monitoring or the next end of an ATU."""
    at = run.next_monitor if _is_looked_after(run) else math.inf
    if run.pool.alarms:
        at = min(at, run.pool.alarms[0][0])
    at = min(at, replicating.next_at(run))
    if at < math.inf and (at != run.woken_at or at <= run.now):
        run.woken_at = at
        run.out.append(WakeAt(max(at, run.now)))
