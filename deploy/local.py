"""Machines that are worker processes of this computer: free, at once, and for emulating others."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.ticket import Ticket, to_json
from bats.deploy import backend_table, processes
from bats.deploy.host.roster import STOP_GRACE_SECONDS, Roster
from bats.deploy.protocol import Feature, Gone, Orphan, RefusedError, Sighting, Site, State
from bats.deploy.spare_keeper import MODULE, SpareKeeper

START_LIMIT_SECONDS: Final = 60.0
CHECK_LIMIT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Settings:
    speed: float = 1.0  # emulated by tasks that heed BATS_SPEED
    queue_seconds: float = 0.0  # emulated and not charged, as waiting for a machine is
    start_delay_seconds: float = 0.0  # emulated after that and charged, as a boot is
    lost_per_hour: float = 0.0  # emulated, of a machine that is up
    lost: Literal["told", "silent"] = "told"  # what becomes of it: it is gone, or stands still
    notice_seconds: float = 0.0  # how long before that it is announced, where it is told

    def __post_init__(self) -> None:
        if self.speed <= 0:
            raise ValueError(f"`speed = {self.speed:g}` should be more than 0.")
        for key in ("queue_seconds", "start_delay_seconds", "lost_per_hour", "notice_seconds"):
            if getattr(self, key) < 0:
                raise ValueError(f"`{key}` should not be negative.")
        if self.lost == "silent" and self.notice_seconds:
            raise ValueError('`notice_seconds` is for machines whose loss is told, not "silent".')


class Local:
    """Workers live on when the master dies, until their lease ends; a later master finds them."""

    def __init__(self, offering: Offering, site: Site) -> None:
        self._offering = offering
        self._settings = backend_table.read(Settings, offering)
        self._command = site.worker_command
        self._roster = Roster(Path(site.state_folder).absolute() / "local" / offering.name)
        self._keeper: socket.socket | None = None
        self._starting = threading.Lock()
        self._closed = False

    def lacks(self) -> Mapping[Feature, str]:
        return {
            Feature.PREEMPTION: "nobody takes a process of this computer away",
            Feature.POWER_OFF: "this computer costs nothing more or less without its workers",
            Feature.QUEUE: "a process starts at once or not at all; a queue is only emulated",
        }

    def warm(self, spare: SpareKeeper | None = None) -> None:
        """Start what starts workers, ahead of the first; blocks: call it from a thread."""
        with self._starting:
            if self._closed or self._keeper:
                return
            if spare:
                self._keeper = spare.become(self._keeper_arguments(), self._command)
            self._keeper = self._keeper or self._start_keeper()

    async def check(self) -> str:
        tried = await processes.run(*self._command, "--help", limit_seconds=CHECK_LIMIT_SECONDS)
        if tried.code:
            raise RefusedError(
                f"The worker does not run on this computer: `{' '.join(self._command)} --help` "
                f"said: {tried.complaint}"
            )
        speed = self._settings.speed
        emulated = f", emulating speed {speed:g}" if speed != 1.0 else ""
        given = self._settings
        if given.lost_per_hour:
            emulated += f", of which {given.lost_per_hour:g} an hour are lost"
        return f"processes of this computer, which has {os.cpu_count()} cores{emulated}"

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        return await asyncio.to_thread(self._start, tickets)

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        return await asyncio.to_thread(
            lambda: {machine: self._roster.look(machine) for machine in machines}
        )

    async def stop(self, machines: Sequence[MachineId]) -> None:
        await asyncio.to_thread(self._roster.stop, machines, STOP_GRACE_SECONDS)

    async def list_ours(self) -> Sequence[Orphan]:
        return await asyncio.to_thread(self._living)

    async def log(self, machine: MachineId) -> str:
        return await asyncio.to_thread(self._roster.log, machine)

    async def left(self, machine: MachineId, name: str, offset: int, size: int) -> bytes:
        return await asyncio.to_thread(self._roster.left, machine, name, offset, size)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._starting:  # a thread may be about to start the keeper, which nobody would end
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        if self._keeper:
            self._keeper.close()
            self._keeper = None

    def _living(self) -> list[Orphan]:
        living = {machine: self._roster.look(machine) for machine in self._roster.living()}
        return [
            Orphan(machine, self._offering.name, seen.address, seen.charged_seconds)
            for machine, seen in living.items()
        ]

    def _start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        lines = [to_json(self._complete(ticket)).encode() for ticket in tickets]
        with self._starting:
            if self._closed:
                raise RefusedError("No machine is started any more: the master lets go of them.")
            try:
                errors = self._hand_over(lines)
            except ConnectionError:  # the keeper was killed; its workers live on
                self._let_go()
                errors = self._hand_over(lines)
        return {
            machine: Sighting(State.GONE, gone=Gone.FAILED, detail=f"could not be started: {error}")
            if error
            else self._roster.look(machine)
            for machine, error in errors.items()
        }

    def _complete(self, ticket: Ticket) -> Ticket:
        given = self._settings
        return replace(
            ticket,
            speed=given.speed,
            state_folder=ticket.state_folder or str(self._roster.state(ticket.machine)),
            lease_seconds=ticket.lease_seconds + given.queue_seconds,  # counts from its process on
        )

    def _hand_over(self, lines: list[bytes]) -> dict[MachineId, str]:
        """Give tickets to the keeper, which is started for the first of them; what went wrong."""
        self._keeper = keeper = self._keeper or self._start_keeper()
        keeper.sendall(b"".join(lines))
        with keeper.makefile("rb") as heard:
            answers = [json.loads(line) for _, line in zip(lines, heard, strict=False)]
        if len(answers) < len(lines):
            raise ConnectionResetError
        return {MachineId(answer["machine"]): answer["error"] for answer in answers}

    def _keeper_arguments(self) -> tuple[str, ...]:
        given = self._settings
        timing = ("--queue", str(given.queue_seconds), "--delay", str(given.start_delay_seconds))
        loss = ("--lost-per-hour", str(given.lost_per_hour), "--notice", str(given.notice_seconds))
        silent = ("--silent",) if given.lost == "silent" else ()
        return (str(self._roster.folder), *timing, *loss, *silent)

    def _start_keeper(self) -> socket.socket:
        python = self._command[0] if self._command[1:2] == ("-m",) else sys.executable
        argv = [python, "-P", "-m", MODULE, *self._keeper_arguments(), "--", *self._command]
        ours, theirs = socket.socketpair()
        ours.settimeout(START_LIMIT_SECONDS)
        with theirs:
            try:
                subprocess.run(argv, stdin=theirs.fileno(), stdout=theirs.fileno(), check=True)
            except BaseException:
                ours.close()
                raise
        return ours
