"""Loss of machines, emulated: worker processes that are taken away, told of or not, by chance."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Final

from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.deploy.host.roster import (
    FROZEN,
    LEAVING,
    TAKEN,
    Process,
    Roster,
    descendants,
    kill_below,
)

_WITHIN_SECONDS: Final = 1.0  # for all that a worker started to be gone


@dataclass(frozen=True, slots=True)
class Loss:
    """The chances of a machine that is up, however long it has been."""

    per_hour: float = 0.0
    silent: bool = False  # it stands still and is charged on, and nobody tells
    notice_seconds: float = 0.0  # so long before it is taken away that is announced


class EmulatedLoss:
    """Loses the workers of one keeper."""

    def __init__(
        self, loss: Loss, roster: Roster, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._loss, self._roster, self._clock = loss, roster, clock
        self._chance = random.Random()
        self._due: list[tuple[float, MachineId, Process, str]] = []
        self._frozen: list[Process] = []

    def begin(self, machine: MachineId, worker: Process, up_in_seconds: float) -> None:
        """The machine will be up then; from then on it may be lost."""
        if not self._loss.per_hour:
            return
        at = self._clock() + up_in_seconds + self._chance.expovariate(self._loss.per_hour / 3600)
        if self._loss.silent:
            self._due.append((at, machine, worker, FROZEN))
            return
        if self._loss.notice_seconds:
            self._due.append((at, machine, worker, LEAVING))
        self._due.append((at + self._loss.notice_seconds, machine, worker, TAKEN))

    @property
    def next_seconds(self) -> float | None:
        """The seconds until something is due; None: nothing is."""
        return max(0.0, min(self._due)[0] - self._clock()) if self._due else None

    def look(self) -> None:
        """Do what is due by now."""
        now = self._clock()
        due = sorted(one for one in self._due if one[0] <= now)
        self._due = [one for one in self._due if one[0] > now]
        for _, machine, worker, what in due:
            if worker.lives():
                with contextlib.suppress(OSError):
                    (self._roster.of(machine) / what).touch()
                    self._lose(worker, what)

    def let_go(self) -> None:
        """Nobody hands out tickets any more: what stands still would never end by itself."""
        for worker in self._frozen:
            if worker.lives():
                _end(worker)

    def _lose(self, worker: Process, what: str) -> None:
        if what == TAKEN:
            _end(worker)
        elif what == FROZEN:
            self._frozen.append(worker)
            _freeze(worker)


def _freeze(worker: Process) -> None:
    """Stop it and all below it: guardians, daemon and tasks; who begins them goes first."""
    frozen: set[int] = set()
    while left := {worker.pid, *descendants(worker.pid)} - frozen:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        frozen |= left


def _end(worker: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        _freeze(worker)
        kill_below(worker.pid, _WITHIN_SECONDS)
        os.kill(worker.pid, signal.SIGKILL)
