"""The tree of processes below this one: whoever is in it can be found, adopted, ended."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Container
from pathlib import Path
from typing import Final

UNKILLABLE_SECONDS: Final = 2.0
"""A process that lives so long after SIGKILL is not waited for."""

_PR_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> None:
    """Adopt, from now on, descendants of this process whose parents end."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(of: int) -> list[int]:
    """Everything that the process started and what that started; zombies left out."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                line = (entry / "stat").read_bytes()
                state, parent = line.rpartition(b")")[2].split()[:2]
                if state not in {b"Z", b"X"}:
                    parents.setdefault(int(parent), []).append(int(entry.name))
    found: list[int] = []
    wanted = [of]
    while wanted:
        found += (children := parents.get(wanted.pop(), []))
        wanted += children
    return found


def start_of(pid: int) -> float:
    """The start of the process, on the boot clock."""
    line = Path(f"/proc/{pid}/stat").read_bytes()
    return int(line.rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def end_descendants(within_seconds: float) -> list[int]:
    """Kill until none is left, for a dying parent hands its children to us; those that stay.

    What another user runs, or what hangs in the kernel, cannot be killed and is not waited for.
    """
    deadline = time.monotonic() + within_seconds
    while living := descendants(os.getpid()):
        for pid in living:
            send(pid, signal.SIGKILL)
        bury_orphans()
        if time.monotonic() >= deadline:
            return living
        time.sleep(0.002)
    bury_orphans()
    return []


def bury_orphans(others: Container[int] = ()) -> None:
    """Wait for adopted orphans that have ended; stops at the first of `others` that has."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in others:
            return
        os.waitpid(ended.si_pid, 0)


def strangers(group: int) -> list[int]:
    """Descendants of a group's leader that have left the group."""
    return [pid for pid in descendants(group) if _group_of(pid) not in {group, None}]


def send(pid: int, number: int) -> None:
    """Signal one process, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _group_of(pid: int) -> int | None:
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None
