"""A master that is killed in the middle of a bag billed by the second, and comes back.

It is away for less than the lease, or for longer than any machine is paid. Machines live without it
at least for the lease, and no longer than what was reserved for them.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from bats.common.money import Money

from .bed import CENT, Bed, by_the_second, work
from .checks import Account, Check
from .watch import Machine, now

TASKS: Final = 12
LENGTHS: Final = (20.0, 40.0)  # seconds
DONE: Final = 4  # tasks, some time before the master is killed
BUDGET: Final = Money(70 * CENT)  # the tasks cost 30 to 45
LOOK_SECONDS: Final = 0.2
UNSURE_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Absence:
    away_seconds: float
    lease_seconds: float


SHORT: Final = Absence(away_seconds=20.0, lease_seconds=30.0)
LONG: Final = Absence(away_seconds=60.0, lease_seconds=5.0)


@dataclass(slots=True)
class OneAbsence:
    absence: Absence
    pace: float  # everything lasts so many times as long
    since: float = 0.0
    until: float = 0.0
    machines: list[Machine] = field(default_factory=list)  # that were up when it was killed

    @property
    def lease_seconds(self) -> float:
        return self.absence.lease_seconds * self.pace

    @property
    def away_seconds(self) -> float:
        return self.absence.away_seconds * self.pace

    @property
    def words(self) -> str:
        return f"a master away for {self.away_seconds:g} s, leases of {self.lease_seconds:g} s"

    @property
    def offerings(self) -> list[dict[str, Any]]:
        cheap = by_the_second("cheap", machines=3, lease_seconds=self.lease_seconds)
        dear = by_the_second("dear", machines=2, lease_seconds=self.lease_seconds)
        return [cheap, dear | {"price": CENT // 8}]

    async def do(self, bed: Bed, rng: random.Random) -> Counter[str]:
        lengths = [self.pace * rng.uniform(*LENGTHS) for _ in range(TASKS)]
        await bed.submit(
            {"sweep": work(lengths), "budget": BUDGET, "rule": "fastest",
             "seed": rng.randrange(1 << 30)}
        )  # fmt: skip
        while len(bed.known_done) < DONE:
            bed.note_done()
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(self.pace * rng.uniform(0, LENGTHS[0]))
        self.machines = bed.watch.up()
        async with bed.held:
            with bed.disturb("dead master"):
                self.since = now()
                await bed.kill_master()
                await asyncio.sleep(self.away_seconds)
                self.until = now()
                await bed.start_master()
        return Counter({"master killed": 1})

    def checks(self, _: Account) -> list[Check]:
        promises = {"machines live without their master for the lease": self._ended_early}
        if self.absence.away_seconds >= self.absence.lease_seconds + LENGTHS[1]:
            promises["machines that no master pays end before it comes back"] = self._ended_late
        return [
            Check(promise, len(self.machines), tuple(map(self._told, wrong())))
            for promise, wrong in promises.items()
        ]

    def _ended_early(self) -> list[Machine]:
        """Until the lease ends or the master is back."""
        until = min(self.until, self.since + self.lease_seconds) - UNSURE_SECONDS
        return [one for one in self.machines if one.ended is not None and one.ended < until]

    def _ended_late(self) -> list[Machine]:
        return [one for one in self.machines if one.ended is None or one.ended > self.until]

    def _told(self, machine: Machine) -> str:
        lived = (machine.ended or now()) - self.since
        return f"machine {machine.number} lived {lived:.1f} s after the master was killed"
