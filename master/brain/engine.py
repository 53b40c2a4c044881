"""The scheduler: a pure state machine. Events and the time go in, commands come out.

Same settings, same events, same commands, always; chance comes from the seed in the settings.
Two drivers use it alike: the live master (`master/service`) and the simulator (`master/simulate`).
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from bats.common.billing import first_atus
from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, TaskId
from bats.common.money import NOTHING
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import ClusterState, Oracle, Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.policies.by_name import policies_of
from bats.master.brain.prediction.predictors import Question
from bats.master.brain.protocol.commands import BagOutcome, Command, KillTask, StopMachine, WakeAt
from bats.master.brain.protocol.events import (
    Announced,
    Asked,
    Begin,
    Cancelled,
    Cause,
    Charged,
    Chosen,
    Closed,
    Ended,
    Event,
    Found,
    GivenUp,
    Gone,
    Joined,
    Resumed,
    Retried,
    Returned,
    SetAside,
    Silent,
    Woken,
)
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.rules import (
    choosing,
    dispatch,
    early_hiring,
    end_of_paid_time,
    fleet,
    monitoring,
    pausing,
    recorded,
    replanning,
    sampling,
    standstill,
)
from bats.master.brain.views import facts, forecast, refusals
from bats.master.brain.views.facts import (
    Explanation,
    Headline,
    MachineFacts,
    RunningTask,
    TaskFacts,
)
from bats.master.brain.views.view import RunView, view


class Engine:
    """One bag's scheduler."""

    def __init__(self, settings: Settings, oracle: Oracle | None = None) -> None:
        self.run = Run(settings, policies_of(settings), oracle)

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take in what happened and say what to do. All events go through here."""
        run = self.run
        run.now = now = max(now, run.now)
        out: list[Command] = []
        run.out = out
        RULES[type(event)](run, event)
        _follow_up(run)
        if run.phase is not Phase.ENDED:
            _wake(run, now)
        return out

    # --- what may be known of it: whoever asks changes nothing ------------------------------------

    @property
    def over(self) -> bool:
        """Every task is settled and every machine gone and paid."""
        return self.run.phase is Phase.ENDED

    def ordered_at(self, machine: MachineId, task: TaskId, attempt: int) -> float | None:
        """The time this machine was given the attempt; None if not, or if it told its end."""
        ordered = self.run.tasks.ordered(task, attempt, machine)
        return None if ordered is None else ordered.ordered_at

    def was_sent(self, task: TaskId, attempt: int) -> bool:
        """Some machine was given this attempt, some time."""
        return self.run.tasks.was_sent(task, attempt)

    def headline(self) -> Headline:
        return facts.headline(self.run)

    def view(self, now: float = 0.0) -> RunView:
        """All of it at that time, or at its last event."""
        return view(self.run, now)

    def explain(self) -> Explanation:
        """The reasons why it plans as it does."""
        return facts.explanation(self.run)

    def machine(self, machine: MachineId, now: float = 0.0) -> MachineFacts | None:
        """None of one that it never knew."""
        known = self.run.pool.machines.get(machine)
        return None if known is None else facts.machine_facts(known, max(now, self.run.now))

    def alive(self) -> list[MachineFacts]:
        return [facts.machine_facts(one, self.run.now) for one in self.run.pool.alive()]

    def task(self, task: TaskId, now: float = 0.0) -> TaskFacts:
        return facts.task_facts(self.run, task, max(now, self.run.now))

    def tasks(self, *states: TaskState) -> list[TaskId]:
        """Those in one of these states."""
        return [TaskId(task) for task, one in enumerate(self.run.tasks.states) if one in states]

    def running(self) -> list[RunningTask]:
        return facts.running_tasks(self.run)

    def tried_again(self) -> list[TaskId]:
        """Tasks that were given up and will be tried again when it is resumed."""
        return pausing.tried_again(self.run)

    def refusal(self, chosen: Chosen) -> str:
        """A refusal in a sentence or two; "" if it can be chosen."""
        return refusals.why_not(self.run, chosen)

    def promised(self) -> tuple[Schedule, ...]:
        """The schedules on offer, and what is done instead if a limit decided."""
        return forecast.promised(self.run)

    def questions(self, schedules: Sequence[Schedule]) -> tuple[Question, ...]:
        """The questions to a predictor about these: plain data, to be answered elsewhere."""
        return forecast.questions(self.run, schedules)

    def check(self) -> None:
        """Raise BrokenInvariantError unless the books agree."""
        run = self.run
        run.tasks.check()
        run.ledger.check()
        on_machines = 0
        for machine in run.pool.alive():
            for attempt in machine.attempts():
                on_machines += 1
                if attempt not in run.tasks.running.get(attempt.task, ()):
                    raise BrokenInvariantError(f"the task book misses attempt of {attempt.task}")
            if machine.queued and len(machine.active) < machine.slots:
                raise BrokenInvariantError(f"machine {machine.id} queues with a free slot")
        if on_machines != sum(len(copies) for copies in run.tasks.running.values()):
            raise BrokenInvariantError("an attempt runs on no machine")
        can_be_sent = run.tasks.pooled()
        if run.sample is not None:
            can_be_sent.update(task for left in run.sample.left for task in left)
        for task, state in enumerate(run.tasks.states):
            if state == TaskState.WAITING and task not in can_be_sent:
                raise BrokenInvariantError(f"task {task} waits and can never be drawn")


def replay(settings: Settings, events: Iterable[tuple[float, Event]]) -> Engine:
    """The engine as it was after these events; its commands were carried out in its first life."""
    engine = Engine(settings)
    for now, event in events:
        engine.handle(event, now)
    return engine


# --- one rule per event --------------------------------------------------------------------------


def _begin(run: Run, _: Begin) -> None:
    run.began_at = run.now
    run.next_monitor = run.now + monitoring.monitor_seconds(run)
    sampling.begin(run)


def _charged(run: Run, event: Charged) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is not None:
        fleet.charged(run, machine, event.since)


def _joined(run: Run, event: Joined) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is None and event.cluster >= 0:
        machine = _adopt_manual(run, event)
    if machine is None or machine.state in (MachineState.STOPPING, MachineState.GONE):
        run.out.append(StopMachine(event.machine, "not needed any more"))
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
    fleet.charged(run, machine, run.now)
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
        run.say(f"machine {machine.id} is turned away: the budget does not cover it")
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


def _silent(run: Run, event: Silent) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is not None and machine.state is MachineState.UP:
        machine.move(MachineState.SILENT)
        run.pool.hungry.pop(machine.id, None)
        run.pool.idle.pop(machine.id, None)
        run.say(f"machine {machine.id} is silent; its tasks go to others")
        dispatch.on_machine_lost(run, machine, Cause.FAILED)
        if machine.offering.free:
            fleet.stop(run, machine, "not heard of")


def _announced(run: Run, event: Announced) -> None:
    """Give it no more tasks; what runs there may still end. Another is bought in its place."""
    machine = run.pool.machines.get(event.machine)
    if machine is None or not machine.alive or machine.draining:
        return
    machine.draining = event.reason
    run.pool.hungry[machine.id] = None
    name = machine.offering.name
    run.say(f"machine {machine.id} ({name}) gets no more tasks: {event.reason}")
    if run.phase is Phase.EXECUTING:
        replanning.replan(run, "a machine is taken away")


def _found(run: Run, event: Found) -> None:
    """Count it as silent until its worker speaks; without the money for it, it is stopped."""
    machine = run.pool.machines.get(event.machine)
    if machine is None or machine.alive:
        return
    if run.phase not in dispatch.BUSY_PHASES:
        run.out.append(StopMachine(machine.id, "not needed any more"))
    elif fleet.take_back(run, machine, event.unpaid_since):
        run.say(f"machine {machine.id} ({machine.offering.name}) was held to be gone and lives")
        if run.pause is not None:
            fleet.stop(run, machine, pausing.REASON)
    else:
        reason = "held to be gone, it lives, and the budget does not cover it"
        run.say(f"machine {machine.id} ({machine.offering.name}) is stopped: {reason}")
        run.out.append(StopMachine(machine.id, reason))


def _gone(run: Run, event: Gone) -> None:
    machine = run.pool.machines.get(event.machine)
    if machine is None or not machine.alive:
        return
    c = run.clusters[machine.cluster]
    if _failed_to_start(run, c, machine, event.cause):
        c.start_failures += 1
        if c.start_failures >= fleet.START_FAILURES:
            fleet.set_aside(run, c, event.detail or "its machines do not start")
    standstill.gone(run, machine)
    asked = machine.state is MachineState.STOPPING and not machine.draining
    dispatch.on_machine_lost(run, machine, Cause.STOPPED if asked else event.cause)
    machine.move(MachineState.GONE)
    run.pool.forget(machine)
    fleet.settle(run, machine, event.at)
    if not asked and run.phase in dispatch.BUSY_PHASES:
        why = event.detail or event.cause.value
        run.say(f"machine {machine.id} ({c.offering.name}) is gone: {why}")
        if run.phase is Phase.SAMPLING and not run.pool.living[c.index]:
            fleet.start(run, c.index, 1)
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


def _ended(run: Run, event: Ended) -> None:
    dispatch.on_ended(run, run.pool.machines.get(event.machine), event.endings)


def _returned(run: Run, event: Returned) -> None:
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


def _chosen(run: Run, event: Chosen) -> None:
    choosing.choose(run, event)


def _cancelled(run: Run, event: Cancelled) -> None:
    if run.phase in dispatch.BUSY_PHASES:
        run.end(BagOutcome.CANCELLED, f"{event.reason}; {run.not_done}")


def _retried(run: Run, event: Retried) -> None:
    """Failed tasks are tried again; a bag that had ended goes on."""
    for task in event.tasks:
        if run.tasks.states[task] in (TaskState.FAILED, TaskState.DROPPED):
            run.tasks.retry(task)
    pausing.resume(run)
    if run.phase in (Phase.ENDING, Phase.ENDED) and run.tasks.waiting:
        pausing.arm(run)
        run.outcome, run.ended_at = None, None
        if sampling.begin_again(run):
            return
        run.move(Phase.EXECUTING)
        replanning.replan(run, "tasks are tried again")


def _resumed(run: Run, _: Resumed) -> None:
    pausing.resume(run)


def _set_aside(run: Run, event: SetAside) -> None:
    fleet.set_aside(run, run.clusters[event.cluster], event.reason)
    if run.phase is Phase.EXECUTING:
        replanning.replan(run, "an offering was set aside")


def _woken(run: Run, _: Woken) -> None:
    run.woken_at = None


RULES: Final[Mapping[type, Callable[[Run, Any], None]]] = {
    Begin: _begin,
    Charged: _charged,
    Joined: _joined,
    Silent: _silent,
    Announced: _announced,
    Found: _found,
    Gone: _gone,
    Ended: _ended,
    Returned: _returned,
    Chosen: _chosen,
    Cancelled: _cancelled,
    Retried: _retried,
    Resumed: _resumed,
    SetAside: _set_aside,
    Woken: _woken,
    Asked: recorded.asked,
    GivenUp: recorded.given_up,
    Closed: recorded.closed,
}


# --- after every event ---------------------------------------------------------------------------


def _follow_up(run: Run) -> None:
    _settle_phase(run)
    _look_at_due(run)
    if run.now >= run.next_monitor and _is_looked_after(run):
        run.next_monitor = run.now + monitoring.monitor_seconds(run)
        _monitor(run)
        run.pool.hungry.update(run.pool.idle)  # what was not worth copying may be by now
    end_of_paid_time.stuck(run)
    if run.pool.idle and run.tasks.waiting:
        run.pool.hungry.update(run.pool.idle)
    for machine_id in list(run.pool.hungry):
        dispatch.fill(run, run.pool.machines[machine_id])
    if run.phase is Phase.ENDING:
        _wind_up(run)


def _is_looked_after(run: Run) -> bool:
    """True unless it is paused: then there is nothing to decide but the ends of machines."""
    return run.phase in dispatch.BUSY_PHASES and run.pause is None


def _settle_phase(run: Run) -> None:
    if run.phase is Phase.SAMPLING and sampling.complete(run) and run.tasks.unfinished:
        choosing.sampled(run)
    if not run.tasks.unfinished and run.phase in dispatch.BUSY_PHASES:
        failed = run.tasks.counts[TaskState.FAILED]
        if failed:
            run.end(BagOutcome.WITH_FAILURES, f"{run.tasks.done} tasks done, {failed} failed")
        else:
            run.end(BagOutcome.COMPLETE, f"all {run.tasks.done} tasks done")


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
    return not machine.load and machine.idle_until(run.now) <= run.now


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
        monitoring.watch(run)


def _wind_up(run: Run) -> None:
    """The bag has ended: stop every machine, and close when the last one is paid."""
    if run.tasks.unfinished:
        dispatch.kill_everything(run)
        run.tasks.drop_unfinished()
    for machine in run.pool.alive():
        fleet.stop(run, machine, "the bag has ended")
    if not run.pool.alive():
        run.move(Phase.ENDED)
        assert run.ledger.reserved == NOTHING


def _wake(run: Run, now: float) -> None:
    """Ask to be woken for the next monitoring or the next end of an ATU."""
    at = run.next_monitor if _is_looked_after(run) else math.inf
    if run.pool.alarms:
        at = min(at, run.pool.alarms[0][0])
    if at < math.inf and (at != run.woken_at or at <= now):
        run.woken_at = at
        run.out.append(WakeAt(max(at, now)))
