"""Limits of an attempt: the kernel holds it to them in a group of its own, or we look at it.

Looking comes too late for who takes much at once; the kernel never lets an attempt take more. An
attempt over its memory is ended at once, without signals that it could answer. One that the kernel
refuses another process ends as it likes.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from bats.common.messages import BagSpec
from bats.common.units import show_octets
from bats.worker.control_groups import MEMORY, PIDS, Group, Groups
from bats.worker.process_tree import members

_INTO: Final = ("/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"')
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Limits(Protocol):
    @property
    def group(self) -> Group | None:
        """The group that holds it to them, where the kernel does."""
        ...

    @property
    def before(self) -> tuple[str, ...]:
        """Words to put before its command line."""
        ...

    def look(self, leader: int) -> str:
        """The reason why the attempt must end now, if there is one."""
        ...

    def refused(self) -> str:
        """The limit that the kernel has held it to."""
        ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


def limits_of(spec: BagSpec, groups: Groups | None, slot: int) -> Limits | None:
    """Limits for an attempt that is about to start. Raises OSError."""
    asked = {name for name, much in ((MEMORY, spec.memory_bytes), (PIDS, spec.pids)) if much}
    if not asked:
        return None
    if groups is None or not asked <= groups.enforces:
        return Watched(spec)
    group = groups.of_attempt(slot, memory_bytes=spec.memory_bytes, pids=spec.pids)
    return Enforced(spec, groups, group)


class Enforced:
    """By the kernel."""

    def __init__(self, spec: BagSpec, groups: Groups, group: Group) -> None:
        self._spec = spec
        self._groups = groups
        self.group = group
        self.before = (*_INTO, group.procs)

    def look(self, leader: int) -> str:  # noqa: ARG002 (the kernel does)
        return ""

    def refused(self) -> str:
        if self._spec.memory_bytes and self._told("memory.events", "oom_kill"):
            return too_much(self._spec)
        if self._spec.pids and self._told("pids.events", "max"):
            return f"not started: one more than its {self._spec.pids} processes and threads"
        return ""

    def kill(self) -> None:
        self.group.kill()

    def close(self) -> None:
        self.group.kill()
        self._groups.discard(self.group)

    def _told(self, file: str, key: str) -> int:
        with contextlib.suppress(OSError):
            for line in (self.group.path / file).read_text().splitlines():
                name, _, number = line.partition(" ")
                if name == key:
                    return int(number)
        return 0


class Watched:
    """By being looked at."""

    before = ()
    group = None

    def __init__(self, spec: BagSpec) -> None:
        self._spec = spec

    def look(self, leader: int) -> str:
        found = members(leader)
        most = self._spec.memory_bytes
        if most and resident(found) > most and shared_out(found) > most:
            return too_much(self._spec)
        if self._spec.pids and (count := sum(map(_threads, found))) > self._spec.pids:
            return f"killed: it ran {count} processes and threads, and may {self._spec.pids}"
        return ""

    def refused(self) -> str:
        return ""

    def kill(self) -> None: ...

    def close(self) -> None: ...


def too_much(spec: BagSpec) -> str:
    return f"killed: it used more than its {show_octets(spec.memory_bytes)} of memory"


def resident(pids: Iterable[int]) -> int:
    """Bytes in memory; what several share counts for each."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return total


def shared_out(pids: Iterable[int]) -> int:
    """Bytes in memory, what several share divided among them, as far as we may see."""
    total = 0
    for pid in pids:
        try:
            total += _pss(Path(f"/proc/{pid}/smaps_rollup").read_text())
        except OSError:
            total += resident([pid])
    return total


def _pss(rollup: str) -> int:
    for line in rollup.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return 0


def _threads(pid: int) -> int:
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
    return 0
