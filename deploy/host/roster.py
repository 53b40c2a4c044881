"""The machines of one host: a folder each, saying which process it is and how that ended.

Runs where the workers run: inside the master for the local back end, at the other end of a
connection for ssh. A process is known by its id *and* its start time, so a recycled id is never
taken for a worker, nor signalled.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.common.ticket import LEASE_ENDED, UNRENEWED
from bats.deploy.protocol import Gone, Sighting, State

STOP_GRACE_SECONDS: Final = 10.0  # for a worker to end its tasks and send what they gave
ENDING_SECONDS: Final = 10.0  # after its first process, for the rest of a worker to end
DAEMONS_LOCK: Final = "lock"  # in a worker's own folder; held by its daemon while that lives
KEPT_SECONDS: Final = 14 * 86_400.0
SIGNALS: Final = {number.value for number in signal.Signals}
LOG_LINES: Final = 40
LOG_BYTES: Final = 16_384
LEAVING, TAKEN, FROZEN = "leaving", "taken", "frozen"
"""Marks in the folder of a machine whose loss is emulated: announced, done, done in silence."""
EMULATED: Final = "taken away, as its clouds file emulates"
TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    start_ticks: int  # since boot
    boot: str  # of this boot, for ids repeat after the next

    def lives(self) -> bool:
        return find(self.pid) == self

    def age_seconds(self) -> float:
        return max(0.0, _since_boot() - self.start_ticks / TICKS_PER_SECOND)

    def charged_seconds(self, queue_seconds: float) -> float | None:
        """The charged seconds after an emulated queue of so many; None while it waits there."""
        age = self.age_seconds()
        return age - queue_seconds if age >= queue_seconds else None


def find(pid: int) -> Process | None:
    """The process of that id, unless it has ended (a zombie has).

    Raises OSError when that cannot be told: nobody is gone for want of descriptors here.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    return None if fields[0] in "ZX" else Process(pid, int(fields[19]), boot)


def find_own(pid: int) -> Process:
    """Our own process, or a child not waited for; a ChildProcessError if that has ended at once."""
    found = find(pid)
    if found is None:
        raise ChildProcessError(f"the process {pid} ended as soon as it was started")
    return found


class Roster:
    """Machines of a folder. All of it is in files: nothing is kept in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, machine: MachineId) -> Path:
        return self.folder / str(machine)

    def machines(self) -> list[MachineId]:
        if not self.folder.is_dir():
            return []
        return sorted(MachineId(int(found.name)) for found in self.folder.glob("[0-9]*"))

    # --- written by the keeper ---

    def enter(
        self, machine: MachineId, worker: Process, keeper: Process, queue_seconds: float = 0.0
    ) -> None:
        facts = {"worker": _pack(worker), "keeper": _pack(keeper), "queue_seconds": queue_seconds}
        _write(self.of(machine) / "process.json", facts)

    def ended(self, machine: MachineId, code: int | None, charged_seconds: float | None) -> None:
        """Note how a worker ended; `code` is None when nobody saw it."""
        _write(self.of(machine) / "ended.json", {"code": code, "charged_seconds": charged_seconds})

    def forget_old(self) -> None:
        """Remove what is kept of machines that ended long ago, their logs included."""
        for note in self.folder.glob("[0-9]*/ended.json"):
            with contextlib.suppress(OSError):
                if time.time() - note.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(note.parent, ignore_errors=True)

    # --- asked by the back end ---

    def look(self, machine: MachineId) -> Sighting:
        folder = self.of(machine)
        entry = _read(folder / "process.json")
        if entry is None:
            return Sighting(State.GONE, gone=Gone.LOST, detail="no such machine was started here")
        worker, keeper = _process(entry["worker"]), _process(entry["keeper"])
        charged_seconds = worker.charged_seconds(entry.get("queue_seconds", 0.0))
        asked = (folder / "stopping").exists()
        address = f"pid {worker.pid}"
        end = _read(folder / "ended.json")
        if end is None and worker.lives():
            there = State.QUEUED if charged_seconds is None else State.UP
            if (folder / LEAVING).exists() and not asked:
                words = f"soon {EMULATED}"
                return Sighting(State.STOPPING, address, charged_seconds, detail=words)
            return Sighting(State.STOPPING if asked else there, address, charged_seconds)
        if end is None and keeper.lives():  # about to say how it ended, and when
            return Sighting(State.STOPPING, address, charged_seconds)
        if end is None:
            self.ended(machine, None, charged_seconds)  # from now on the bill stands still
            end = _read(folder / "ended.json") or {"code": None, "charged_seconds": 0.0}
        if self._still_ends(machine):
            return Sighting(State.STOPPING, address, end["charged_seconds"])
        gone, detail = _judge(end["code"], asked)
        if gone is not Gone.STOPPED and (folder / TAKEN).exists():
            return Sighting(State.GONE, address, end["charged_seconds"], Gone.PREEMPTED, EMULATED)
        if gone is Gone.FAILED:
            detail = f"{detail}\n{self.log(machine)}".rstrip()
        return Sighting(State.GONE, address, end["charged_seconds"], gone, detail)

    def living(self) -> list[MachineId]:
        return [machine for machine in self.machines() if self._worker(machine)]

    def stop(self, machines: Iterable[MachineId], grace_seconds: float) -> None:
        """SIGTERM, SIGKILL to what is there after the grace; returns when all are gone."""
        waiting: dict[int, Process] = {}
        try:
            for machine in machines:
                worker = self._worker(machine)
                if worker is None:
                    continue
                (self.of(machine) / "stopping").touch()
                with contextlib.suppress(ProcessLookupError):
                    fd = os.pidfd_open(worker.pid)
                    waiting[fd] = worker
                    if worker.lives():  # checked after the fd was had: it is this one or none
                        signal.pidfd_send_signal(fd, signal.SIGTERM)
                        if (self.of(machine) / FROZEN).exists():  # it hears nothing
                            kill_below(worker.pid, grace_seconds)
                            signal.pidfd_send_signal(fd, signal.SIGKILL)
            for fd in _unended(waiting, grace_seconds):
                with contextlib.suppress(ProcessLookupError):
                    if waiting[fd].lives():
                        kill_below(waiting[fd].pid, grace_seconds)
                        signal.pidfd_send_signal(fd, signal.SIGKILL)
            _unended(waiting, grace_seconds)
        finally:
            for fd in waiting:
                os.close(fd)

    def log(self, machine: MachineId) -> str:
        try:
            with (self.of(machine) / "log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
                tail = file.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(tail.splitlines()[-LOG_LINES:])

    def state(self, machine: MachineId) -> Path:
        """The folder in which its worker keeps its own things."""
        return self.of(machine) / "state"

    def left(self, machine: MachineId, name: str, offset: int, size: int) -> bytes:
        """A piece of a file of a worker that has ended; b"" if there is no more of it."""
        try:
            with (self.state(machine) / name).open("rb") as file:
                file.seek(offset)
                return file.read(size)
        except OSError:
            return b""

    def _still_ends(self, machine: MachineId) -> bool:
        """True if its daemon lives on for a moment: what it tells and keeps in it is yet to come.

        That is so when its guardian was killed above it.
        """
        try:
            if time.time() - (self.of(machine) / "ended.json").stat().st_mtime > ENDING_SECONDS:
                return False
            with (self.state(machine) / DAEMONS_LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def _worker(self, machine: MachineId) -> Process | None:
        entry = _read(self.of(machine) / "process.json")
        worker = _process(entry["worker"]) if entry else None
        return worker if worker and worker.lives() else None


def _judge(code: int | None, asked: bool) -> tuple[Gone, str]:
    if asked or code == 0:
        return Gone.STOPPED, ""
    if code == LEASE_ENDED:
        return Gone.EXPIRED, UNRENEWED
    if code is None:
        return Gone.FAILED, "the worker ended, and nobody saw how"
    number = -code if code < 0 else code - 128  # shells and guardians say it so
    if number in SIGNALS:
        return Gone.FAILED, f"the worker was ended by {signal.Signals(number).name}"
    return Gone.FAILED, f"the worker ended with exit code {code}"


def _unended(waiting: Mapping[int, Process], limit_seconds: float) -> Sequence[int]:
    """Wait until these processes have ended; those that have not by then."""
    poll = select.poll()
    left = set(waiting)
    for fd in left:
        poll.register(fd, select.POLLIN)  # a process's fd becomes readable when it ends
    deadline = time.monotonic() + limit_seconds
    while left and (remaining := deadline - time.monotonic()) > 0:
        for fd, _ in poll.poll(remaining * 1000):
            poll.unregister(fd)
            left.discard(fd)
    return list(left)


def kill_below(pid: int, within_seconds: float) -> None:
    """All that a worker started; it adopts what those leave, so nothing gets away while it lives.

    What is frozen does not see that its guardian is gone, and would stay for ever. What cannot be
    killed is not waited for.
    """
    deadline = time.monotonic() + within_seconds
    while (below := descendants(pid)) and time.monotonic() < deadline:
        for one in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        time.sleep(0.002)


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    wanted = [pid]
    while wanted:
        for children in Path(f"/proc/{wanted.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                living = [int(child) for child in children.read_text().split() if find(int(child))]
                found += living
                wanted += living
    return found


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _pack(process: Process) -> list[Any]:
    return [process.pid, process.start_ticks, process.boot]


def _process(packed: list[Any]) -> Process:
    return Process(*packed)


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    """Whole or not at all, for a reader at any moment."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(facts))
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def _read(path: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return facts
