"""A simulated world in which links break, providers refuse or take back, workers return tasks.

It tells the engine what a plain world never does: `Silent`, `Found`, `Announced`, `Returned`,
`SetAside`. What a machine says while its link is broken comes when that is whole again, as from a
real worker: first what it holds, then what has ended.
"""

import random
from collections.abc import Callable
from typing import Any, Final

from bats.common.billing import atus, paid_uptime
from bats.common.messages import MachineId, TaskId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.protocol.commands import KillTask, RunTasks, StartMachines
from bats.master.brain.protocol.events import (
    Announced,
    Cause,
    Collecting,
    Ended,
    Event,
    Found,
    Gone,
    Joined,
    Returned,
    SetAside,
    Silent,
)
from bats.master.simulate.driver import NEVER, Simulation

_SILENCE_SECONDS: Final = 15.0  # without a word, after which a worker is silent
_LOST: Final = "lost"


@dataclass(frozen=True, slots=True)
class Troubles:
    """The troubles of machines, by chance and by their offerings; times in seconds."""

    cut_after: Callable[[random.Random, int], float] = lambda _rng, _cluster: NEVER  # it joined
    cut_seconds: Callable[[random.Random, int], float] = lambda _rng, _cluster: 30.0
    held_gone: float = 0.0  # the share of silent machines that their provider does not list
    warning_seconds: float = 0.0  # between a provider's word that it takes a machine, and that
    gives_back: float = 0.0  # the share of orders of which a worker returns what it cannot begin
    refuses: Callable[[random.Random, int], str] = lambda _rng, _cluster: ""  # why there are none


class Troubled(Simulation):
    """One bag in such a world."""

    def __init__(self, *args: Any, troubles: Troubles, **more: Any) -> None:
        super().__init__(*args, **more)
        self.troubles = troubles
        self._unheard: dict[MachineId, list[Event]] = {}  # of machines whose link is broken
        self._gone_at: dict[MachineId, float] = {}  # machines that live, by the engine's books

    def deliver(self, event: Event, now: float) -> None:
        if isinstance(event, Ended | Collecting | Returned) and event.machine in self._unheard:
            self._unheard[event.machine].append(event)
            return
        super().deliver(event, now)
        if isinstance(event, Joined):
            self._may_be_cut_off(event.machine, now)

    # --- links ------------------------------------------------------------------------------------

    def _may_be_cut_off(self, machine: MachineId, now: float) -> None:
        cluster = self._workers[machine].cluster
        at = now + self.troubles.cut_after(self._rng, cluster)
        if at == NEVER:
            return
        heals = at + self.troubles.cut_seconds(self._rng, cluster)
        self._at(at, lambda _at: self._cut(machine))
        if heals - at > _SILENCE_SECONDS:
            self._at(at + _SILENCE_SECONDS, lambda _at: self._fall_silent(machine))
        if self._rng.random() < self.troubles.held_gone:
            lost = at + 2 * _SILENCE_SECONDS
            self._at(lost, lambda at: self._hold_gone(machine, at))
        self._at(heals, lambda at: self._find(machine, at))
        self._at(heals, lambda at: self._rejoin(machine, at))

    def _cut(self, machine: MachineId) -> None:
        if machine in self._workers:
            self._unheard.setdefault(machine, [])

    def _fall_silent(self, machine: MachineId) -> Event | None:
        return Silent(machine) if self._is_cut_off(machine) else None

    def _hold_gone(self, machine: MachineId, at: float) -> Event | None:
        if not self._is_cut_off(machine):
            return None
        self._gone_at[machine] = at
        return Gone(machine, at, Cause.FAILED, _LOST)

    def _find(self, machine: MachineId, at: float) -> Event | None:
        """It was held to be gone; what its bill has come to since then is in no books."""
        gone_at = self._gone_at.pop(machine, None)
        if gone_at is None or machine not in self._workers:
            return None
        offering, since = self._offering(machine), self._since[machine]
        paid = paid_uptime(offering, atus(offering, gone_at - since))
        return Found(machine, min(since + paid, at))

    def _rejoin(self, machine: MachineId, at: float) -> Event | None:
        worker = self._workers.get(machine)
        unheard = self._unheard.pop(machine, None)
        if worker is None or unheard is None:
            return None
        ended = {(e.task, e.attempt) for one in unheard if isinstance(one, Ended)
                 for e in one.endings}  # fmt: skip
        for event in unheard:
            self.tell(event, at)
        holding = sorted({*worker.running, *worker.queue, *ended})
        return Joined(machine, worker.slots, tuple(holding))

    def _offering(self, machine: MachineId) -> Offering:
        return self.settings.offerings[self._workers[machine].cluster]

    def _is_cut_off(self, machine: MachineId) -> bool:
        return machine in self._unheard and machine in self._workers

    # --- what is asked of machines ----------------------------------------------------------------

    def _start_machines(self, command: StartMachines, now: float) -> None:
        why = self.troubles.refuses(self._rng, command.cluster)
        if not why:
            super()._start_machines(command, now)
            return
        self.tell(SetAside(command.cluster, why), now)
        for machine in command.machines:
            self.tell(Gone(machine, now, Cause.FAILED, why), now)

    def _dies(self, machine: MachineId, at: float, cause: Cause, detail: str) -> None:
        warning = self.troubles.warning_seconds
        if warning:
            self._at(at - warning, lambda _at: self._announce(machine))
        super()._dies(machine, at, Cause.PREEMPTED if warning else cause, detail)

    def _announce(self, machine: MachineId) -> Event | None:
        return Announced(machine, "taken back") if machine in self._workers else None

    def _run_tasks(self, command: RunTasks, now: float) -> None:
        worker = self._workers.get(command.machine)
        if worker is None or command.machine in self._unheard:
            return  # it does not hear of it
        super()._run_tasks(command, now)
        if worker.queue and self._rng.random() < self.troubles.gives_back:
            tasks = tuple(TaskId(task) for task, _ in worker.queue)
            worker.queue.clear()
            self.tell(Returned(command.machine, tasks), now)

    def _kill_task(self, command: KillTask, now: float) -> None:
        if command.machine not in self._unheard:
            super()._kill_task(command, now)
