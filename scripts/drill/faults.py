"""Faults: each begins, lasts, and is over; several may be under way at once."""

import asyncio
import contextlib
import json
import os
import random
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

from fate.disk import Disk

from .bed import Bed
from .watch import Machine

Fault = Callable[[Bed, random.Random], Awaitable[bool]]
"""False when there was nothing to harm."""


async def kill_master(bed: Bed, rng: random.Random) -> bool:
    async with bed.held:
        with bed.disturb("dead master"):
            await bed.kill_master()
            await asyncio.sleep(rng.choice((0.0, 0.5, 2.0, 4.0)))
            await bed.start_master()
    return True


async def cut_power(bed: Bed, rng: random.Random) -> bool:
    """Of the master's computer: what it had not synced is lost, but for its database."""
    async with bed.held:
        with bed.disturb("dead master"):
            await bed.kill_master()
            forget_unsynced(bed.synced, [bed.state / "blobs", bed.output])
            await asyncio.sleep(rng.choice((0.0, 0.5, 2.0)))
            await bed.start_master()
    return True


def forget_unsynced(log: Path, folders: list[Path]) -> int:
    """Take from these folders what no line of the log says to be on the disk; so many files.

    Folders of which it says nothing were made, and synced, by workers.
    """
    disk = Disk()
    disk.watched = folders
    for folder in (inner for one in folders for inner in (one, *one.rglob("*")) if inner.is_dir()):
        disk.folder_synced(str(folder), os.listdir(folder))  # noqa: PTH208
    for line in log.read_text().splitlines():
        path, names, inode, size, changed_ns = json.loads(line)
        if names is None:
            disk.file_synced(inode, size, changed_ns)
        else:
            disk.folder_synced(path, names)
    return disk.power_cut()


async def freeze_master(bed: Bed, rng: random.Random) -> bool:
    async with bed.held:
        assert bed.process
        with bed.disturb("frozen master"), _frozen(bed.process.pid):
            await asyncio.sleep(rng.uniform(0.3, 5.0))
    return True


async def kill_machine(bed: Bed, rng: random.Random) -> bool:
    """As when its power fails: the process that is charged for is gone."""
    machine = _some(bed, rng)
    if machine is None:
        return False
    with bed.disturb("killed machine", machine.number):
        _send(machine.pid, signal.SIGKILL)
    return True


async def kill_daemon(bed: Bed, rng: random.Random) -> bool:
    found = _some_daemon(bed, rng)
    if found is None:
        return False
    machine, daemon = found
    with bed.disturb("killed daemon", machine.number):
        _send(daemon, signal.SIGKILL)
    return True


async def freeze_daemon(bed: Bed, rng: random.Random) -> bool:
    found = _some_daemon(bed, rng)
    if found is None:
        return False
    machine, daemon = found
    with bed.disturb("frozen worker", machine.number), _frozen(daemon):
        await asyncio.sleep(rng.uniform(0.3, 8.0))
    return True


async def freeze_machine(bed: Bed, rng: random.Random) -> bool:
    """All of it, as when a virtual machine is moved; no longer than its back end is patient."""
    machine = _some(bed, rng)
    if machine is None:
        return False
    daemon = bed.watch.daemon_of(machine)
    with bed.disturb("frozen worker", machine.number), contextlib.ExitStack() as stack:
        for pid in (machine.pid, daemon):
            if pid is not None:
                stack.enter_context(_frozen(pid))
        await asyncio.sleep(rng.uniform(0.3, 1.5))
    return True


async def cut_link(bed: Bed, rng: random.Random) -> bool:
    with bed.disturb("cut link"):
        if rng.random() < 0.4:
            bed.link.cut(rng)
            return True
        bed.link.refuses = True
        bed.link.cut()
        await asyncio.sleep(rng.uniform(0.3, 5.0))
        bed.link.heal()
    return True


async def hold_link(bed: Bed, rng: random.Random) -> bool:
    with bed.disturb("held link"):
        bed.link.hold()
        await asyncio.sleep(rng.uniform(0.3, 6.0))
        bed.link.heal()
    return True


async def slow_link(bed: Bed, rng: random.Random) -> bool:
    with bed.disturb("slow link"):
        bed.link.delay_seconds = rng.uniform(0.02, 0.4)
        await asyncio.sleep(rng.uniform(1.0, 5.0))
        bed.link.heal()
    return True


async def fill_disk(bed: Bed, rng: random.Random) -> bool:
    """The master's state and the machines' folders lie on it."""
    ballast = bed.state.parent / "ballast"
    with bed.disturb("full disk"):
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        await asyncio.sleep(rng.uniform(0.5, 4.0))
        ballast.unlink()
    return True


async def jump_clock(bed: Bed, rng: random.Random) -> bool:
    """The calendar's; it stays where it jumped to. A master that starts then believes it."""
    now = float(bed.calendar.read_text())
    draft = bed.calendar.with_suffix(".new")
    draft.write_text(str(now + rng.choice((-86_400, -3600, -15, 15, 3600, 86_400))))
    with bed.disturb("clock jump"):
        draft.replace(bed.calendar)
        if rng.random() < 0.5:
            await kill_master(bed, rng)
    return True


FAULTS: Final[dict[str, Fault]] = {
    "master killed": kill_master,
    "power cut": cut_power,
    "master frozen": freeze_master,
    "machine killed": kill_machine,
    "daemon killed": kill_daemon,
    "daemon frozen": freeze_daemon,
    "machine frozen": freeze_machine,
    "link cut": cut_link,
    "link held": hold_link,
    "link slow": slow_link,
    "disk full": fill_disk,
    "clock jumped": jump_clock,
}


def possible(bed: Bed) -> dict[str, Fault]:
    return {name: fault for name, fault in FAULTS.items() if bed.disk or fault is not fill_disk}


def _some_daemon(bed: Bed, rng: random.Random) -> tuple[Machine, int] | None:
    machine = _some(bed, rng)
    daemon = bed.watch.daemon_of(machine) if machine else None
    return None if machine is None or daemon is None else (machine, daemon)


def _some(bed: Bed, rng: random.Random) -> Machine | None:
    up = bed.watch.up()
    return rng.choice(up) if up else None


@contextlib.contextmanager
def _frozen(pid: int) -> Iterator[None]:
    _send(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(pid, signal.SIGCONT)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
