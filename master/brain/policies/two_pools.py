"""NTDM_r: unreliable machines for the bag, copies and a few reliable ones for its tail.

After ExPERT §3. In the tail a task gets N instances at most from unreliable machines, each no
sooner than T after the one before was sent, given up D after it was sent; then one last from
⌈M_r·#ur⌉ reliable machines. An instance that is known to be lost is followed at once.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from bats.common.messages import TaskId
from bats.common.money import UNITS
from bats.common.offering import Offering
from bats.master.brain.learning.sample_size import sample_size
from bats.master.brain.policies.replication import NoCopies, Pools
from bats.master.brain.unreliable.notation import Written, read
from bats.master.brain.unreliable.preference import is_preference
from bats.master.brain.unreliable.strategy import Opening, Strategy
from bats.master.brain.views.readonly import (
    AttemptView,
    ClusterView,
    MachineState,
    MachineView,
    RunView,
    TaskState,
)

LATE: Final = 4
"""Times the mean: the deadline of the throughput phase."""
ENOUGH: Final = 5
"""Results that the mean is taken from; before, nothing is late."""
FRUITLESS: Final = 2
"""Instances per machine that are lost one after the other: no more machines are had then."""
MOST_DOUBLINGS: Final = 8
"""Of a deadline: a task whose second instance was late, too, may simply be a long one."""
LEAST: Final = 5
"""So many machines count at least."""
PATIENCE: Final = 0.05
"""Of the time to a deadline: so long a first unreliable machine is waited for, and so long before
it reliable ones are to be done."""
GRACE_SECONDS: Final = (2.0, 30.0)
"""The time that a machine has to end what it is told to end; then it is held to be lost.

As long as a quarter of a task, but no less and no more than that.
"""
_NEARLY: Final = 1e-6  # of a task, that is a whole one
UNKNOWN_SECONDS: Final = 3600.0
"""T_ur, as long as nothing is known."""


class Due(NamedTuple):
    """The next instance of a task in the tail."""

    at: float
    sent: int  # to unreliable machines, in the tail
    task: TaskId
    unreliable: bool  # machines that may take it
    reliable: bool


UNTIL_WEIGHED: Final = "N=3 T=1x D=2x M_r=0.1"
"""The strategy of those that are chosen by what the bag itself shows, until it has shown it."""


class TwoPools(NoCopies):
    """The replicator of bags whose settings name a strategy, or how to choose one."""

    def __init__(self, strategy: str) -> None:
        chosen = is_preference(strategy)
        self._rules = NTDMr(read(UNTIL_WEIGHED if chosen else strategy), strategy if chosen else "")

    def pools(self) -> Pools:
        return self._rules


class NTDMr(Pools):
    def __init__(self, written: Written, chosen_by: str = "") -> None:
        self._written = written
        self._chosen_by = chosen_by

    @property
    def chosen_by(self) -> str:
        return self._chosen_by

    def strategy(self, run: RunView) -> str:
        return self._now(run).text

    def _now(self, run: RunView) -> Written:
        instances = run.instances
        if instances.preferred is not None:
            return instances.preferred
        return instances.weighed.written if instances.weighed else self._written

    def _strategy(self, run: RunView) -> Strategy:
        return self._now(run).strategy

    def _seconds(self, run: RunView, time: float) -> float:
        """T or D: written as times of T_ur, or as it is."""
        return time * T_ur(run) if self._now(run).relative else time

    def is_known(self, run: RunView) -> bool:
        """True once so many instances have had their time that these tell what the others do.

        Before, only the short ones have returned: all machines would seem quick, and sure.
        """
        if run.instances.returned < ENOUGH:
            return False
        enough = sample_size(len(run.tasks))
        tail = run.instances.tail_at is not None
        return tail or run.instances.sent_by(run.now - LATE * T_ur(run)) >= enough

    # --- the throughput phase --------------------------------------------------------------------

    def begins(self, run: RunView, machine: MachineView) -> bool:
        opens = self._opens_with(run, machine.offering)
        return opens or (machine.offering.reliable and short_of(run) > 0)

    def tail_begins(self, run: RunView) -> bool:
        strategy = self._strategy(run)
        if not strategy.tail or run.tasks.waiting:
            return False
        if strategy.affordable is None:
            few = len(run.tasks) < size(run) and run.tasks.unfinished == len(run.tasks)
            return few or _left_to_unreliable(run) < slots(run, reliable=False)
        known = [c for c in run.known() if c.offering.reliable]
        per_second = min(
            (rate(c) for c in known or run.clusters if c.offering.reliable), default=0.0
        )
        seconds = max((c.profile.mean_done for c in known), default=T_ur(run))
        copies = run.tasks.unfinished * seconds * per_second
        return run.spent() + copies <= strategy.affordable * UNITS

    # --- the tail --------------------------------------------------------------------------------

    def next(self, run: RunView, machine: MachineView) -> TaskId | None:
        for due in sorted(self._due(run)):
            if due.at > run.now:
                return None
            fits = due.reliable if machine.offering.reliable else due.unreliable
            if fits and due.task not in machine.active:
                return due.task
        return None

    def due_at(self, run: RunView) -> float:
        return min((due.at for due in self._due(run) if due.at > run.now), default=math.inf)

    def _due(self, run: RunView) -> Iterator[Due]:
        """The next instance of each task, wherever one may follow."""
        strategy = self._strategy(run)
        unreliable = has_unreliable(run)
        limited = self._limited(run, strategy)
        T = self._seconds(run, strategy.T)
        short = short_of(run)
        for task in _unfinished(run):
            running = [a for a in run.tasks.running.get(task, ()) if a.given_up_at is None]
            if running:
                at = max(a.ordered_at for a in running) + T
            else:
                last_sent, lost = run.instances.lost.get(task, (-math.inf, run.now))
                at = min(last_sent + T, lost)
            sent = run.instances.in_tail.get(task, 0)
            more = not limited or sent < (strategy.N or 0)
            last = _is_sure(run, running)
            yield Due(
                at,
                sent,
                task,
                unreliable and more and not (last and not strategy.both_at_once),
                not last
                and (
                    not unreliable
                    or (limited and (not more or strategy.both_at_once))
                    or (short > 0 and not running)
                ),
            )

    def _limited(self, run: RunView, strategy: Strategy) -> bool:
        """True if a task gets so many unreliable instances and then a reliable one."""
        return strategy.N is not None and most_reliable(run, strategy) > 0

    # --- machines --------------------------------------------------------------------------------

    def deadline_at(self, run: RunView, machine: MachineView, attempt: AttemptView) -> float:
        if machine.offering.reliable:
            return math.inf
        tail, strategy = run.instances.tail_at, self._strategy(run)
        doublings = max(0, run.instances.given_up.get(attempt.task, 0) - 1)
        if tail is not None and attempt.ordered_at >= tail:
            seconds = self._seconds(run, strategy.D)
            doublings = 0 if self._limited(run, strategy) else doublings
        else:
            seconds = LATE * T_ur(run)
            if run.canonical.count < ENOUGH:
                doublings = max(doublings, _rounds(run))
        return attempt.ordered_at + seconds * 2.0 ** min(MOST_DOUBLINGS, doublings)

    def hopeless(self, run: RunView) -> bool:
        return run.instances.fruitless >= FRUITLESS * max(LEAST, size(run))

    def wanted(self, run: RunView, cluster: ClusterView) -> int:
        """Those that are there, and what is due beyond the room that they have."""
        offering, there = cluster.offering, run.pool.staying(cluster.index)
        most = offering.max_machines
        short = math.ceil(short_of(run) / offering.slots) if offering.reliable else 0
        if offering.reliable:
            most = min(most, max(short, most_reliable(run, self._strategy(run))))
        if run.instances.tail_at is not None:
            waits = sum(
                due.at <= run.now and (due.reliable if offering.reliable else due.unreliable)
                for due in self._due(run)
            )
        else:
            waits = run.tasks.ready if self._opens_with(run, offering) else 0
            if short and not waits:
                return min(most, short, len(there) + run.tasks.ready)
        free = sum(max(0, m.slots - m.load) for m in there if m.state is not MachineState.SILENT)
        return min(most, len(there) + max(0, math.ceil((waits - free) / offering.slots)))

    def _opens_with(self, run: RunView, offering: Offering) -> bool:
        """True if the throughput phase uses this kind."""
        if offering.reliable:
            return self._strategy(run).opening.uses_reliable or not has_unreliable(run)
        return self._strategy(run).opening is not Opening.RELIABLE


def short_of(run: RunView) -> int:
    """The slots of reliable machines without which the deadline would be missed.

    The unreliable ones that are there do whole tasks until a task before the deadline: one that is
    lost then may still be done again. Others are had as late as may be, when all that there are can
    just do what is left: until then cheap ones may come, and as soon as these come, others go.
    """
    if run.due_at is None or not has_unreliable(run):
        return 0
    up = [
        machine
        for machine in run.pool.alive()
        if not machine.offering.reliable
        and machine.state is MachineState.UP
        and not machine.draining
    ]
    known = [c for c in run.known() if c.profile.count]
    if not known:  # somebody has to find out how long tasks take
        late = run.now - run.began_at >= PATIENCE * (run.due_at - run.began_at)
        return 1 if late and not up else 0
    seconds = max(c.profile.mean_done for c in known)
    starts = max(c.start_seconds for c in run.clusters)
    until = run.due_at - seconds
    room = sum(_tasks_until(until, run.now, machine, seconds) for machine in up)
    left = run.tasks.waiting - room
    if left <= 0:
        return 0
    margin = min(seconds, PATIENCE * (run.due_at - run.began_at))
    each = math.floor((run.due_at - margin - run.now - starts) / seconds + _NEARLY)
    most = sum(
        c.offering.max_machines * c.offering.slots
        for c in run.clusters
        if c.offering.reliable and c.startable
    )
    if left < each * most:
        return 0
    return math.ceil(left / each) if each > 0 else left


def _tasks_until(until: float, now: float, machine: MachineView, seconds: float) -> int:
    """The number that its slots can still begin and do by then."""
    rests = [max(0.0, seconds - (now - a.ordered_at)) for a in machine.active.values()]
    rests += [0.0] * (machine.slots - len(rests))
    return sum(max(0, math.floor((until - now - rest) / seconds + _NEARLY)) for rest in rests)


def grace_seconds(run: RunView) -> float:
    least, most = GRACE_SECONDS
    return min(most, max(least, T_ur(run) / 4))


def T_ur(run: RunView) -> float:  # noqa: N802 (the paper's letter)
    """The mean of the tasks that unreliable machines have done."""
    known = [c.profile for c in run.known() if not c.offering.reliable]
    count = sum(profile.count for profile in known)
    total = sum(profile.count * profile.mean_done for profile in known)
    if count:
        return total / count
    return run.canonical.mean_done if run.canonical.count else UNKNOWN_SECONDS


def _unfinished(run: RunView) -> Iterator[TaskId]:
    yield from (TaskId(task) for task in run.tasks.pooled())
    for task in run.tasks.running:
        if run.tasks.states[task] == TaskState.RUNNING:
            yield task


def _left_to_unreliable(run: RunView) -> int:
    """Unfinished tasks that no reliable machine runs: those are as good as done."""
    sure = sum(_is_sure(run, attempts) for attempts in run.tasks.running.values())
    return run.tasks.unfinished - sure


def _is_sure(run: RunView, attempts: Iterable[AttemptView]) -> bool:
    """True if a reliable machine runs one of these."""
    return any(run.pool.machines[a.machine].offering.reliable for a in attempts)


def has_unreliable(run: RunView) -> bool:
    return any(not c.offering.reliable and c.startable for c in run.clusters)


def _rounds(run: RunView) -> int:
    """The number of times that the whole pool has been lost, one after another, for nothing."""
    return run.instances.fruitless // max(1, size(run))


def slots(run: RunView, *, reliable: bool) -> int:
    """The slots of machines of one pool that are there to stay."""
    return sum(
        m.slots
        for c in run.clusters
        if c.offering.reliable == reliable
        for m in run.pool.staying(c.index)
    )


def size(run: RunView) -> int:
    """The slots of all unreliable machines that can be had."""
    return sum(
        c.offering.max_machines * c.offering.slots
        for c in run.clusters
        if not c.offering.reliable and c.startable
    )


def most_reliable(run: RunView, strategy: Strategy) -> int:
    """⌈M_r·#ur⌉ reliable machines; one at least where no unreliable ones are left."""
    there = sum(
        c.offering.max_machines for c in run.clusters if c.offering.reliable and c.startable
    )
    machines = sum(c.offering.max_machines for c in run.clusters if not c.offering.reliable)
    if not machines:
        return there
    wanted = math.ceil(strategy.M_r * machines * (1 - 1e-9))
    return min(there, wanted if has_unreliable(run) else max(1, wanted))


def rate(cluster: ClusterView) -> float:
    """The price of a second of one slot."""
    offering = cluster.offering
    return offering.price / offering.atu_seconds / offering.slots
