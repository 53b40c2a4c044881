"""A cell of the matrix in compressed time: its bag, its clouds file, its budget.

Tasks, ATU, minimum and start are all shorter by the same factor. What real processes need does not
shrink with them: the boundary and the lease of the clouds file, and the time in which a process
becomes a machine and is none any more. These are small against a task, the least money counts them
(as a boot), and a twin is given them as they were measured.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from studies.cells import BILLING, DELAY_SECONDS, Cell, Drawn, drawn
from studies.least_money import least_money

from bats.common.messages import TaskId
from bats.common.money import Money, as_decimal
from bats.common.offering import Offering

NAP: Final = 'exec sleep "$(echo {seconds} $BATS_SPEED | awk "{{print \\$1 / \\$2}}")"'
"""So many seconds of a machine of speed 1."""

BOUNDARY_SECONDS: Final = 0.5  # what a clouds file has for local machines of short ATUs
LEASE_SECONDS: Final = 2.0  # beyond an emulated boot: a machine must join before it ends
PROCESS_SECONDS: Final = 0.3  # from the start of a process to its first task, and to its end


@dataclass(frozen=True)
class Compressed:
    """A cell whose mean task lasts `task_seconds` on a machine of speed 1."""

    cell: Cell
    task_seconds: float
    seed: int

    @property
    def factor(self) -> float:
        """Real seconds for one of the cell's."""
        return self.task_seconds / self.cell.mean_seconds

    @cached_property
    def drawn(self) -> Drawn:
        found = drawn(self.cell, self.seed)
        speeds = tuple(round(speed, 3) for speed in found.speeds)
        offerings = tuple(map(self._offering, found.offerings, speeds))
        return Drawn(found.runtimes * self.factor, offerings, speeds)

    def _offering(self, offering: Offering, speed: float) -> Offering:
        atu, minimum = BILLING[self.cell.atu]
        emulated: dict[str, Any] = {"speed": speed}
        waits = {"90s": "queue_seconds", "billed": "start_delay_seconds"}
        if key := waits.get(self.cell.start):
            emulated[key] = round(DELAY_SECONDS * self.factor, 6)
        return replace(
            offering,
            atu_seconds=round(atu * self.factor, 9),
            minimum_seconds=round(minimum * self.factor, 9),
            boundary_seconds=BOUNDARY_SECONDS,
            lease_seconds=LEASE_SECONDS + emulated.get("start_delay_seconds", 0.0),
            settings=emulated,
        )

    def seconds(self, task: TaskId, cluster: int) -> float:
        return self.drawn.seconds(task, cluster)

    @cached_property
    def budget(self) -> Money:
        what = self.drawn
        boot = self.cell.boot_seconds * self.factor + PROCESS_SECONDS
        least = least_money(what.runtimes, what.offerings, what.speeds, boot)
        return Money(int(least * Fraction(self.cell.budget)))

    @property
    def clouds_file(self) -> str:
        return "\n".join(map(_table, self.drawn.offerings))

    def words(self, folder: Path) -> list[str]:
        """Of the command line; the lengths of the tasks go into a file there."""
        lengths = "\n".join(f"{seconds:.4f}" for seconds in self.drawn.runtimes)
        (folder / "lengths.csv").write_text(f"seconds\n{lengths}\n", encoding="utf-8")
        return ["--csv", "lengths.csv", "--", "sh", "-c", NAP]


def _table(one: Offering) -> str:
    atu, minimum = f'"{one.atu_seconds:.9f}s"', f'"{one.minimum_seconds:.9f}s"'
    emulated = "\n".join(f"{key} = {value}" for key, value in one.settings.items())
    return (
        f'[[offering]]\nname = "{one.name}"\nprice = "{as_decimal(one.price):f}"\nper = {atu}\n'
        f"atu = {atu}\nminimum = {minimum}\nmax = {one.max_machines}\n"
        f'boundary = "{one.boundary_seconds:g}s"\nlease = "{one.lease_seconds:.6f}s"\n'
        f"[offering.local]\n{emulated}\n"
    )
