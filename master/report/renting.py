"""Money for machines: each one's bill, the use of its time, spending over time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Final

from bats.common.billing import atus, charge, paid_uptime
from bats.common.messages import MachineId
from bats.common.money import NOTHING, Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.queries.chronicle import MachineTime, Use
from bats.master.store.rows import MachineRow


@dataclass(frozen=True, slots=True)
class Rented:
    """One machine; times are the run's own seconds."""

    id: MachineId
    offering: Offering
    slots: int
    requested: float
    since: float | None  # charged, or there if it costs nothing; None: it never came
    joined: float | None
    until: float  # gone, or now
    gone: bool
    reason: str
    cost: Money

    @property
    def paid_until(self) -> float:
        """The end of what its cost pays for; of a free machine, the end of its stay."""
        if self.since is None:
            return self.until
        if self.offering.free:
            return self.until
        return self.since + paid_uptime(self.offering, atus(self.offering, self.until - self.since))


@dataclass(frozen=True, slots=True)
class Shares:
    """An amount divided by what it was good for; the parts add up to the whole."""

    useful: int = 0
    sampling: int = 0
    copies: int = 0
    failed: int = 0
    starting: int = 0  # from being charged to being able to work
    idle: int = 0

    def __add__(self, other: "Shares") -> "Shares":
        return Shares(
            *(getattr(self, part.name) + getattr(other, part.name) for part in fields(self))
        )


_MOST_STEPS: Final = 400  # of money over time

CALLED: Final[Mapping[str, str]] = {
    "useful": "useful work",
    "sampling": "sampling",
    "copies": "tail copies, stopped work",
    "failed": "failed attempts",
    "starting": "machines starting",
    "idle": "idle, paid for",
}


def rented(
    rows: Iterable[MachineRow],
    offerings: Sequence[Offering],
    times: Mapping[MachineId, MachineTime],
    now: float,
) -> list[Rented]:
    """All machines a bag had, in the order of their coming; `now` is the run's."""
    known: dict[str, Offering] = {one.name: one for one in offerings}
    found = []
    for row in rows:
        if (offering := known.get(row.offering)) is None:
            continue
        time = times.get(row.id)
        since = row.charged_since if row.charged_since is not None else row.joined
        until = row.gone if row.gone is not None else max(now, since or 0.0)
        cost = row.cost
        if row.gone is None and row.charged_since is not None:
            cost = charge(offering, until - row.charged_since)
        slots = time.slots if time is not None and time.slots else offering.slots
        found.append(
            Rented(
                row.id,
                offering,
                slots,
                row.requested or 0.0,
                since,
                row.joined,
                until,
                row.gone is not None,
                row.reason,
                cost,
            )
        )
    return sorted(found, key=lambda one: (one.since is None, one.since or one.requested, one.id))


def of_others(
    offerings: Sequence[Offering], times: Mapping[MachineId, MachineTime], now: float
) -> list[Rented]:
    """Machines that served the bag and are paid by others: pools, other bags, or nobody."""
    return [
        Rented(
            number,
            replace(offerings[time.cluster], price=NOTHING),
            time.slots,
            time.came,
            time.came,
            time.came,
            now if time.left is None else time.left,
            time.left is not None,
            "others have it",
            NOTHING,
        )
        for number, time in times.items()
        if time.cluster >= 0
    ]


def seconds_of(machine: Rented, time: MachineTime | None) -> Shares:
    """The time paid for by its use, in milliseconds of a slot."""
    if machine.since is None:
        return Shares()
    capacity = (machine.paid_until - machine.since) * machine.slots
    begins = machine.joined if machine.joined is not None else machine.until
    starting = max(0.0, begins - machine.since) * machine.slots
    used = list(time.used) if time else [0.0] * len(Use)
    total = sum(used) + starting
    if total > capacity > 0:  # clocks differ by a little
        used = [one * capacity / total for one in used]
        starting *= capacity / total
    parts = [round(1000 * one) for one in (*used, starting)]
    return Shares(
        parts[Use.TASK],
        parts[Use.SAMPLE],
        parts[Use.COPY],
        parts[Use.FAILED],
        parts[len(Use)],
        max(0, round(1000 * capacity) - sum(parts)),
    )


def divided(cost: Money, shares: Shares) -> Shares:
    """The cost in the proportions of `shares`, to the last billionth."""
    weights = [getattr(shares, part.name) for part in fields(shares)]
    whole = sum(weights)
    if not whole:
        return Shares(idle=cost)
    parts = [cost * weight // whole for weight in weights]
    parts[-1] += cost - sum(parts)
    return Shares(*parts)


def spending(machines: Iterable[Rented]) -> list[tuple[float, Money]]:
    """Spending over time, a step for each ATU that was entered.

    Many short ATUs of a machine are told together, when the last of them was entered.
    """
    steps: dict[float, int] = {}
    for machine in machines:
        offering = machine.offering
        if machine.since is None or offering.free:
            continue
        paid, count = machine.cost // offering.price, atus(offering, 0.0)
        steps[machine.since] = steps.get(machine.since, 0) + min(count, paid) * offering.price
        stride = max(1, -(-(paid - count) // _MOST_STEPS))
        while count < paid:
            more = min(stride, paid - count)
            at = machine.since + paid_uptime(offering, count + more - 1)
            steps[at] = steps.get(at, 0) + more * offering.price
            count += more
    total, line = NOTHING, []
    for at in sorted(steps):
        total = Money(total + steps[at])
        line.append((at, total))
    return _thinned(line)


def _thinned(line: list[tuple[float, Money]]) -> list[tuple[float, Money]]:
    """The last step of each of so many spans of time: what a drawing can show."""
    if len(line) <= _MOST_STEPS:
        return line
    width = (line[-1][0] - line[0][0]) / _MOST_STEPS
    kept = {int((at - line[0][0]) / width): (at, amount) for at, amount in line}
    return list(kept.values())
