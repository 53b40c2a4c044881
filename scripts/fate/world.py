"""One seed's world: a master with its bag, machines that come and go, and what befalls them."""

import asyncio
import contextlib
import os
import random
from pathlib import Path
from typing import Any, Final

import bats.worker.link.session as session_module
from bats.common.messages import AttemptId, BagId, MachineId, TaskId
from bats.master.bag_states import OPEN
from bats.master.brain.rules.dispatch import AHEAD_SECONDS
from bats.master.service.closing import Closing
from bats.master.service.master import Master
from bats.master.service.options import Options, place_of
from fate.befalls import HAPPENS, make_lie
from fate.disk import Disk
from fate.kernel import Kernel, Work
from fate.loans import Loans
from fate.network import Network
from fate.provider import Machine, Provider
from fate.stand_ins import stand_ins
from fate.stories import Errand, Story
from fate.timeline import Process, VirtualLoop, current
from fate.user import User

PATIENCE_SECONDS: Final = 3 * 3600.0  # for a bag to end, whatever befell it
QUIET_SECONDS: Final = 1200.0  # for the last machine to go
_HELD_SECONDS: Final = 60.0  # without any machine, after which a cap is what keeps bags waiting


class World:
    """Everything that is there, and what is known of it beyond anybody's books."""

    def __init__(self, seed: int, folder: Path, story: Story) -> None:
        self.seed = seed
        self.story = story
        self.folder = folder
        self.rng = random.Random(f"fate {seed}")
        self.loop = VirtualLoop()
        self.network = Network(self.loop, random.Random(f"links {seed}"))
        self.disk = Disk()
        self.workers_disk = Disk()
        self.outputs = Disk()  # where they are laid out
        self.kernel = Kernel(self.loop, self._work_of)
        self.provider = Provider(self.loop, random.Random(f"provider {seed}"), self._boot)
        self.provider.remembers = folder if story.remembers else None
        self.kernel.machine_of = self._machine_here
        self.state = folder / "state"
        self.disk.watched = [self.state / "blobs", self.state / "output"]
        self.master: Master | None = None
        self.master_process: Process | None = None
        self.bags: dict[BagId, Errand] = {}  # by the numbers that the master gave
        self.left_out: set[tuple[BagId, TaskId]] = set()  # by the user, at some time
        self.begun_wrong: list[str] = []  # tasks without what they need
        self.held_on_to: list[BagId] = []  # bags that had ended long before all was over
        self.steps = 0  # events that an engine took
        self.lives = 0  # of the master
        self.cuts = 0  # of the master's power
        self.loans = Loans()
        self.user = User(self)
        self._secrets = random.Random(f"secrets {seed}")
        self._graves: list[Any] = []

    # --- the master -------------------------------------------------------------------------------

    def options(self) -> Options:
        offering, cap_bytes = self.story.offering, self.story.cap_bytes
        caps = {} if cap_bytes is None else {"task_files_bytes": cap_bytes}
        return Options(
            state=self.state,
            offerings=(offering,),
            backends={place_of(offering): self.provider},
            **caps,
        )

    def begin_master(self) -> None:
        if self.master_process is not None and self.master_process.alive:
            return
        self.lives += 1
        self.master_process = process = Process(f"master {self.lives}")
        self.loop.create_task(self._serve(), context=process.context)

    async def _serve(self) -> None:
        closing = Closing()  # for a master that cannot begin; one that runs is killed
        try:
            self.master = master = Master(self.options(), closing)
        except BaseException:
            await closing.close()
            raise
        self._graves.append(master)
        self._look_for_forgotten(master)
        assert self.network.master is not None
        self.network.master.admits = master.authenticator.admits
        master.bags.around.witness = self._witness
        master.bags.side_by_side._neighbours.witness = self.loans.announced
        with contextlib.suppress(Exception):
            await master.ended
        self.loop.outside(30.0, self.begin_master)
        self.kill_master()

    def _look_for_forgotten(self, master: Master) -> None:
        """What was begun before a master was killed, the next one knows to have been ordered.

        But where tasks are so short, or said to be, that some are sent ahead of free slots.
        """
        if any(what == "one_lies" for _, what, _ in self.story.befalls):
            return
        for one in self.kernel.executions.values():
            runner = master.bags.loaded.get(one.attempt.bag)
            shortest = min(work.seconds for work in self.bags[one.attempt.bag].works)
            if shortest <= AHEAD_SECONDS * self.story.offering.slots:
                continue
            if runner and not runner.engine.was_sent(one.attempt.task, one.attempt.attempt):
                self.begun_wrong.append(f"{one.attempt} began, and its order was forgotten")

    def _witness(self, bag: BagId, now: float, event: Any, commands: Any) -> None:
        self.steps += 1
        self.loans.see(bag, event, self.loop.now, self.loop.now - now)
        runner = self.master.bags.loaded.get(bag) if self.master else None
        if runner is not None:
            self.bags[bag] = next(e for e in self.story.errands if e.name == runner.bag.name)
            runner.engine.check()
            self.loans.note(bag, runner._heard, now, commands)

    def kill_master(self) -> None:
        process = self.master_process
        if process is None or not process.alive:
            return
        process.alive = False
        master, self.master = self.master, None
        if master is not None:
            master.store._db.close()
            master.store._mark.close()
            master.store._lock.release()
        self.network.cut_all()

    # --- the machines -----------------------------------------------------------------------------

    def _machine_here(self) -> MachineId:
        process = current()
        assert process is not None
        return next(m.number for m in self.provider.machines.values() if m.process is process)

    async def _boot(self, machine: Machine) -> int:
        folder = self.folder / str(machine.number)
        folder.mkdir()

        def lease(ends: float) -> None:
            self.provider.lease(machine, ends - 1000.0)

        session = session_module.Session(machine.ticket, folder, 1000.0 + self.loop.now, lease)
        machine.session = Living(session)
        self._graves.append(session)
        if machine.liar:
            make_lie(self, session)
        return await session.run()

    def _work_of(self, attempt: AttemptId, scratch: str) -> Work:
        """What the task does, once it is seen that nothing is missing."""
        errand = self.bags[attempt.bag]
        what = f"{attempt} began"
        for name, content in errand.inputs.items():
            place = Path(scratch, name)
            if not place.exists() or place.read_bytes() != content:
                self.begun_wrong.append(f"{what} without its input {name}")
        for parent in errand.parents(attempt.task):
            if not self._may_be_held_done(attempt.bag, TaskId(parent)):
                self.begun_wrong.append(f"{what} before task {parent} had ended")
        return errand.works[attempt.task]

    def _may_be_held_done(self, bag: BagId, task: TaskId) -> bool:
        """It has ended well, or a machine that lies was given it, and may have said so."""
        machines = self.provider.machines
        return self.kernel.ended_well(bag, task) or any(
            machines[one.machine].liar
            for one in self.kernel.executions.values()
            if (one.attempt.bag, one.attempt.task) == (bag, task)
        )

    # --- running it -------------------------------------------------------------------------------

    def run(self) -> float:
        """Runs until all bags have ended and all is quiet; the virtual seconds that took."""
        with stand_ins(self):
            self.loop.call_soon(self.begin_master)
            self.loop.outside(0.5, self.user.look)
            for at, what, seconds in self.story.befalls:
                self.loop.call_later(at, HAPPENS[what], self, seconds)
            took = self.loop.run_until_complete(self._until_quiet())
            if self.master is not None:
                self.kill_master()
        return took

    async def _until_quiet(self) -> float:
        ended: float | None = None
        idle_since = 0.0
        while self.loop.now < PATIENCE_SECONDS:
            await asyncio.sleep(5.0)
            if self.loop.now < max((at + s for at, _, s in self.story.befalls), default=0.0):
                continue
            self.user.resume_paused()
            if not self._over():
                ended = None
                idle_since = self.loop.now if self.provider.alive() else idle_since
                if self.loop.now - idle_since > _HELD_SECONDS:
                    self.user.lift_cap()
                continue
            ended = self.loop.now if ended is None else ended
            if not self.provider.alive() or self.loop.now - ended > QUIET_SECONDS:
                return ended
        known = self.master.bags.known if self.master else {}
        self.held_on_to = [bag for bag, one in known.items() if one.state not in OPEN]
        return self.loop.now

    def _over(self) -> bool:
        master = self.master
        if master is None:
            return False
        if self.user.refusals:
            return True
        if master.store.backlog:
            return False
        return self.user.has_submitted_all and not master.bags.known and not master.bags.running

    def draw_secret(self, size: int = 32) -> bytes:
        return self._secrets.randbytes(size)

    def close(self) -> None:
        self._graves.clear()
        self.loop.close()


class Living:
    """A session, and what is let go of when its machine vanishes."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def vanished(self) -> None:
        runner, reports = self.session._runner, self.session._reports
        for slot in runner._slots:
            for descriptor in (slot.stdout, slot.stderr, slot.stdin):
                _close(descriptor)
        _close(runner._null)
        _close(reports._outbox._file)


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        with contextlib.suppress(OSError):
            os.close(descriptor)
