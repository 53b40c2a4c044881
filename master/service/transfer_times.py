"""The time that files take to machines and from them, for what is learned of offerings.

An input is on its way from when a machine first wants it until the machine says that it is there;
an output from when it is first asked for until it is here.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from bats.common.messages import MachineId
from bats.common.records import dataclass

LEAST_BYTES: Final = 1_000_000
"""Less than that tells of the link's delay, and not of how much goes through it."""

MOST_COMING: Final = 10_000
"""Inputs on their way that are remembered; a machine that ends leaves its own behind."""


@dataclass(slots=True)
class Moved:
    size: int = 0  # bytes
    seconds: float = 0.0


@dataclass(slots=True)
class TransferTimes:
    _since: dict[tuple[MachineId, str], float] = field(default_factory=dict)
    _to: dict[MachineId, Moved] = field(default_factory=dict)
    _from: dict[MachineId, Moved] = field(default_factory=dict)

    def wanted(self, machine: MachineId, sha256: str, now: float) -> None:
        if len(self._since) >= MOST_COMING:
            self._since.clear()
        self._since.setdefault((machine, sha256), now)

    def came(self, machine: MachineId, sha256: str, size: int, now: float) -> None:
        """An input is on its machine."""
        since = self._since.pop((machine, sha256), None)
        if since is not None:
            _add(self._to, machine, size, now - since)

    def left(self, machine: MachineId, size: int, seconds: float) -> None:
        """An output came from its machine."""
        _add(self._from, machine, size, seconds)

    def into(self, machines: Iterable[MachineId]) -> dict[MachineId, float]:
        """The seconds that each MB took to those of them of which that can be told."""
        return _seconds_a_megabyte(self._to, machines)

    def out_of(self, machines: Iterable[MachineId]) -> dict[MachineId, float]:
        return _seconds_a_megabyte(self._from, machines)

    def forget(self, machines: Iterable[MachineId]) -> None:
        for machine in machines:
            self._to.pop(machine, None)
            self._from.pop(machine, None)


def _add(moved: dict[MachineId, Moved], machine: MachineId, size: int, seconds: float) -> None:
    one = moved.setdefault(machine, Moved())
    one.size += size
    one.seconds += max(0.0, seconds)


def _seconds_a_megabyte(
    moved: dict[MachineId, Moved], machines: Iterable[MachineId]
) -> dict[MachineId, float]:
    return {
        machine: 1e6 * one.seconds / one.size
        for machine in machines
        if (one := moved.get(machine)) is not None and one.size >= LEAST_BYTES and one.seconds > 0
    }
