"""Commands of a bag's engine, carried out: all but recording results, which its runner does.

What costs money, ends machines or runs tasks is done only once the event behind it is durable; but
where tasks are so short that they are sent ahead, workers are told of them at once.
"""

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import structlog

from bats.common.messages import AttemptId, MachineId
from bats.master.bag import ways_out
from bats.master.brain.protocol.commands import (
    Command,
    Decided,
    EndBag,
    Foretell,
    KillTask,
    Offer,
    Paused,
    RenewLease,
    RunTasks,
    StartMachines,
    StopMachine,
    WakeAt,
    Weigh,
)
from bats.master.brain.protocol.events import Cause, Woken
from bats.master.brain.protocol.numbering import serves_all
from bats.master.brain.unreliable.weighing import weigh
from bats.master.service.bags.predictions import foresee
from bats.master.service.bags.surroundings import Surroundings
from bats.master.store.rows import DecisionRow

if TYPE_CHECKING:
    from bats.master.service.bags.runner import Runner

log = structlog.get_logger()


class Errands:
    """The errands of one bag."""

    def __init__(self, runner: "Runner", around: Surroundings) -> None:
        self._runner = runner
        self._bag = runner.bag
        self._engine = runner.engine
        self._around = around
        self._store = around.store
        self._workers = around.workers
        self._loop = asyncio.get_running_loop()
        self._wake: asyncio.TimerHandle | None = None
        self._foretelling: asyncio.Task[None] | None = None
        self._weighing: asyncio.Task[None] | None = None

    def run(self, command: Command) -> None:
        _ERRANDS[type(command)](self, command)

    def close(self) -> None:
        if self._wake:
            self._wake.cancel()
            self._wake = None
        for asked in (self._foretelling, self._weighing):
            if asked:
                asked.cancel()

    def start_machines(self, command: StartMachines) -> None:
        self._runner.machines.requested(command)
        start = self._around.fleet.start
        self._store.then(lambda: start(self._runner, command.cluster, command.machines))

    def stop_machine(self, command: StopMachine) -> None:
        self._store.then(lambda: self.stop(command.machine, command.reason))

    def stop(self, machine: MachineId, reason: str) -> None:
        if not serves_all(machine):
            self._around.fleet.stop(machine, reason)
            return
        # It belongs to whoever started it; here it only leaves the bag.
        self._runner.machines.gone(machine, None, Cause.STOPPED, reason)
        self._around.freed(self._runner, machine)

    def run_tasks(self, command: RunTasks) -> None:
        at_once = self._bag.settings.graph is None and self._engine.is_quick(command.machine)
        self._workers.run(command.machine, self._runner, command.orders, at_once=at_once)

    def kill_task(self, command: KillTask) -> None:
        attempt = AttemptId(self._bag.id, command.task, command.attempt)
        self._workers.kill(command.machine, attempt)
        self._runner.collection.cancel(command.machine, command.task, command.attempt)

    def renew_lease(self, command: RenewLease) -> None:
        self._runner.machines.renew(command.machine, command.until)

    def wake_at(self, command: WakeAt) -> None:
        if self._wake:
            self._wake.cancel()
        pause = max(0.0, command.at - self._runner.clock())
        self._wake = self._loop.call_later(pause, self._runner.happen, Woken())

    def offer(self, command: Offer) -> None:
        log.info("schedules", bag=self._bag.id, offered=len(command.schedules))
        self._runner.change()

    def foretell(self, command: Foretell) -> None:
        """Answered beside the loop, from a copy of the engine as it is now."""
        self._foretelling = self._loop.create_task(self._ask_foresight(command))

    async def _ask_foresight(self, command: Foretell) -> None:
        told = await self._loop.run_in_executor(None, foresee, deepcopy(self._engine), command)
        if self._engine.unanswered == command:  # else somebody has ended or cancelled the bag
            self._runner.happen(told)

    def weigh(self, command: Weigh) -> None:
        """Answered beside the loop: many runs of both pools are drawn for it."""
        self._weighing = self._loop.create_task(self._ask_estimator(command))

    async def _ask_estimator(self, command: Weigh) -> None:
        self._runner.happen(await self._loop.run_in_executor(None, weigh, command.asked))

    def note(self, words: str) -> None:
        """Write down what was decided."""
        self._decision(words)
        log.info("decided", bag=self._bag.id, words=words)
        self._runner.change()

    def decided(self, command: Decided) -> None:
        self.note(command.words)

    def paused(self, command: Paused) -> None:
        pause = command.pause
        ways = ways_out(
            self._bag.id,
            pause.task,
            again=pause.again,
            budget=pause.budget,
            currency=self._bag.settings.currency,
        )
        words = f"paused: {pause.reason}. {ways}"
        self._decision(words)
        log.warning("bag is paused", bag=self._bag.id, words=words)
        self._runner.change()

    def end_bag(self, command: EndBag) -> None:
        words = f"{command.outcome.value}: {command.words}"
        self._decision(words)
        log.info("bag ends", bag=self._bag.id, outcome=command.outcome.value, words=command.words)
        self._bag.words = command.words
        self._runner.change()

    def _decision(self, words: str) -> None:
        self._store.decision(DecisionRow(self._bag.id, self._engine.headline().now, words))


_ERRANDS: Final[Mapping[type, Callable[[Errands, Any], None]]] = {
    StartMachines: Errands.start_machines,
    StopMachine: Errands.stop_machine,
    RunTasks: Errands.run_tasks,
    KillTask: Errands.kill_task,
    RenewLease: Errands.renew_lease,
    WakeAt: Errands.wake_at,
    Offer: Errands.offer,
    Foretell: Errands.foretell,
    Weigh: Errands.weigh,
    Decided: Errands.decided,
    Paused: Errands.paused,
    EndBag: Errands.end_bag,
}
