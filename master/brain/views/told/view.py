"""A run as people and programs may see it: the numbers behind its current plan, as plain data."""

from copy import copy
from typing import NamedTuple

from bats.common.billing import charge
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import ClusterState, Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.prediction.expected_end import eta_bounds
from bats.master.brain.protocol.commands import BagOutcome, Pause
from bats.master.brain.views import investments
from bats.master.brain.views.outlook import outlook
from bats.master.brain.views.told import promises
from bats.master.brain.views.told.promises import ToldView
from bats.master.brain.views.told.under_cap import still_held_up


@dataclass(frozen=True, slots=True)
class ClusterView:
    name: str
    price: Money  # per machine and ATU
    atu_seconds: float
    slots: int
    limit: int  # A_i
    machines: int  # that stay
    leaving: int
    planned: int  # in the current mix, or there to stay
    known: int  # how many runtimes T_i stands on; while the sample goes on, how many have ended
    mean_seconds: float  # T_i, running tasks included; 0 while nothing is known
    start_seconds: float  # learned: from request to joining
    doubt: str  # why its speed is not a regression's, if so
    set_aside: str


@dataclass(frozen=True, slots=True)
class MachineView:
    id: int
    cluster: str
    state: str
    leaving: bool
    slots: int
    running: int
    queued: int
    done: int
    requested_at: float
    joined_at: float | None
    charged_since: float | None
    paid_until: float | None
    cost: Money  # so far, the running ATU in full


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a workflow: its tasks by their states."""

    name: str
    total: int
    waiting: int  # for a machine alone
    blocked: int
    running: int
    done: int
    failed: int
    cut_off: int


@dataclass(frozen=True, slots=True)
class RunView:
    """Times are the run's own seconds, counted from its beginning."""

    now: float
    phase: Phase
    outcome: BagOutcome | None
    paused: Pause | None  # beside the phase
    total: int
    waiting: int  # for a machine alone
    blocked: int  # by tasks that are not done
    running: int
    done: int
    failed: int
    dropped: int
    cut_off: int  # by tasks that failed for good
    duplicates: int
    budget: Money | None  # what the user gave
    limit: Money | None  # what may be spent at most, by the schedule chosen
    spent: Money  # for ATUs entered
    reserved: Money  # for ATUs to come that are promised to machines
    left: Money | None
    held_by_cap: str  # words, while a cap above its budget leaves too little to go on
    chosen: str
    chosen_at: float
    chosen_committed: Money  # for machines until then, the ATUs they were in included
    told: ToldView | None
    looks: tuple[ToldView, ...]  # what it came to at each look since, the last by now
    at_risk: str  # a bound that will hardly hold, and what can be done
    began_at: float
    ended_at: float | None
    deadline_at: float | None
    deadline_missed: bool
    N_e: int  # tasks left when the paid time is used
    N_p: int  # tasks that the plan can still do beyond
    speed: float  # tasks per second of the machines that stay
    eta_seconds: float | None  # from now, at that speed
    eta_bounds: tuple[float, float] | None  # with 90 % confidence
    plan_made_at: float | None
    plan_ends_at: float | None
    next_look_at: float  # the next monitoring
    next_boundary_at: float | None  # the next end of an ATU that is paid for
    clusters: tuple[ClusterView, ...]
    machines: tuple[MachineView, ...]
    steps: tuple[StepView, ...] = ()  # of a workflow
    open: bool = False  # more tasks may come: all is for those known so far
    stood_still: float = 0.0  # so long since the schedule was chosen
    strategy: str = ""  # for unreliable machines, that it goes by instead of a schedule
    failing: int = 0  # tasks that failed, which paused it, and are not given up


def view(run: Run, now: float) -> RunView:
    """The run as it stands then, or was at its last event; it costs a pass over the machines."""
    run = copy(run)  # what is looked at is not changed: only here it is later
    run.now = max(now, run.now)
    clusters = run.planning_clusters()
    known = bool(run.known())
    ahead = outlook(run, clusters) if known else None
    speed = ahead.speed if ahead else 0.0
    expected = _expected(run, speed)
    machines = tuple(_machine(run, m) for m in run.pool.alive())
    spent = Money(run.ledger.settled + sum(m.cost for m in machines))
    plan = run.plan
    due, ended = run.due_at, run.ended_at
    counts = run.tasks.counts
    boundaries = [m.paid_until for m in machines if m.paid_until is not None]
    return RunView(
        now=run.now,
        phase=run.phase,
        outcome=run.outcome,
        paused=run.pause,
        total=len(run.tasks),
        waiting=counts[TaskState.WAITING],
        blocked=counts[TaskState.BLOCKED],
        running=counts[TaskState.RUNNING],
        done=counts[TaskState.DONE],
        failed=counts[TaskState.FAILED],
        dropped=counts[TaskState.DROPPED],
        cut_off=counts[TaskState.CUT_OFF],
        duplicates=run.duplicates,
        budget=run.choice.budget,
        limit=run.ledger.limit,
        spent=spent,
        reserved=Money(run.ledger.committed - spent),
        left=run.ledger.left,
        held_by_cap=still_held_up(run),
        chosen=run.choice.name,
        chosen_at=run.choice.at,
        chosen_committed=run.choice.committed,
        told=promises.told(run),
        looks=promises.looks(run),
        at_risk=promises.at_risk(
            run, run.now - run.began_at + expected.seconds if expected else None
        ),
        began_at=run.began_at,
        ended_at=ended,
        deadline_at=due,
        deadline_missed=due is not None and due < (run.now if ended is None else ended),
        N_e=ahead.N_e if ahead else run.tasks.waiting,
        N_p=ahead.N_p if ahead else 0,
        speed=speed,
        eta_seconds=expected.seconds if expected else None,
        eta_bounds=expected.bounds if expected else None,
        plan_made_at=plan.at if plan else None,
        plan_ends_at=plan.at + plan.makespan_seconds if plan else None,
        next_look_at=run.next_monitor,
        next_boundary_at=min(boundaries, default=None),
        clusters=tuple(_cluster(run, c, clusters[c.index].mean_seconds) for c in run.clusters),
        machines=machines,
        steps=_steps(run),
        open=run.open and run.phase not in (Phase.ENDING, Phase.ENDED),
        stood_still=run.progress.stood_still,
        strategy="" if (pools := run.replicator.pools()) is None else pools.strategy(run),
        failing=_failing(run),
    )


def _failing(run: Run) -> int:
    if run.pause is None or not run.pause.again:
        return 0
    over = (TaskState.FAILED, TaskState.DONE)
    return sum(run.tasks.states[task] not in over for task in run.progress.alike.tasks)


def _steps(run: Run) -> tuple[StepView, ...]:
    order = run.tasks.order
    if order is None:
        return ()
    found = []
    for number, step in enumerate(order.graph.steps):
        states = run.tasks.states[order.starts[number] : order.starts[number + 1]]
        found.append(
            StepView(
                step.name,
                step.tasks,
                waiting=states.count(TaskState.WAITING),
                blocked=states.count(TaskState.BLOCKED),
                running=states.count(TaskState.RUNNING),
                done=states.count(TaskState.DONE),
                failed=states.count(TaskState.FAILED),
                cut_off=states.count(TaskState.CUT_OFF),
            )
        )
    return tuple(found)


def _cluster(run: Run, c: ClusterState, expected: float) -> ClusterView:
    known = investments.lengths(run, c.index)
    there = len(run.pool.staying(c.index))
    return ClusterView(
        name=c.offering.name,
        price=c.offering.price,
        atu_seconds=c.offering.atu_seconds,
        slots=c.offering.slots,
        limit=c.offering.max_machines,
        machines=there,
        leaving=sum(m.leaving or bool(m.draining) for m in run.pool.living[c.index].values()),
        planned=max(run.plan.mix[c.index], there) if run.plan else there,
        known=known.count,
        mean_seconds=expected if c.profile.count else known.mean_done if known.count else 0.0,
        start_seconds=c.start_seconds,
        doubt=c.line.doubt or "",
        set_aside=c.set_aside,
    )


class _Expected(NamedTuple):
    """The time from now to the end of the run."""

    seconds: float
    bounds: tuple[float, float] | None  # with 90 % confidence


def _expected(run: Run, speed: float) -> _Expected | None:
    """By the last look at the plan, within what the machines' speed allows now; else by that speed.

    A look knows of the tail and of steps that wait; the speed, of what has happened since. Tasks of
    a workflow wait for others, so speed says little of them.
    """
    if not run.tasks.unfinished or run.pause:
        return None
    by_speed = None
    if speed:
        by_speed = _Expected(run.tasks.unfinished / speed, _eta_bounds(run, speed))
    last = next(reversed(promises.looks(run)), promises.told(run))
    if last is None or last.tasks < len(run.tasks):
        return by_speed
    gone = run.now - run.began_at
    left, within = last.seconds - gone, last.seconds_bound - gone
    if left <= 0:
        return by_speed
    if by_speed is None or by_speed.bounds is None:
        return _Expected(left, None)
    low, high = by_speed.bounds
    if run.tasks.order is None:
        left = min(max(left, low), high)
    return _Expected(left, (min(low, left), max(within, left)))


def _eta_bounds(run: Run, speed: float) -> tuple[float, float] | None:
    known = run.canonical
    slots = sum(m.slots for m in run.pool.alive() if m.state is MachineState.UP and not m.leaving)
    if known.count < 2 or not slots:
        return None
    longest = max(c.profile.longest for c in run.clusters if run.pool.living[c.index])
    return eta_bounds(run.tasks.unfinished, speed, slots, known.spread, known.count, longest)


def _machine(run: Run, m: Machine) -> MachineView:
    charged = m.charged_since is not None
    free = m.offering.free
    return MachineView(
        id=m.id,
        cluster=m.offering.name,
        state=m.state.value if m.state is not MachineState.REQUESTED or not charged else "starting",
        leaving=m.leaving or bool(m.draining),
        slots=m.slots,
        running=len(m.active),
        queued=len(m.queued),
        done=m.done_count,
        requested_at=m.requested_at,
        joined_at=m.joined_at,
        charged_since=m.charged_since,
        paid_until=m.paid_until(run.now) if charged and not free else None,
        cost=NOTHING if m.charged_since is None else charge(m.offering, run.now - m.charged_since),
    )
