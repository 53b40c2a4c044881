"""The daemon's own control group, where attempts begin; most end there, before moving them pays.

To move a process takes the kernel a twentieth of all that a short task takes, and 10 ms after a
pause. So what has begun is moved into its slot's group at a look, within a second; before it is
signalled; or as soon as more is in the daemon's group than the daemon and those that lead attempts.
Its parents tell whose each of the others is, its session, or the scratch folder in the environment
that it was given. One of which none of them tells, for it went off and forgot all, goes with
another attempt of that moment, not with the one that ended: it ends later, never too early.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bats.worker.control_groups import Group
from bats.worker.process_tree import group_lives, place_of

_MOST: Final = 32  # attempts: all are looked through at each one's end
_MOST_LISTED: Final = 1 << 14  # bytes
YOUNG_SECONDS: Final = 0.05  # not moved at a look yet: most tasks that are so young end soon
_MOST_ROUNDS: Final = 20  # of moving what a process started before it was moved itself


class _Begun(NamedTuple):
    leader: int
    group: Group | None  # its slot's, if that has one
    scratch: bytes  # its slot's folder
    since: float  # on the monotonic clock

    def take(self, pid: int) -> None:
        if self.group:
            self.group.take(pid)


class Lobby:
    """`daemons` lists the processes in the daemon's group; -1 where there are no groups."""

    def __init__(self, daemons: int) -> None:
        self._daemons = daemons
        self._own = os.getpid()
        self._begun: dict[bytes, _Begun] = {}

    def enter(self, leader: int, group: Group | None, scratch: bytes) -> None:
        if self._daemons < 0:
            return
        self._begun[b"%d" % leader] = _Begun(leader, group, scratch, time.monotonic())
        if len(self._begun) > _MOST:
            self.settle()

    def lives_on(self, leader: int, group: Group | None) -> bool:
        """True if anything does of an attempt whose leader has ended; it is in its group then."""
        here = self._begun.pop(b"%d" % leader, None)
        if group is None:
            return group_lives(leader)
        if here is not None:
            if not self._others():
                return False  # the usual case, told with one system call
            self.settle(here)
        return group.lives()

    def look(self) -> None:
        """Move all attempts to their groups, if one is old enough."""
        old = time.monotonic() - YOUNG_SECONDS
        if any(one.since <= old for one in self._begun.values()):
            self.settle()

    def settle(self, ended: _Begun | None = None) -> None:
        """Move all attempts to their groups; and what one has left that ended just now."""
        among = list(self._begun.values())
        for one in among:
            one.take(one.leader)
        self._begun = {b"%d" % one.leader: one for one in among if one.group is None}
        if ended:
            among.append(ended)
        seen: set[bytes] = set()
        for _ in range(_MOST_ROUNDS if among else 0):
            others = self._others()
            if seen.issuperset(others):
                return  # all that stay are about to end
            seen.update(others)
            for pid in map(int, others):
                (self._owner(pid, among) or among[0]).take(pid)

    def _others(self) -> list[bytes]:
        listed, _, _cut = os.pread(self._daemons, _MOST_LISTED, 0).rpartition(b"\n")
        own = b"%d" % self._own
        return [pid for pid in listed.split() if pid != own and pid not in self._begun]

    def _owner(self, pid: int, among: Sequence[_Begun]) -> _Begun | None:
        while pid not in {0, self._own}:
            parent, session = place_of(pid)
            given = _environment(pid)
            for one in among:
                scratch = b"BATS_SCRATCH=%b\0" % one.scratch
                if one.leader in {pid, session} or scratch in given:
                    return one
            pid = parent
        return None


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""
