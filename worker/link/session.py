"""A worker's conversation with its master: who it is, what it runs and holds, until it ends."""

import asyncio
import contextlib
import math
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog

from bats.common import messages as m
from bats.common.capacity.resources import devices_of
from bats.common.release import release
from bats.common.ticket import LEASE_ENDED, Ticket
from bats.common.wire.codec import Message, ProtocolError, decode, encode
from bats.common.wire.keys import KeyPair, keep_pair
from bats.worker.control_groups import Groups
from bats.worker.files.exchange import Files
from bats.worker.link.connection import Connection
from bats.worker.link.lease import Lease, boot_clock
from bats.worker.link.outbox import Outbox
from bats.worker.link.reports import Reports
from bats.worker.process_tree import (
    UNKILLABLE_SECONDS,
    adopt_orphans,
    bury_orphans,
    end_descendants,
)
from bats.worker.tasks.attempts import Runner

_HELLO_AGAIN_SECONDS: Final = 5.0  # without an answer
_FAREWELL_SECONDS: Final = 3.0  # for the last results to be acknowledged
_NEXT_MASTER_SECONDS: Final = 15.0  # for them to be, if the master dies that told us to stop
_MOST_TOLD: Final = 5000  # attempts that a heartbeat tells of; more are not compared
_HURRY_SECONDS: Final = 1.0  # between signals to tasks when the worker itself must end

REFUSED: Final = 4  # exit code: as for any program that the master does not let in

log = structlog.get_logger()


class Session:
    """Lives from start to exit; `run` returns the exit code."""

    def __init__(
        self,
        ticket: Ticket,
        folder: Path,
        began: float,
        on_lease: Callable[[float], None],
        groups: Groups | None = None,
    ) -> None:
        """`began` on the boot clock: the first lease counts from there."""
        self._ticket = ticket
        self._machine = ticket.machine
        self._release = release()
        self._incarnation = secrets.token_hex(8)
        self._on_lease = on_lease
        self._loop = asyncio.get_running_loop()
        self._reports = Reports(Outbox(folder / "outbox"), self._report)
        self._files = Files(folder / "files", self._say, self._inputs_ready, self._reports.outputs)
        self._runner = Runner(
            ticket.slots,
            folder / "slots",
            ticket.speed,
            self._files,
            self._finished,
            self._returned,
            self._broken,
            groups,
            devices_of(ticket.gpus),
        )
        self._limits = m.LIMITS_ENFORCED if groups and groups.enforces_all else m.LIMITS_WATCHED
        self._own = keep_pair(folder / "own.key") if ticket.single_use else ticket.pair
        self._enrolling = ticket.single_use
        self._welcome = False
        self._heartbeat_seconds = 5.0
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._settled = asyncio.Event()
        self._stopping = ""  # why, once it does
        self._patient = False  # told to stop by the master, which may be another one soon
        self._hurried = False
        self._farewell: asyncio.Task[None] | None = None
        self._lease = Lease(ticket.lease_seconds, began, ticket.margin_seconds)
        self._lease_timer: asyncio.TimerHandle | None = None
        self._on_lease(self._lease.ends)
        self._mind_lease()
        self._link = Connection(ticket.master, ticket.server_key, ticket.pair, self)

    async def run(self) -> int:
        adopt_orphans()
        beat = asyncio.create_task(self._beat())
        beat.add_done_callback(self._fail)
        try:
            return await self._ended
        finally:
            beat.cancel()
            self._runner.kill_at_once()
            self._runner.close()
            self._reports.close()
            self._link.close(0.2)

    def stop(self, reason: str, *, exit_code: int = 0, seconds: float = math.inf) -> None:
        """End in order: stop tasks, report them, say goodbye. Asked again, end at once."""
        if self._stopping and self._patient and seconds:
            self._patient = False
            self._settled.set()
            return
        if self._stopping:
            self._hurried = True
            self._runner.kill_at_once()
            self._settled.set()
            return
        self._stopping = reason
        log.info("ending", reason=reason, running=len(self._runner.desk.running))
        self._farewell = asyncio.ensure_future(self._end(exit_code, seconds))
        self._farewell.add_done_callback(self._fail)

    async def _end(self, exit_code: int, seconds: float) -> None:
        kill_at = self._loop.time() + max(0.0, seconds)
        self._runner.stop(min(_HURRY_SECONDS, seconds / 3))
        try:
            async with asyncio.timeout_at(kill_at if seconds < math.inf else None):
                await self._runner.idle.wait()
        except TimeoutError:
            self._runner.kill_at_once()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._runner.idle.wait(), UNKILLABLE_SECONDS)
        end_descendants(UNKILLABLE_SECONDS)  # also what left its group
        self._reports.flush()
        if self._reports.waiting or (self._link.up and self._welcome):
            await self._say_goodbye()
        if not self._ended.done():
            self._ended.set_result(exit_code)

    def _fail(self, task: "asyncio.Task[None]") -> None:
        """The daemon ends with a task of its own that failed: it could not work without it."""
        if not task.cancelled() and (error := task.exception()) and not self._ended.done():
            self._ended.set_exception(error)

    async def _say_goodbye(self) -> None:
        """Say goodbye once the master has everything, or too late; a broken link may come back."""
        patience = self._loop.time() + self._farewell_seconds()
        while (self._reports.waiting or self._files.outputs.under_way) and not self._hurried:
            self._settled.clear()
            try:
                async with asyncio.timeout_at(patience):
                    await self._settled.wait()
            except TimeoutError:
                log.warning("last results not acknowledged", results=self._reports.waiting)
                break
            patience = self._loop.time() + self._farewell_seconds()
        self._say(m.Goodbye(self._stopping))

    def _farewell_seconds(self) -> float:
        seconds = _NEXT_MASTER_SECONDS if self._patient else _FAREWELL_SECONDS
        return min(seconds, self._lease.left(boot_clock()))

    # --- the clock --------------------------------------------------------------------------------

    async def _beat(self) -> None:
        """Heartbeats, and Hello again when nobody answered."""
        beaten = said = self._loop.time()
        while True:
            self._mind_lease()
            now = self._loop.time()
            if self._welcome and now - beaten >= self._heartbeat_seconds:
                beaten = now
                self._say_heartbeat()
                self._files.look()
            if self._link.up and not self._welcome and now - said >= _HELLO_AGAIN_SECONDS:
                said = now
                self._introduce()
            bury_orphans(self._runner.pids)
            await asyncio.sleep(min(self._heartbeat_seconds, 1.0))

    def _renew(self, seconds: float, stamp: float) -> None:
        """From its stamp on; masters of older releases give none."""
        now = boot_clock()
        self._lease.renew(seconds, min(stamp, now) if stamp else now)
        self._on_lease(self._lease.ends)
        self._mind_lease()

    def _mind_lease(self) -> None:
        """Look at the lease at its end and with each beat: timers stop while a machine sleeps."""
        if self._lease_timer:
            self._lease_timer.cancel()
        now = boot_clock()
        if now < self._lease.stops:
            self._lease_timer = self._loop.call_later(self._lease.stops - now, self._mind_lease)
        elif not self._stopping:
            how = "was not renewed" if self._welcome else "ran out"
            left = self._lease.left(now)
            self.stop(f"the lease {how}", exit_code=LEASE_ENDED, seconds=left * 0.8)

    def _say_heartbeat(self) -> None:
        running = self._runner.running()
        desk, reports = self._runner.desk, self._reports
        now = boot_clock()
        beat = m.Heartbeat(running, len(desk.waiting), self._lease.left(now), stamp=now)
        if len(desk.held) + reports.waiting <= _MOST_TOLD:
            reports.flush()
            held = desk.held.difference(attempt for attempt, _ in running)
            ended = tuple(reports.attempts())
            beat = replace(
                beat, held=tuple(sorted(held)), ended=ended, serial=reports.serial, whole=True
            )
        self._say(beat)

    # --- the link ---------------------------------------------------------------------------------

    def on_up(self) -> None:
        self._introduce()

    def on_down(self) -> None:
        if self._welcome and not self._ended.done():
            log.warning("connection to the master lost; tasks run on")
        self._welcome = False

    def on_denied(self) -> KeyPair:
        """A spent ticket is denied when our own key is known already, and the other way round."""
        if self._ticket.single_use:
            self._enrolling = not self._enrolling
        else:
            log.warning("the master does not admit this machine's key (yet)")
        return self._ticket.pair if self._enrolling else self._own

    def _introduce(self) -> None:
        if self._enrolling:
            self._say(m.Enroll(self._machine, self._own.public.encode()))
            return
        self._say(
            m.Hello(
                release=self._release,
                machine=self._machine,
                incarnation=self._incarnation,
                slots=self._ticket.slots,
                host=socket.gethostname(),
                pid=os.getpid(),
                holding=self._holding(),
                unacknowledged=self._reports.waiting,
                offering=self._ticket.offering,
                limits=self._limits,
                memory_bytes=self._ticket.memory_bytes,
                gpus=self._ticket.gpus,
                stamp=boot_clock(),
            )
        )

    def _holding(self) -> tuple[m.AttemptId, ...]:
        """Attempts held, ended ones too, lest the master gives one away before it hears of it."""
        return tuple(sorted({*self._runner.desk.held, *self._reports.attempts()}))

    def on_frame(self, frame: bytes) -> None:
        try:
            message = decode(frame)
        except ProtocolError as error:
            log.warning("not understood", error=str(error))
            return
        match message:
            case m.Run(bag, orders):
                self._take(bag, orders)
            case m.ResultsStored(serial):
                self._reports.stored(serial)
                self._settled.set()
            case m.Lease(seconds, stamp):
                self._renew(seconds, stamp)
            case m.BagSpec():
                self._runner.learn(message)
                self._files.look()
            case m.BlobChunk() | m.WantBlob() | m.BlobStored():
                self._files.hear(message)
                self._settled.set()
            case m.Kill(attempts):
                self._runner.kill(attempts)
            case m.Look(of, stream, offset):
                self._say(m.Glimpse(of, stream, offset, *self._runner.glimpse(of, stream, offset)))
            case m.Welcome():
                self._on_welcome(message)
            case m.Stop(reason):
                if not self._stopping:
                    self._patient = True
                    self.stop(reason)
            case m.Refused(reason, retry):
                if retry:
                    log.warning("to join again", reason=reason)
                    self._loop.call_soon(self._link.again)
                else:
                    log.error("refused by the master", reason=reason)
                    self.stop(f"refused: {reason}", exit_code=REFUSED)
            case _:
                log.error("not for a worker", message=type(message).__name__)

    def _on_welcome(self, welcome: m.Welcome) -> None:
        if self._enrolling:  # our own key is admitted now
            self._enrolling = False
            self._loop.call_soon(self._link.use, self._own)
            return
        self._welcome = True
        self._heartbeat_seconds = max(0.05, welcome.heartbeat_seconds)
        if welcome.machine >= 0:
            self._machine = welcome.machine
        self._renew(welcome.lease_seconds, welcome.stamp)
        log.info("joined", machine=self._machine, master=welcome.release)
        self._reports.say_again()
        self._files.again()

    def _take(self, bag: m.BagId, orders: tuple[m.Order, ...]) -> None:
        if not self._runner.knows(bag) or self._stopping:
            self._returned([m.AttemptId(bag, task, attempt) for task, attempt, _ in orders])
            return
        self._runner.run(bag, orders)

    def _inputs_ready(self, kit: int) -> None:
        self._runner.ready(kit)

    # --- saying -----------------------------------------------------------------------------------

    def _finished(self, result: m.Result) -> None:
        self._reports.add(result, more_soon=bool(self._runner.desk.waiting))

    def _broken(self, reason: str) -> None:
        if not self._stopping:
            self.stop(reason)

    def _report(self, frame: bytes) -> None:
        if self._welcome:
            self._link.send(frame)

    def _say(self, message: Message) -> None:
        self._link.send(encode(message))

    def _returned(self, attempts: list[m.AttemptId]) -> None:
        self._say(m.Returned(tuple(attempts)))
