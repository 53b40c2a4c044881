"""Results whose files are still on their way: they count when what the task left is durable here.

Until then their worker keeps them in its outbox, so that a master which is killed meanwhile hears
of them again, and their machine is held.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bats.common.folders import output_path
from bats.common.messages import MachineId, Outcome, Result, TaskId
from bats.common.records import dataclass
from bats.common.units import show_octets
from bats.master.service.transfers import Files, Parcel, Wanted
from bats.master.store.blobs import is_sha256

_MOST_BYTES: Final = 1 << 40

Key = tuple[MachineId, TaskId, int]


@dataclass(slots=True)
class Coming:
    result: Result
    parcel: Parcel
    laying: bool = False


@dataclass(frozen=True, slots=True)
class Caps:
    """The bytes that files may come to."""

    task: int
    bag: int


NO_CAPS: Final = Caps(_MOST_BYTES, 1 << 60)


class UnfitOutputError(ValueError):
    """An output that has no place here; the text is for the user."""


class Collection:
    """`ended` gets results of one machine when their files are here, or can never be had."""

    def __init__(
        self,
        files: Files,
        folder: Path,
        is_open: Callable[[TaskId], bool],
        ended: Callable[[MachineId, list[Result]], None],
        caps: Caps,
    ) -> None:
        self._files = files
        self._folder = folder
        self._is_open = is_open
        self._ended = ended
        self._caps = caps
        self.bytes = 0  # of all files that are here, or on their way
        self._coming: dict[Key, Coming] = {}
        self._laying: set[TaskId] = set()
        self._ready: list[Result] = []

    def has(self, result: Result) -> bool:
        return _key(result) in self._coming

    def wanted(self, result: Result) -> list[Wanted]:
        """The files of a result and their places. Raises UnfitOutputError."""
        wanted = []
        for name, sha256, size in result.outputs:
            path = output_path(result.task, result.attempt, name)
            if path is None or not is_sha256(sha256) or not 0 <= size < _MOST_BYTES:
                raise UnfitOutputError(f"its output {name[:200]!r} has no place at the master")
            wanted.append(Wanted(sha256, size, self._folder / path))
        return wanted

    def fetchable(self, result: Result) -> list[Wanted]:
        """Likewise, if they are not too large. Raises UnfitOutputError."""
        wanted = self.wanted(result)
        self._check_caps(sum(one.size for one in wanted))
        return wanted

    def begin(self, result: Result) -> None:
        """Fetch what it left. Raises UnfitOutputError."""
        key = _key(result)
        wanted = self.fetchable(result)
        self.bytes += sum(one.size for one in wanted)
        parcel = Parcel(
            wanted,
            lambda: self._may_lay(key),
            lambda: self._done(key),
            lambda why: self._lost(key, why),
        )
        self._coming[key] = Coming(result, parcel)
        self._files.fetch(result.machine, parcel)

    def _check_caps(self, size: int) -> None:
        whole = self.bytes + size
        for what, said, cap in (("task", size, self._caps.task), ("bag", whole, self._caps.bag)):
            if said > cap:
                raise UnfitOutputError(
                    f"its output files make {show_octets(said)} of its {what}, and this master "
                    f"takes {show_octets(cap)} (`bats master --{what}-files`)"
                )

    def fetch(self, result: Result) -> None:
        """Fetch what nothing waits for, as the last words of a failure."""
        try:
            wanted = self.wanted(result)
        except UnfitOutputError:
            return
        parcel = Parcel(wanted, lambda: True, lambda: None, lambda _: None)
        self._files.fetch(result.machine, parcel)

    def cancel(self, machine: MachineId, task: TaskId, attempt: int) -> None:
        """Nobody wants it any more, as when another attempt was sooner."""
        key = machine, task, attempt
        if (coming := self._coming.get(key)) and self._files.drop(machine, coming.parcel):
            self._end(key, coming.result._replace(outcome=Outcome.KILLED, outputs=()))

    def forget(self, machine: MachineId) -> list[Result]:
        """The machine is gone, and what had not come from it; what has is laid out still."""
        gone = [key for key, one in self._coming.items() if key[0] == machine and not one.laying]
        for key in gone:
            self._files.drop(machine, self._coming[key].parcel)
        return [self._coming.pop(key).result for key in gone]

    def _may_lay(self, key: Key) -> bool:
        """One attempt's files lie where a task's belong, never those of two."""
        task = key[1]
        if task in self._laying or not self._is_open(task):
            return False
        self._laying.add(task)
        self._coming[key].laying = True
        return True

    def _done(self, key: Key) -> None:
        coming = self._coming[key]
        result = coming.result
        if not coming.laying:  # another attempt's files lie there, or are about to
            result = result._replace(outputs=())
            if self._is_open(key[1]):
                result = result._replace(outcome=Outcome.KILLED)
        self._end(key, result)

    def _lost(self, key: Key, why: str) -> None:
        if coming := self._coming.get(key):
            self.bytes -= sum(one.size for one in coming.parcel.files)
            lost = coming.result._replace(outcome=Outcome.FAILED, outputs=(), excerpt=why)
            self._end(key, lost)

    def _end(self, key: Key, result: Result) -> None:
        """Tell together what ends in one turn."""
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._tell)
        if self._coming.pop(key).laying:
            self._laying.discard(key[1])
        self._ready.append(result)

    def _tell(self) -> None:
        ready, self._ready = self._ready, []
        for machine in dict.fromkeys(result.machine for result in ready):
            self._ended(machine, [one for one in ready if one.machine == machine])


def _key(result: Result) -> Key:
    return result.machine, result.task, result.attempt
