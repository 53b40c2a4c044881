"""The daemon process: its folder, its limits, the signals that end it."""

import asyncio
import fcntl
import hashlib
import os
import resource
import signal
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

import structlog

from bats.common.errors import UsageError
from bats.common.ticket import Ticket
from bats.worker.control_groups import Groups
from bats.worker.guardian import Lifeline
from bats.worker.link.session import Session
from bats.worker.process_tree import start_of

_LOCK_SECONDS: Final = 5.0  # for an earlier daemon of this machine to be gone

log = structlog.get_logger()


async def serve(ticket: Ticket, lifeline: Lifeline) -> int:
    """Serve until the master, the lease, a signal or the guardian's death; the exit code."""
    folder = _state_folder(ticket)
    lock = _lock(folder)
    _raise_file_limit()
    groups = _enter(lifeline.groups)
    # A machine is charged from when its first process started, however long loading takes.
    session = Session(ticket, folder, start_of(lifeline.first), lifeline.lease_ends, groups)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, session.stop, f"{number.name} received")

    def orphaned() -> None:
        for guardian in lifeline.guardians:
            loop.remove_reader(guardian)
        session.stop("its guardian process was killed", seconds=0.0)

    for guardian in lifeline.guardians:
        loop.add_reader(guardian, orphaned)
    try:
        return await session.run()
    finally:
        os.close(lock)


def _enter(groups: Groups | None) -> Groups | None:
    """None where a process may make groups and not move into them."""
    if groups is None:
        return None
    try:
        groups.enter()
    except OSError as error:
        log.warning("without control groups", reason=error.strerror)
        return None
    return groups


def _state_folder(ticket: Ticket) -> Path:
    """Same machine, same folder, so that a restarted daemon finds its outbox."""
    if ticket.state_folder:
        folder = Path(ticket.state_folder).expanduser().absolute()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder
    name = hashlib.sha256(ticket.public_key.encode()).hexdigest()[:16]
    private = Path(tempfile.gettempdir()) / f"bats-{os.getuid()}"
    private.mkdir(exist_ok=True, mode=0o700)
    seen = private.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o077:
        raise UsageError(
            f"{private} should be a folder that only you can enter; somebody else made it."
            " Use `--folder` to name another."
        )
    folder = private / name
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _lock(folder: Path) -> int:
    """One daemon per folder, so per machine: two would mix their results."""
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UsageError(f"Another worker uses {folder}; stop it first.") from None
            time.sleep(0.1)
        else:
            return file


def _raise_file_limit() -> None:
    """Each slot and each running task takes files; the soft limit is often as low as 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
