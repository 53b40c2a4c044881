"""Starts the workers of one host, detached, and writes down how each ends.

One keeper serves as many machines as it is handed tickets: it loads the worker's modules once and
forks, so 64 workers start in the time of a few. It outlives whoever started it, and ends when
nobody can hand it tickets any more and its last worker has ended.

    python -m bats.deploy.host.keeper FOLDER [--queue SECONDS] [--delay SECONDS] -- COMMAND...

Each line of standard input is a ticket; each is answered by a line: `{"machine": 7, "error": ""}`.
The ticket reaches the worker through its own standard input and is written nowhere.

    python -m bats.deploy.host.keeper --spare COMMAND...

loads what such workers need, then reads its other arguments: the first line of standard input.
"""

import argparse
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

from bats.common.messages import MachineId
from bats.deploy.host.emulated_loss import EmulatedLoss, Loss
from bats.deploy.host.roster import Process, Roster, find_own

SPARE: Final = "--spare"
READ_BYTES: Final = 65_536
AGAIN_SECONDS: Final = 0.5  # what could not be written, for the disk was full, is tried again


def main(argv: list[str] | None = None) -> None:
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == [SPARE]:
        words = _told_later(tuple(words[1:]))
        if not words:
            return  # nobody needs it
    parser = argparse.ArgumentParser(prog="keeper", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queue", type=float, default=0.0, help="seconds until one is charged")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds it then takes to boot")
    parser.add_argument("command", nargs="+")
    parser.add_argument("--lost-per-hour", type=float, default=0.0, help="of one that is up")
    parser.add_argument("--silent", action="store_true", help="lost ones stand still, unnoticed")
    parser.add_argument("--notice", type=float, default=0.0, help="seconds before one is taken")
    given = parser.parse_args(words)
    given.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _detach(given.folder / "keeper.log")
    loss = Loss(given.lost_per_hour, given.silent, given.notice)
    Keeper(Roster(given.folder), tuple(given.command), given.queue, given.delay, loss).serve()


def _told_later(command: tuple[str, ...]) -> list[str]:
    """The arguments of a spare keeper; nothing follows them until it has detached itself."""
    if module := _module_of(command):
        _preload(module)
    told = b""
    while not told.endswith(b"\n"):
        piece = os.read(0, READ_BYTES)
        if not piece:
            return []
        told += piece
    arguments: list[str] = json.loads(told)
    return arguments


def _detach(log: Path) -> None:
    """Leave the session of whoever started us, so that its end is not ours."""
    if os.fork():
        os._exit(0)
    os.setsid()
    errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(errors, 2)
    os.close(errors)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


class Keeper:
    def __init__(
        self,
        roster: Roster,
        command: tuple[str, ...],
        queue_seconds: float,
        delay_seconds: float,
        loss: Loss,
    ) -> None:
        self._roster = roster
        self._command = command
        self._queue_seconds = queue_seconds
        self._delay_seconds = delay_seconds
        self._workers: dict[int, tuple[MachineId, Process]] = {}
        self._loss = EmulatedLoss(loss, roster)
        self._unwritten: list[tuple[MachineId, int, float | None]] = []  # how workers ended
        self._unread = b""
        self._me = find_own(os.getpid())
        self._module = _module_of(command)
        if self._module:
            _preload(self._module)

    def serve(self) -> None:
        self._roster.forget_old()
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        poll.register(0, select.POLLIN)
        listening = True
        while listening or self._workers or self._unwritten:
            for fd, _ in poll.poll(self._pause()):
                if fd == wake:
                    os.read(wake, READ_BYTES)
                    self._reap()
                elif not self._hear():
                    poll.unregister(0)
                    listening = False
                    _let_go()
                    self._loss.let_go()
            self._loss.look()
            self._note_ends()

    def _pause(self) -> float | None:
        """Milliseconds after which there is something to do, whatever is heard; None: never."""
        seconds = [AGAIN_SECONDS] if self._unwritten else []
        if (loss := self._loss.next_seconds) is not None:
            seconds.append(loss)
        return min(seconds) * 1000 + 1 if seconds else None

    def _hear(self) -> bool:
        """Take what has come on standard input; False when nothing more will."""
        try:
            data = os.read(0, READ_BYTES)
        except OSError:
            return False
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in filter(None, lines):
            self._answer(line)
        return bool(data)

    def _answer(self, line: bytes) -> None:
        machine, error = -1, ""
        try:
            machine = MachineId(int(json.loads(line)["machine"]))
            if not (self._roster.of(machine) / "process.json").exists():
                self._start(machine, line)
        except (OSError, ValueError, KeyError, TypeError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        with contextlib.suppress(OSError):  # nobody listens any more: the machine can be found
            os.write(1, json.dumps({"machine": machine, "error": error}).encode() + b"\n")

    def _start(self, machine: MachineId, ticket: bytes) -> None:
        folder = self._roster.of(machine)
        folder.mkdir(parents=True, exist_ok=True)
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        theirs, ours = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_worker(machine, theirs, log)
            except Exception:  # must not come back to where a keeper would go on
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        os.close(theirs)
        os.close(log)
        # The ticket comes last: whatever dies before, no worker runs that is not in the roster.
        try:
            worker = find_own(pid)
            self._roster.enter(machine, worker, self._me, self._queue_seconds)
            self._workers[pid] = machine, worker
            os.write(ours, ticket)
            self._loss.begin(machine, worker, self._queue_seconds + self._delay_seconds)
        except OSError:
            if pid not in self._workers:  # nothing is told of its end: another may take its place
                os.kill(pid, signal.SIGKILL)
            raise
        finally:
            os.close(ours)

    def _become_worker(self, machine: MachineId, ticket: int, log: int) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.setsid()
        os.dup2(ticket, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1024)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        Path("/proc/self/comm").write_text(f"bats-{machine}")  # what `ps` and `top` show
        time.sleep(self._queue_seconds + self._delay_seconds)
        arguments = ["--ticket", "-"]
        if self._module is None:
            os.execvp(self._command[0], [*self._command, *arguments])
        gc.enable()
        sys.argv = [self._module, *arguments]
        runpy.run_module(self._module, run_name="__main__", alter_sys=True)
        sys.exit(0)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            known = self._workers.pop(pid, None)
            if known is None:
                continue  # it could not be written down
            machine, worker = known
            code = os.waitstatus_to_exitcode(status)
            charged_seconds = worker.charged_seconds(self._queue_seconds)
            self._unwritten.append((machine, code, charged_seconds))

    def _note_ends(self) -> None:
        while self._unwritten:
            try:
                self._roster.ended(*self._unwritten[0])
            except OSError as failure:
                if self._roster.folder.is_dir():
                    with contextlib.suppress(OSError):  # the log is likely to be on the same disk
                        os.write(2, f"cannot write how a worker ended: {failure}\n".encode())
                    return
                # The folder was deleted: nobody will ever ask.
            del self._unwritten[0]


def _module_of(command: tuple[str, ...]) -> str | None:
    """The module, when the command is one of this very interpreter: it can be forked then."""
    match command:
        case (python, "-m", module) if Path(python).absolute() == Path(sys.executable):
            return module
    return None


@functools.cache
def _preload(module: str) -> None:
    """Load all that a worker may; what fails here fails again in a worker, and is in its log."""
    gc.disable()  # nothing that is loaded is garbage
    with contextlib.suppress(Exception):
        importlib.import_module("bats.common.log")  # before any other that logs
        package = importlib.import_module(module)
        for part in pkgutil.walk_packages(package.__path__, f"{module}."):
            importlib.import_module(part.name)
        del sys.modules[f"{module}.__main__"]  # it is run under that name, once per worker
    gc.collect()
    gc.freeze()  # so that the collector does not copy the pages that all workers share


def _let_go() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(nothing, fd)
    os.close(nothing)


if __name__ == "__main__":
    main()
