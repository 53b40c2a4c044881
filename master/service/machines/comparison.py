"""Both books compared: what a worker says that it holds, and what its master has it for.

Nothing is mended that has not been so for two heartbeats: orders and results may be on their way.
Then the worker is asked to say Hello again, and each side takes over what the other holds.
"""

from typing import Final, Protocol

import structlog

from bats.common.messages import AttemptId, Heartbeat, MachineId
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers

_MOST_PATIENCE: Final = 64
_SHORT_SHARE: Final = 0.5  # of its lease, below which a worker has not heard of it

log = structlog.get_logger()


class Books(Protocol):
    """The master's books of a worker."""

    def held(self, worker: Worker) -> frozenset[AttemptId] | None:
        """The attempts that it should hold; None when nothing can be said of it."""
        ...

    def lease_seconds(self, worker: Worker) -> float: ...


class Comparison:
    def __init__(self, workers: Workers, books: Books) -> None:
        self._workers = workers
        self._books = books
        self._patience: dict[MachineId, int] = {}  # beats; doubled by each mending, for slow links

    def look(self, worker: Worker, beat: Heartbeat) -> None:
        """Compare; what has not agreed for two heartbeats is mended."""
        if not beat.whole or self._workers.paused or worker.awaits_word:
            return
        ours = self._books.held(worker)
        if ours is None:
            worker.odd = frozenset()
            return
        self._remind_of_lease(worker, beat)
        odd = _differences(ours, worker, beat)
        stays = odd & worker.odd
        worker.odd, worker.odd_beats = odd, worker.odd_beats + 1 if stays else 0
        if not odd:
            self._patience.pop(worker.machine, None)
        patience = self._patience.get(worker.machine, 1)
        if stays and worker.odd_beats >= patience:
            self._patience[worker.machine] = min(2 * patience, _MOST_PATIENCE)
            log.warning(
                "a worker's books are not ours", machine=worker.machine, differences=len(stays)
            )
            self._workers.refuse(worker, "what you hold is not what is in the books: say it again")

    def forget(self, machine: MachineId) -> None:
        self._patience.pop(machine, None)

    def _remind_of_lease(self, worker: Worker, beat: Heartbeat) -> None:
        """A renewal that did not reach it would cost the machine."""
        seconds = self._books.lease_seconds(worker)
        if beat.lease_seconds < _SHORT_SHARE * seconds:
            self._workers.lease(worker.machine, seconds)


def _differences(ours: frozenset[AttemptId], worker: Worker, beat: Heartbeat) -> frozenset[object]:
    """Attempts that are in one book only, and a batch of results that never came.

    That a result waits for our answer is no difference: we may be slow to give it.
    """
    running = {attempt for attempt, _ in beat.running}
    begun = running.union(beat.held)
    odd: set[object] = set(ours - begun.union(beat.ended)) | (begun - ours)
    if beat.serial > worker.stored:
        odd.add(beat.serial)
    return frozenset(odd)
