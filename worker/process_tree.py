"""The tree of processes below this one: whoever is in it can be found, adopted, ended."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

UNKILLABLE_SECONDS: Final = 2.0
"""A process that lives so long after SIGKILL is not waited for."""

_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> None:
    """Adopt, from now on, descendants of this process whose parents end."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def let_nobody_look() -> None:
    """Keep files and memory of this process, and of those it forks, from others of its user."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int


def descendants(of: int) -> list[int]:
    """Everything that the process started and what that started; zombies left out."""
    return _below(of, _living())


def members(leader: int) -> list[int]:
    """All processes of the session that it leads, and what went off from those that live."""
    living = list(_living())
    inside = [process.pid for process in living if process.session == leader]
    off = (pid for one in inside for pid in _below(one, living))
    return list(dict.fromkeys([*inside, *off]))


def place_of(pid: int) -> tuple[int, int]:
    """The process's parent and session; zeros if it has ended."""
    process = _process(Path(f"/proc/{pid}"))
    return (process.parent, process.session) if process else (0, 0)


def _living() -> Iterator[_Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := _process(entry)):
            yield process


def _process(entry: Path) -> _Process | None:
    """The process of a folder of /proc; None if it has ended."""
    try:
        line = (entry / "stat").read_bytes()
    except OSError:
        return None
    state, parent, _, session = line.rpartition(b")")[2].split()[:4]
    return None if state in {b"Z", b"X"} else _Process(int(entry.name), int(parent), int(session))


def _below(of: int, living: Iterable[_Process]) -> list[int]:
    children: dict[int, list[int]] = {}
    for process in living:
        children.setdefault(process.parent, []).append(process.pid)
    found: list[int] = []
    wanted = [of]
    while wanted:
        found += (more := children.get(wanted.pop(), []))
        wanted += more
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


def signal_group(group: int, number: int) -> None:
    """Signal what may be signalled of a group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def group_lives(group: int) -> bool:
    """True while a member of a killed group has not died yet."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _group_of(pid: int) -> int | None:
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None
