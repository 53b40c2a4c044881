"""The time that files take to machines and from them, for what is learned of offerings.

An input is on its way from when a machine first wants it until the machine says that it is there;
an output from when it is first asked for until it is here.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.master.brain.learning.machine_speeds import by_mean

LEAST_BYTES: Final = 1_000_000
"""Less than that tells of the link's delay, and not of how much goes through it."""

MOST_COMING: Final = 10_000
"""Inputs on their way that are remembered, the latest: a machine that ends leaves its own."""

MOST_MACHINES: Final = 10_000
"""Machines that are remembered, those that moved something last.

One that has ended is told of when its bag ends, and one that brought no result never is.
"""


@dataclass(slots=True)
class Moved:
    size: int = 0  # bytes
    seconds: float = 0.0


@dataclass(slots=True)
class Links:
    """The links of machines, in one direction."""

    _moved: dict[MachineId, Moved] = field(default_factory=dict)

    def add(self, machine: MachineId, size: int, seconds: float) -> None:
        one = self._moved.pop(machine, None) or Moved()
        one.size += size
        one.seconds += max(0.0, seconds)
        self._moved[machine] = one
        if len(self._moved) > MOST_MACHINES:
            del self._moved[next(iter(self._moved))]

    def known(self, machines: Iterable[MachineId]) -> dict[MachineId, float]:
        """The seconds that each MB took to those of them of which that can be told."""
        return {
            machine: 1e6 * one.seconds / one.size
            for machine in machines
            if (one := self._moved.get(machine)) is not None
            and one.size >= LEAST_BYTES
            and one.seconds > 0
        }

    def told(self, machines: Iterable[MachineId]) -> tuple[float, ...]:
        """Their slowness; what is told is forgotten, so that no other bag tells it again."""
        known = self.known(machines)
        differ = by_mean(list(known.values()))
        if differ:
            for machine in known:
                del self._moved[machine]
        return differ


@dataclass(slots=True)
class TransferTimes:
    into: Links = field(default_factory=Links)
    out_of: Links = field(default_factory=Links)
    _since: dict[tuple[MachineId, str], float] = field(default_factory=dict)

    def wanted(self, machine: MachineId, sha256: str, now: float) -> None:
        self._since.setdefault((machine, sha256), now)
        if len(self._since) > MOST_COMING:
            del self._since[next(iter(self._since))]

    def came(self, machine: MachineId, sha256: str, size: int, now: float) -> None:
        """An input is on its machine."""
        since = self._since.pop((machine, sha256), None)
        if since is not None:
            self.into.add(machine, size, now - since)

    def left(self, machine: MachineId, size: int, seconds: float) -> None:
        """An output came from its machine."""
        self.out_of.add(machine, size, seconds)
