"""The rows of the store but for results: what is written, what is read back."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from bats.common.messages import BagId, MachineId, TaskId
from bats.common.money import Money


class BagRow(NamedTuple):
    """A bag as it was submitted; `spec` and `settings` are the service's bytes, kept as is."""

    id: BagId
    name: str
    spec: bytes
    settings: bytes
    tasks: int
    created: float
    state: str
    ended: float | None = None
    summary: str = ""  # JSON
    duplicates: int = 0  # results that came again after one was recorded; counted by the store


class MachineRow(NamedTuple):
    """One machine's life; written again whenever something of it changes."""

    id: MachineId
    bag: BagId
    offering: str
    backend: str
    address: str = ""
    requested: float | None = None
    charged_since: float | None = None
    joined: float | None = None
    gone: float | None = None
    reason: str = ""
    cost: Money = Money(0)
    public_key: bytes = b""  # or several, a blank between two: of tickets it may come with

    @property
    def keys(self) -> list[str]:
        return self.public_key.decode().split()


class DecisionRow(NamedTuple):
    bag: BagId
    time: float
    words: str


class AdditionRow(NamedTuple):
    """Tasks added to an open bag at a time; `space` is the service's bytes, kept as is."""

    bag: BagId
    first: TaskId
    tasks: int
    name: str  # by which whoever added them knows them again
    space: bytes


def addition_checksum(tasks: int, name: str, space: bytes) -> int:
    return zlib.crc32(space, zlib.crc32(f"{tasks} {name}".encode(errors="replace")))


def bag_checksum(spec: bytes | None, settings: bytes | None) -> int:
    """The checksum of what never changes, and without which the bag cannot go on."""
    return zlib.crc32(settings or b"", zlib.crc32(spec or b""))


class LearnedRow(NamedTuple):
    """The experience with one command on one offering, across bags."""

    template: str
    offering: str
    tasks: int
    at: float  # when the last of them ended, by the calendar
    runtimes: bytes  # doubles, rising
    losses: bytes | None = None  # doubles: of an unreliable offering

    @property
    def rising(self) -> tuple[float, ...]:
        """The runtimes."""
        return _unpacked(self.runtimes)

    @property
    def lost(self) -> tuple[float, ...]:
        """The losses; empty of a reliable offering."""
        return _unpacked(self.losses or b"")


def packed(values: Sequence[float]) -> bytes:
    """Doubles, as rows keep them."""
    return struct.pack(f"<{len(values)}d", *values)


def _unpacked(doubles: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(doubles) // 8}d", doubles)
