"""One machine as the brain sees it: its state, its bill, what it runs and how fast it has been."""

from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import Final

from bats.common.billing import atus, paid_uptime
from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, TaskId
from bats.common.offering import Offering, machine_name
from bats.master.brain.books.taskbook import Attempt

LEASE_SECONDS: Final = 900.0
"""No machine should outlive its master by more, but for an ATU that is billed anyway."""
MARGIN_SECONDS: Final = 3.0
"""The longest time that a worker needs to stop its tasks in order."""


class MachineState(Enum):
    REQUESTED = "requested"
    UP = "up"
    SILENT = "silent"  # its heartbeats stay out; still charged
    STOPPING = "stopping"
    GONE = "gone"


_S = MachineState
MOVES: Final = {
    _S.REQUESTED: {_S.UP, _S.STOPPING, _S.GONE},
    _S.UP: {_S.UP, _S.SILENT, _S.STOPPING, _S.GONE},
    _S.SILENT: {_S.UP, _S.STOPPING, _S.GONE},
    _S.STOPPING: {_S.GONE},
    _S.GONE: {_S.SILENT},  # found alive after all
}
"""Legal moves; anything else is a bug."""


class Machine:
    __slots__ = (
        "active",
        "atus",
        "charged_since",
        "cluster",
        "collecting",
        "done_count",
        "done_seconds",
        "draining",
        "entered",
        "hold_back",
        "id",
        "joined_at",
        "leaving",
        "lent_until",
        "nr",
        "offering",
        "queued",
        "requested_at",
        "slots",
        "state",
        "told_to_stop_at",
        "unwanted",
    )

    def __init__(
        self, machine: MachineId, cluster: int, offering: Offering, requested_at: float
    ) -> None:
        self.id = machine
        self.cluster = cluster
        self.offering = offering
        self.state = MachineState.REQUESTED
        self.requested_at = requested_at
        self.charged_since: float | None = None
        self.joined_at: float | None = None
        self.told_to_stop_at: float | None = None
        self.slots = offering.slots
        self.atus = 0  # reserved, the running one included
        self.entered = 0  # ATUs of lives that have ended
        self.nr = 0  # ATUs that the plan still has for it beyond the reserved ones
        self.leaving = False  # at the end of its reserved ATUs
        self.unwanted = False  # no other bag has a use for what its paid time has left
        self.lent_until: float | None = None  # another bag pays for it, until then at most
        self.draining = ""  # why it gets no more tasks: the provider takes it away soon
        self.active: dict[TaskId, Attempt] = {}
        self.queued: deque[Attempt] = deque()
        self.collecting: dict[TaskId, Attempt] = {}  # ended; what they left is still on it
        self.hold_back = False  # it gave queued tasks back: send no more than it has slots
        self.done_count = 0  # nt
        self.done_seconds = 0.0  # rt, over all slots

    def move(self, to: MachineState) -> None:
        if to not in MOVES[self.state]:
            raise BrokenInvariantError(
                f"machine {self.id} cannot go from {self.state.value} to {to.value}"
            )
        self.state = to

    @property
    def name(self) -> str:
        """The name that people know it by."""
        return machine_name(self.offering.name, self.id)

    @property
    def alive(self) -> bool:
        return self.state is not MachineState.GONE

    @property
    def staying(self) -> bool:
        """Counts as a machine of the current mix."""
        return not (self.leaving or self.draining) and self.state in (
            MachineState.REQUESTED,
            MachineState.UP,
            MachineState.SILENT,
        )

    def billed_until(self, now: float) -> float:
        """The end of what is billed anyway: of the ATU it is in, or of the minimum."""
        start = now if self.charged_since is None else self.charged_since
        return start + paid_uptime(self.offering, atus(self.offering, now - start))

    def paid_until(self, now: float) -> float:
        """The end of its reserved ATUs; counted from now while it is not charged yet."""
        start = now if self.charged_since is None else self.charged_since
        return start + paid_uptime(self.offering, self.atus)

    def stop_by(self, now: float) -> float:
        """The time to tell it to stop, to be gone before the next ATU: until then it works."""
        return self.paid_until(now) - self.offering.boundary_seconds

    def idle_until(self, now: float) -> float:
        """The time until which it costs nothing more if it does nothing."""
        if self.lent_until is not None:
            return self.lent_until
        return min(self.stop_by(now), self.billed_until(now) - self.offering.boundary_seconds)

    @property
    def lease_seconds(self) -> float:
        """The seconds after its bill began when it must end itself if it hears nothing more.

        Late enough that a renewal decided at `stop_by` arrives, early enough to be off in time;
        the worker begins a little before, `margin_seconds`.
        """
        return paid_uptime(self.offering, self.atus) - self.offering.boundary_seconds / 4

    @property
    def margin_seconds(self) -> float:
        """The seconds before the end of a lease when the worker may begin to stop.

        However long the lease is, it hears of a renewal that was decided at `stop_by` before that.
        """
        return min(MARGIN_SECONDS, self.offering.boundary_seconds / 4)

    @property
    def leased_beyond_atus(self) -> bool:
        """True if it is to live without its master for longer than the ATU it is in may last."""
        return self.offering.lease_seconds >= self.offering.atu_seconds and not self.offering.free

    def lease_until(self, now: float) -> float:
        """The end of its lease; counted from now while it is not charged yet."""
        return (now if self.charged_since is None else self.charged_since) + self.lease_seconds

    # --- tasks -----------------------------------------------------------------------------------

    def take(self, attempt: Attempt, now: float) -> None:
        attempt.ordered_at = now
        if len(self.active) < self.slots:
            attempt.since = now
            self.active[attempt.task] = attempt
        else:
            self.queued.append(attempt)

    def release(self, task: TaskId, attempt: int, now: float) -> Attempt | None:
        """Take an attempt off the machine; the next queued one gets its slot."""
        mine = self.active.get(task)
        if mine is not None and mine.attempt == attempt:
            del self.active[task]
            self.advance(now)
            return mine
        mine = self.collecting.get(task)
        if mine is not None and mine.attempt == attempt:
            return self.collecting.pop(task)
        for mine in self.queued:
            if mine.task == task and mine.attempt == attempt:
                self.queued.remove(mine)
                return mine
        return None

    def advance(self, now: float) -> None:
        """Queued attempts get the slots that are free."""
        while self.queued and len(self.active) < self.slots:
            following = self.queued.popleft()
            following.since = now
            self.active[following.task] = following

    def collect(self, task: TaskId, attempt: int, now: float) -> bool:
        """It has ended here, and what it left is to be fetched; False if it is not here."""
        known = self.collecting.get(task)
        if known is not None and known.attempt == attempt:
            return False
        mine = self.release(task, attempt, now)
        if mine is not None:
            self.collecting[task] = mine
        return mine is not None

    def attempts(self) -> Iterator[Attempt]:
        yield from self.active.values()
        yield from self.queued
        yield from self.collecting.values()

    @property
    def load(self) -> int:
        """The attempts that have or wait for a slot."""
        return len(self.active) + len(self.queued)
