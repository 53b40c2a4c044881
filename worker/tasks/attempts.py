"""Runs attempts in slots: starts what the desk says, notices ends, signals, makes results."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

import structlog

from bats.common.messages import AttemptId, BagId, BagSpec, Order, Outcome, Result
from bats.common.wire.codec import CHUNK_BYTES
from bats.worker.control_groups import Groups
from bats.worker.files.exchange import Files
from bats.worker.files.outputs import NONE, Collected
from bats.worker.lobby import YOUNG_SECONDS, Lobby
from bats.worker.process_tree import (
    UNKILLABLE_SECONDS,
    descendants,
    send,
    signal_group,
    strangers,
)
from bats.worker.tasks import capture
from bats.worker.tasks.desk import Desk, Running
from bats.worker.tasks.kits import Kits
from bats.worker.tasks.limits import Limits, limits_of
from bats.worker.tasks.prepared_bag import Bag
from bats.worker.tasks.reaper import reaper
from bats.worker.tasks.slot import Slot
from bats.worker.tasks.spawn import NotStartedError
from bats.worker.tasks.syncing import Syncing

_WATCH_SECONDS: Final = 1.0 - YOUNG_SECONDS
"""Between looks at growing output, old orders and the lobby.

An attempt too young at one look to be moved from the lobby is moved at the next: within a second.
"""

log = structlog.get_logger()


class Runner:
    """`finished` gets each result, `returned` what this machine gives back unstarted.

    `broken` hears why it should take no more tasks. `devices` are the names of its GPUs.
    """

    def __init__(
        self,
        slots: int,
        folder: Path,
        speed: float,
        files: Files,
        finished: Callable[[Result], None],
        returned: Callable[[list[AttemptId]], None],
        broken: Callable[[str], None],
        groups: Groups | None = None,
        devices: Iterable[str] = (),
    ) -> None:
        self.desk = Desk(slots, devices=list(devices))
        self._files = files
        self._finished = finished
        self._returned = returned
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._kits = Kits(files, speed, self.desk.kits)
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier daemon
        folder.mkdir(parents=True)
        self._pipe = os.pipe()
        self._groups = groups
        self._lobby = Lobby(groups.daemons if groups else -1)
        self._slots = [
            Slot(
                folder,
                number,
                self._null,
                self._pipe[0],
                groups.of_slot(number) if groups else None,
            )
            for number in range(slots)
        ]
        self._pids: dict[int, int] = {}  # slot: process id
        self._syncing = Syncing()
        self._reaper = reaper(self._loop, self._ended)
        self._timer: asyncio.TimerHandle | None = None
        self.idle = asyncio.Event()  # nothing runs, nothing is being collected
        self.idle.set()

    # --- what the master says ---------------------------------------------------------------------

    def learn(self, spec: BagSpec) -> None:
        """Carry out what is ordered of the bag from now on like this.

        Raises UsageError for templates that cannot be filled; submission refuses those.
        """
        kit = self._kits.learn(spec)
        if self._files.inputs.need(kit, spec):
            self.ready(kit)
        else:
            self.desk.park(kit)

    def ready(self, kit: int) -> None:
        """Start tasks whose inputs are here now."""
        self.desk.unpark(kit, self._loop.time())
        self._start_next()
        self._plan()

    def knows(self, bag: BagId) -> bool:
        return self._kits.knows(bag)

    def run(self, bag: BagId, orders: Iterable[Order]) -> None:
        kit = self._kits.of(bag)
        self.desk.add(bag, orders, self._loop.time(), kit, self._kits[kit].spec.gpus)
        self._start_next()
        self._plan()

    def kill(self, attempts: Iterable[AttemptId]) -> None:
        for attempt in self.desk.kill(attempts, self._loop.time()):
            self._finished(_unrun(attempt, Outcome.KILLED, "not yet started when it was cancelled"))
        for attempt in self.desk.finishing.intersection(attempts):
            self._loop.call_later(UNKILLABLE_SECONDS, self._abandon, attempt)
        self._look()

    def stop(self, grace_seconds: float | None = None) -> None:
        """Start nothing more, give back what waits, end what runs."""
        if back := self.desk.kill_all(self._loop.time(), grace_seconds):
            self._returned(back)
        self._look()

    def running(self) -> tuple[tuple[AttemptId, float], ...]:
        now = self._loop.time()
        return tuple((r.attempt, now - r.started) for r in self.desk.running.values())

    def glimpse(self, of: AttemptId, stream: str, offset: int) -> tuple[bytes, int]:
        """The bytes that an attempt has written from there on, and how many there are in all."""
        for number, running in self.desk.running.items():
            if running.attempt == of:
                slot = self._slots[number]
                file = slot.stderr if stream == "err" else slot.stdout
                return capture.since(file, offset, CHUNK_BYTES)
        return b"", 0

    @property
    def pids(self) -> Collection[int]:
        """Process ids of those that lead an attempt, running or just ended."""
        return self._pids.values()

    def kill_at_once(self) -> None:
        for pid in self._pids.values():
            signal_group(pid, signal.SIGKILL)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._reaper.close()
        for slot in self._slots:
            slot.close()
        for file in (self._null, *self._pipe):
            os.close(file)

    # --- starting and ending ----------------------------------------------------------------------

    def _start_next(self) -> None:
        for waiting, number in self.desk.starts():
            attempt = waiting.attempt
            bag = self._kits[waiting.kit]
            slot = self._slots[number]
            grace = bag.spec.grace_seconds
            limits = None
            try:
                limits = self._limits(bag.spec, number)
                devices = self.desk.given.get(number, ())
                pid = bag.start(attempt, waiting.values, slot, limits, devices)
                now = self._loop.time()
                running = Running(
                    attempt, number, now, waiting.values, waiting.kit,
                    grace_seconds=grace, limits=limits,
                )  # fmt: skip
                self._watch(pid, running)
            except NotStartedError as error:
                if limits:
                    limits.close()
                self._clear(slot)
                self.desk.end(attempt, number)
                self._conclude(_unrun(attempt, Outcome.NOT_STARTED, str(error), number))
                continue
            timeout = bag.spec.timeout_seconds
            if not (limits and limits.group):
                self._lobby.enter(pid, slot.group, slot.scratch_bytes)
            self.desk.run(running)
            self._pids[number] = pid
            self.idle.clear()
            if timeout:
                running.timeout_at = now + timeout
                self._plan()

    def _limits(self, spec: BagSpec, slot: int) -> Limits | None:
        try:
            return limits_of(spec, self._groups, slot)
        except OSError as error:
            raise NotStartedError(f"it cannot be held to its limits: {error.strerror}") from None

    def _watch(self, pid: int, running: Running) -> None:
        """Raises NotStartedError; what nobody would see the end of does not run."""
        try:
            self._reaper.watch(pid, running)
        except OSError as error:
            signal_group(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise NotStartedError(f"its process cannot be watched: {error.strerror}") from None

    def _ended(self, running: Running, pid: int) -> None:
        if self._pids.get(running.slot) != pid:  # it was given up; its slot is not used again
            os.waitpid(pid, 0)
            return
        try:
            self._wind_up(running, pid)
        except Exception as error:
            log.exception("the end of a task was not taken in", attempt=running.attempt)
            if running.slot in self.desk.running:
                self.desk.give_up(running)
            why = f"the worker could not take in its end: {error!r}"
            self._conclude(_unrun(running.attempt, Outcome.FAILED, why, running.slot))
            self._broken(why)

    def _wind_up(self, running: Running, pid: int) -> None:
        now = self._loop.time()
        # While the leader is not yet waited for, its group's number cannot be anybody else's.
        signal_group(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        attempt, number = running.attempt, running.slot
        bag, slot = self._kits[running.kit], self._slots[number]
        del self._pids[number]
        if running.strangers:
            for stranger in running.strangers.intersection(descendants(os.getpid())):
                send(stranger, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        outcome = running.ending
        if outcome is None:
            outcome = Outcome.DONE if code == 0 else Outcome.FAILED
        over = running.over
        limits = running.limits
        own = limits.group if limits else None
        lives_on = own.lives() if own else self._lobby.lives_on(pid, slot.group)
        if lives_on and slot.group:
            slot.group.kill()
        if limits:
            over = over or limits.refused()
            limits.close()
        out_bytes, err_bytes = capture.sizes(slot)
        words, kept = "", NONE
        if out_bytes or err_bytes:
            look = capture.last_words if outcome is Outcome.DONE else capture.excerpt
            words = look(slot, out_bytes, err_bytes)
            try:
                kept = bag.keep(attempt, slot, out_bytes, err_bytes)
            except OSError as error:
                log.warning("output not kept", attempt=attempt, reason=error.strerror)
                outcome, words = _without_output(outcome, words, error)
        if over and outcome is Outcome.FAILED:
            words = f"{words}\n{over}".lstrip()
        if outcome is Outcome.DONE:
            words = bag.tell(words, running.values, slot.scratch)
        if lives_on:
            slot.fresh()
        elif out_bytes or err_bytes:
            capture.empty(slot)
        bag.withdraw(slot)
        left = self._clear(slot)
        result = Result(
            *attempt,
            outcome,
            code,
            now - running.started,
            usage.ru_utime,
            usage.ru_stime,
            usage.ru_maxrss,
            out_bytes + err_bytes,
            words,
            number,
            kept,
        )
        unsynced = bag.take_unsynced()
        self.desk.end(attempt, number)
        self._start_next()  # before the paperwork: the slot is paid for

        def synced(error: OSError | None) -> None:
            told = result
            if error is not None:
                failed, words = _without_output(outcome, result.excerpt, error)
                told = result._replace(outcome=failed, excerpt=words)
            if bag.collects and told.outcome is Outcome.DONE:
                self._collect(bag, running.values, slot.scratch, left, told)
                return
            if left:
                self._delete(left)
            self._conclude(told)

        if unsynced:
            self._syncing.add(unsynced, synced)
        else:
            synced(None)

    def _give_up(self, running: Running) -> None:
        """Nobody waits for what cannot be killed, and nothing more is trusted to this machine."""
        pid = self._pids.pop(running.slot)
        why = f"its process {pid} could not be killed and lives on"
        log.error("a process could not be killed", attempt=running.attempt, pid=pid)
        self.desk.give_up(running)
        self._conclude(
            _unrun(running.attempt, running.ending or Outcome.KILLED, why, running.slot)._replace(
                wall_seconds=self._loop.time() - running.started
            )
        )
        self._broken(f"process {pid} of a task could not be killed")

    def _clear(self, slot: Slot) -> str | None:
        try:
            return slot.clear_scratch()
        except OSError as error:  # then the next task says that it has no folder to run in
            log.warning("scratch folder not cleared", slot=slot.number, reason=error.strerror)
            return None

    def _conclude(self, result: Result) -> None:
        self.desk.drop(AttemptId(*result[:3]))
        if not self._pids and not self.desk.finishing:
            self.idle.set()
        self._finished(result)

    def _abandon(self, attempt: AttemptId) -> None:
        """Nobody waits for files of a cancelled attempt, whose disk may hang."""
        if attempt in self.desk.finishing:
            why = "cancelled while its output files were being collected"
            self._conclude(_unrun(attempt, Outcome.KILLED, why))

    def _collect(
        self, bag: Bag, values: tuple[str, ...], scratch: str, left: str | None, result: Result
    ) -> None:
        """Outputs may be large, so they are hashed in a thread; then the result follows."""

        def collected(done: asyncio.Future[Collected]) -> None:
            if left:
                self._delete(left)
            if AttemptId(*result[:3]) not in self.desk.finishing:
                return  # abandoned
            if error := done.exception():
                why = f"its output files could not be collected: {error}"
                self._conclude(result._replace(outcome=Outcome.FAILED, excerpt=why))
            else:
                self._conclude(result._replace(outputs=result.outputs + done.result()))

        work = self._loop.run_in_executor(None, bag.collect, values, scratch, left)
        work.add_done_callback(collected)

    def _delete(self, folder: str) -> None:
        self._loop.run_in_executor(None, shutil.rmtree, folder, True)

    def _press(self, running: Running, number: int) -> None:
        """Signal the attempt's group, and what of it went off into groups of its own."""
        pid = self._pids[running.slot]
        running.strangers.update(found := strangers(pid))
        signal_group(pid, number)
        for stranger in found:
            send(stranger, number)
        if number == signal.SIGKILL:
            for whole in (running.limits, self._slots[running.slot].group):
                if whole:
                    whole.kill()

    # --- the clock --------------------------------------------------------------------------------

    def _look(self) -> None:
        """Do what is due: signals to those that must end, orders that waited too long."""
        now = self._loop.time()
        if due := self.desk.due(now):
            self._lobby.settle()
        else:
            self._lobby.look()
        for running, wanted in due:
            self._press(running, wanted)
        for running in self.desk.unkillable(now):
            self._give_up(running)
        if back := self.desk.give_back(now):
            self._returned(back)
        for number in self._pids:
            running = self.desk.running[number]
            cap = self._kits[running.kit].spec.output_cap_bytes
            if running.limits and (why := running.limits.look(self._pids[number])):
                running.end_at_once(why, now)
            if now - running.started >= _WATCH_SECONDS:
                capture.let_go_of_middle(self._slots[number].stdout, cap)
                capture.let_go_of_middle(self._slots[number].stderr, cap)
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._plan()

    def _plan(self) -> None:
        """Look again when something is due, and each second while anything runs."""
        if not self._pids:
            return
        now = self._loop.time()
        at = min(self.desk.next_due(), now + _WATCH_SECONDS)
        if self._timer is None or at < self._timer.when():
            if self._timer:
                self._timer.cancel()
            self._timer = self._loop.call_at(at, self._look)


def _without_output(outcome: Outcome, words: str, error: OSError) -> tuple[Outcome, str]:
    """A task is not done without what it wrote: it may be kept another time, or elsewhere."""
    if outcome is Outcome.DONE:
        outcome = Outcome.FAILED
    return outcome, f"{words}\n[bats: output not kept: {error.strerror}]".lstrip()


def _unrun(attempt: AttemptId, outcome: Outcome, why: str, slot: int = 0) -> Result:
    return Result(*attempt, outcome, 0, 0.0, 0.0, 0.0, 0, 0, why, slot)
