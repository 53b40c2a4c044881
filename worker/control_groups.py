"""Control groups (version 2), where the machine lets this worker make some: one ends as a whole.

    own/                     where the worker was started
      bats-PID.above/        the guardians, if they must make room for limits
      bats-PID/              ended as a whole when the worker ends
        daemon/              where attempts begin, too
        0/ 1/ ...            a slot's tasks, from one to the next
        0.1/ ...             one attempt's that has limits of its own

A process cannot leave its group, be it in another session or another user's. What is ended with
`cgroup.kill` needs no permission but to write there. No group outlives the worker: a shell beside
the guardians, the keeper, ends it when all three of them are killed. What stays empty all the same,
for the keeper was killed too, is removed by the next worker that comes there.
"""

import contextlib
import os
import re
import signal
import time
from pathlib import Path
from typing import Final

MEMORY: Final = "memory"
PIDS: Final = "pids"
_CONTROLLERS: Final = frozenset({MEMORY, PIDS})
_GONE_SECONDS: Final = 1.0  # for what was killed to be gone, so that its groups can be removed
_ABANDONED_SECONDS: Final = 60.0  # a younger one may be about to be entered
_KEEPER: Final = """\
trap '' INT TERM HUP
echo 0 > "$1"
read -r _
echo 1 > "$0/cgroup.kill"
for _ in $(seq 50); do rmdir "$0"/*/ "$0" && exit; sleep 0.2; done
"""


class Group:
    """One folder of the kernel's, two files of it held open: many a task needs them."""

    def __init__(self, path: Path) -> None:
        """Make it. Raises OSError."""
        path.mkdir(exist_ok=True)
        self.path = path
        self.procs = f"{path}/cgroup.procs"
        self._procs = os.open(self.procs, os.O_WRONLY | os.O_CLOEXEC)
        self._events = os.open(path / "cgroup.events", os.O_RDONLY | os.O_CLOEXEC)

    def take(self, pid: int) -> None:
        """Move a process here; what it starts from now on is here, too."""
        with contextlib.suppress(OSError):  # it has ended
            os.write(self._procs, b"%d" % pid)

    def lives(self) -> bool:
        """True while anything is in it that has not ended."""
        return b"populated 1" in os.pread(self._events, 256, 0)

    def kill(self) -> None:
        """End all that is in it, whoever's it is."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")

    def close(self) -> None:
        os.close(self._procs)
        os.close(self._events)


class Groups:
    """The groups of one worker. `enforces` names the limits that its kernel can hold tasks to."""

    def __init__(self, path: Path, enforces: frozenset[str]) -> None:
        self._path = path
        self.enforces = enforces
        self.daemons = -1  # lists the processes in the daemon's group, once it is entered
        self._made = 0
        self._left: list[Path] = []

    @property
    def enforces_all(self) -> bool:
        return self.enforces == _CONTROLLERS

    def enter(self) -> None:
        """Move this process, the daemon, into the worker's groups. Raises OSError."""
        daemon = self._path / "daemon"
        daemon.mkdir(exist_ok=True)
        self.daemons = os.open(daemon / "cgroup.procs", os.O_RDWR | os.O_CLOEXEC)
        os.write(self.daemons, b"0")

    def of_slot(self, number: int) -> Group | None:
        """None if there are no files left for it: of many slots the last do without."""
        try:
            return Group(self._path / str(number))
        except OSError:
            return None

    def of_attempt(self, slot: int, *, memory_bytes: int, pids: int) -> Group:
        """A group with limits, 0 for none. Raises OSError."""
        self._made += 1
        _let_limit(self._path, self.enforces)
        group = Group(self._path / f"{slot}.{self._made}")
        try:
            _limit(group.path, memory_bytes, pids)
        except OSError:
            self.discard(group)
            raise
        return group

    def discard(self, group: Group) -> None:
        """Remove it, now or once what was killed in it has ended."""
        group.close()
        self._left = [path for path in (*self._left, group.path) if not _removed(path)]

    def keep(self) -> None:
        """Have all of it ended once nobody is left that was forked from this process after.

        After a pause the kernel takes 10 ms to move a process (a grace period of RCU). The keeper
        moves itself to where it is, so that these pass while the daemon is still being forked.
        """
        waits, _ours = os.pipe()
        above = _above(self._path)
        here = above if above.exists() else above.parent
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", _KEEPER, str(self._path), str(here / "cgroup.procs")],
            {"PATH": os.environ.get("PATH", os.defpath)},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, waits, 0),
                (os.POSIX_SPAWN_DUP2, nothing, 1),
                (os.POSIX_SPAWN_DUP2, nothing, 2),
            ],
            setsid=True,
            setsigdef=[signal.SIGPIPE],
        )
        os.close(waits)
        os.close(nothing)

    def kill(self) -> None:
        """End all processes of the worker's groups, whoever's they are."""
        with contextlib.suppress(OSError):
            (self._path / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        """Leave nothing behind, if nothing lives in it any more."""
        deadline = time.monotonic() + _GONE_SECONDS
        while not _removed(self._path) and time.monotonic() < deadline:
            time.sleep(0.005)
        above = _above(self._path)
        if above.exists():
            with contextlib.suppress(OSError):
                _write(above.parent / "cgroup.subtree_control", "-", self.enforces)
                (above.parent / "cgroup.procs").write_text("0")
                above.rmdir()


def made() -> Groups | None:
    """Groups below this process's own; None where the machine has none that it may divide."""
    own = own_group(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    return None if own is None else made_in(own)


def made_in(own: Path) -> Groups | None:
    path = own / f"bats-{os.getpid()}"
    remove_abandoned(own)
    try:
        path.mkdir()
        if not (path / "cgroup.kill").exists():  # Linux before 5.14
            path.rmdir()
            return None
        return Groups(path, _limits(own, path))
    except OSError:
        return None


def remove_abandoned(own: Path) -> None:
    """Remove groups of workers that are no more, if nothing lives in them."""
    with contextlib.suppress(OSError):
        for path in own.glob("bats-*"):
            pid = path.name.removeprefix("bats-").removesuffix(".above")
            if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    with contextlib.suppress(OSError):
        empty = "populated 0" in (path / "cgroup.events").read_text()
        if empty and time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
            _removed(path)


def own_group(cgroup: str, mountinfo: str) -> Path | None:
    """The group of this process, as two files of /proc tell it."""
    inside = re.search(r"^0::(/.*)$", cgroup, re.MULTILINE)
    for line in mountinfo.splitlines() if inside else ():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 ") and inside:
            root, at = (_plain(word) for word in before.split()[3:5])
            if Path(inside[1]).is_relative_to(root):
                return Path(at) / Path(inside[1]).relative_to(root)
    return None


def _plain(escaped: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), escaped)


def _limits(own: Path, path: Path) -> frozenset[str]:
    """Have limits below `own`, which no process may then be in but at the root of all groups."""
    wanted = _CONTROLLERS.intersection((own / "cgroup.controllers").read_text().split())
    alone = (own / "cgroup.procs").read_text().split() == [str(os.getpid())]
    with contextlib.suppress(OSError):
        _write(own / "cgroup.subtree_control", "+", wanted)
        alone = False
    if alone and wanted:
        with contextlib.suppress(OSError):
            _above(path).mkdir()
            (_above(path) / "cgroup.procs").write_text("0")
            _write(own / "cgroup.subtree_control", "+", wanted)
    return _CONTROLLERS.intersection((path / "cgroup.controllers").read_text().split())


def _limit(group: Path, memory_bytes: int, pids: int) -> None:
    if memory_bytes:
        (group / "memory.max").write_text(str(memory_bytes))
        (group / "memory.oom.group").write_text("1")  # all of it, not just its largest
        with contextlib.suppress(OSError):  # a kernel without swap has no such file
            (group / "memory.swap.max").write_text("0")
    if pids:
        (group / "pids.max").write_text(str(pids))


def _let_limit(path: Path, wanted: frozenset[str]) -> None:
    if wanted - set((path / "cgroup.subtree_control").read_text().split()):
        _write(path / "cgroup.subtree_control", "+", wanted)


def _write(file: Path, sign: str, controllers: frozenset[str]) -> None:
    if controllers:
        file.write_text(" ".join(f"{sign}{name}" for name in sorted(controllers)))


def _above(path: Path) -> Path:
    return path.with_name(f"{path.name}.above")


def _removed(path: Path) -> bool:
    with contextlib.suppress(OSError):
        for group in path.iterdir():
            if group.is_dir():
                group.rmdir()
        path.rmdir()
    return not path.exists()
