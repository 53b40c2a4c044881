"""Facts for whoever drives an engine, as plain data: nothing here can be changed."""

from typing import NamedTuple

from bats.common.messages import MachineId, TaskId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.learning.regression import Line
from bats.master.brain.learning.runtime_law import in_words
from bats.master.brain.planning.mix import Mix
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.commands import BagOutcome, Pause
from bats.master.brain.views.investments import lengths
from bats.master.brain.views.told import held_up, under_cap
from bats.master.brain.views.told.kept import keeps, share
from bats.master.brain.views.told.waits import why_wait


class Headline(NamedTuple):
    """A run in short: it is asked for after every event, so it costs next to nothing."""

    began_at: float
    now: float  # the time of its last event
    phase: Phase
    outcome: BagOutcome | None
    pause: Pause | None
    counts: tuple[int, ...]  # of tasks, by `TaskState`
    budget: Money | None
    limit: Money | None
    committed: Money
    settled: Money
    offered: tuple[Schedule, ...]
    chosen: str
    chosen_at: float
    chosen_committed: Money
    due_at: float | None  # the deadline
    short_of_money: bool  # what is left will hardly finish it
    held_by_cap: str  # words, while a cap above its budget leaves too little to go on
    open: bool  # more tasks may come

    @property
    def done(self) -> int:
        return self.counts[TaskState.DONE]


class MachineFacts(NamedTuple):
    """A machine of the books, be it gone."""

    id: MachineId
    cluster: int
    offering: Offering
    state: MachineState
    joined_at: float | None
    charged_since: float | None
    billed_until: float
    lease_seconds: float
    margin_seconds: float
    slots: int  # that are this bag's
    done: int  # tasks that it has ended

    @property
    def wanted(self) -> bool:
        return self.state not in (MachineState.STOPPING, MachineState.GONE)


class RunningFacts(NamedTuple):
    attempt: int
    machine: MachineId
    cluster: str
    state: str  # running, queued or collecting: ended, and what it left is on its way
    seconds: float | None  # since it got a slot
    sampling: bool


class TaskFacts(NamedTuple):
    state: TaskState
    waits: str  # for what; "" unless it does
    failures: int
    losses: int
    running: tuple[RunningFacts, ...]


class RunningTask(NamedTuple):
    machine: MachineId
    task: TaskId
    since: float


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """The knowledge of one offering."""

    name: str
    known: int
    mean_seconds: float | None
    line: Line
    start_seconds: float
    start_failures: int
    set_aside: str


@dataclass(frozen=True, slots=True)
class PlanFacts:
    mix: Mix
    tasks: int
    makespan_seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class LawFacts:
    """The law by which runtimes follow from the sweep's parameters."""

    words: str
    runtimes: int  # that it was found in
    explained: float  # of the variance of log runtimes, in those that were left out for that
    error: float  # the relative error (one σ) of what it foretells of one task


@dataclass(frozen=True, slots=True)
class OfferingShare:
    """The part of an offering's machines that other bags leave: when it was told, and now."""

    name: str
    counted: int
    limit: int
    most: int  # of the offering
    kept: int  # that others leave it, so that it ends as it was told


@dataclass(frozen=True, slots=True)
class ShareFacts:
    """Likewise of tasks on machines that serve all bags, and of offerings."""

    counted: int
    now: int
    kept: int
    offerings: tuple[OfferingShare, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The numbers behind the plan: what the sample said, what was chosen, what is expected."""

    sample_size: int
    profiles: tuple[ProfileFacts, ...]
    cushion: Money
    delta_n: int
    plan: PlanFacts | None
    law: LawFacts | None
    share: ShareFacts | None  # None: nothing was told


def headline(run: Run) -> Headline:
    ledger = run.ledger
    return Headline(
        run.began_at,
        run.now,
        run.phase,
        run.outcome,
        run.pause,
        tuple(run.tasks.counts),
        run.choice.budget,
        ledger.limit,
        ledger.committed,
        ledger.settled,
        run.schedules,
        run.choice.name,
        run.choice.at,
        run.choice.committed,
        run.due_at,
        run.short_of_money,
        under_cap.still_held_up(run),
        run.open,
    )


def machine_facts(machine: Machine, now: float) -> MachineFacts:
    return MachineFacts(
        machine.id,
        machine.cluster,
        machine.offering,
        machine.state,
        machine.joined_at,
        machine.charged_since,
        machine.billed_until(now),
        machine.lease_seconds,
        machine.margin_seconds,
        machine.slots,
        machine.done_count,
    )


def task_facts(run: Run, task: TaskId, now: float) -> TaskFacts:
    tasks = run.tasks
    state = TaskState(tasks.states[task])
    running = []
    for attempt in tasks.running.get(task, ()):
        machine = run.pool.machines[attempt.machine]
        active = task in machine.active
        running.append(
            RunningFacts(
                attempt.attempt,
                attempt.machine,
                machine.offering.name,
                _stage(machine, task),
                now - attempt.since if active else None,
                attempt.sampling,
            )
        )
    return TaskFacts(
        state,
        _why_not_begun(run, task, state, now),
        tasks.failures.get(task, 0),
        tasks.losses.get(task, 0),
        tuple(running),
    )


def _stage(machine: Machine, task: TaskId) -> str:
    if task in machine.collecting:
        return "collecting"
    return "running" if task in machine.active else "queued"


def _why_not_begun(run: Run, task: TaskId, state: TaskState, now: float) -> str:
    if state is TaskState.WAITING:
        return why_wait(run)
    if run.tasks.order is not None and state is TaskState.BLOCKED:
        return held_up.by_what(run, run.tasks.order, task, now)
    if run.tasks.order is not None and state is TaskState.CUT_OFF:
        states = run.tasks.states
        return held_up.cut_off_by(
            run.tasks.order,
            task,
            lambda one: states[one] == TaskState.FAILED,
            lambda one: states[one] == TaskState.CUT_OFF,
        )
    return ""


def running_tasks(run: Run) -> list[RunningTask]:
    return [
        RunningTask(machine.id, task, attempt.since)
        for machine in run.pool.working()
        for task, attempt in machine.active.items()
    ]


def explanation(run: Run) -> Explanation:
    profiles = []
    for c in run.clusters:
        known = lengths(run, c.index)
        profiles.append(
            ProfileFacts(
                c.offering.name,
                known.count,
                known.mean_done if known.count else None,
                c.line,
                c.start_seconds,
                c.start_failures,
                c.set_aside,
            )
        )
    plan = run.plan
    return Explanation(
        run.sample.size if run.sample else 0,
        tuple(profiles),
        run.choice.cushion,
        run.choice.delta_n,
        None if plan is None else PlanFacts(plan.mix, plan.tasks, plan.makespan_seconds, plan.at),
        _law(run),
        _share(run),
    )


def _law(run: Run) -> LawFacts | None:
    if run.foreseen is None:
        return None
    law = run.foreseen.law
    return LawFacts(in_words(law), law.runtimes, law.explained, law.error)


def _share(run: Run) -> ShareFacts | None:
    told = run.choice.told
    if told is None or told.share is None:
        return None
    kept = keeps(run)
    return ShareFacts(
        told.share.places,
        share(run).places,
        kept.places if kept else 0,
        tuple(
            OfferingShare(
                c.offering.name,
                told.share.machines[c.index],
                c.offering.max_machines,
                run.settings.offerings[c.index].max_machines,
                kept.machines[c.index] if kept else 0,
            )
            for c in run.clusters
            if c.startable
        ),
    )
