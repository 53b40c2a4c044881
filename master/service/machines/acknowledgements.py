"""Results acknowledged to their workers once they are durable, and so is what their tasks left.

A worker keeps a result until it is acknowledged. It is told of all up to a serial, so one whose
files are still coming holds up those after it.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, Protocol

from bats.common.messages import AttemptId, MachineId
from bats.master.service.machines.worker import Worker
from bats.master.store.store import Store

_PAUSE_SECONDS: Final = 0.05  # between two; a message each, however many results


class Crew(Protocol):
    """The workers, as far as they are told that results are stored."""

    def of(self, machine: MachineId) -> Worker | None: ...

    def acknowledge(self, worker: Worker, serial: int) -> None: ...


class Acknowledgements:
    def __init__(self, store: Store, crew: Crew) -> None:
        self._store = store
        self._crew = crew
        self._loop = asyncio.get_running_loop()
        self._due: dict[Worker, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._told_at = -_PAUSE_SECONDS

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def add(self, worker: Worker) -> None:
        """Results of it have been taken in."""
        self._due[worker] = None

    def settled(self, machine: MachineId, attempts: Iterable[AttemptId]) -> None:
        """The files of these have come, or are not wanted: their results need not be kept."""
        if worker := self._crew.of(machine):
            for attempt in attempts:
                worker.owed.pop(attempt, None)
            self.add(worker)
            self.soon()

    def soon(self) -> None:
        """Acknowledge what is due once it is durable."""
        if self._due and self._timer is None:
            pause = self._told_at + _PAUSE_SECONDS - self._loop.time()
            self._timer = self._loop.call_later(max(0.0, pause), self._tell_soon)

    def _tell_soon(self) -> None:
        self._timer = None
        self._told_at = self._loop.time()
        due = {worker: worker.settled for worker in self._due}
        self._due.clear()
        self._store.then(lambda: self._tell(due), patient=True)

    def _tell(self, due: dict[Worker, int]) -> None:
        for worker, serial in due.items():
            self._crew.acknowledge(worker, serial)
