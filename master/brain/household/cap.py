"""A cap: what all bags, or those of one user, may spend in a day, a week, a month, or for good.

Days begin at midnight of a named time zone, weeks on Monday; where clocks are put forward at
midnight, the day begins when they are.
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from bats.common.money import Money, show
from bats.common.records import dataclass

UTC_NAME: Final = "UTC"


class Period(Enum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    EVER = "ever"


class Window(NamedTuple):
    """The time that a cap is for, in seconds of the epoch; an ATU counts where it begins."""

    since: float
    until: float


FOR_EVER: Final = Window(-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Cap:
    """`user` "" is a cap for all together."""

    amount: Money
    period: Period = Period.EVER
    user: str = ""
    zone: str = UTC_NAME
    currency: str = "$"

    @property
    def place(self) -> tuple[str, str]:
        """The user and the period: there is one cap of each."""
        return self.user, self.period.value

    def holds(self, user: str, currency: str) -> bool:
        return self.currency == currency and self.user in ("", user)

    def window(self, at: float) -> Window:
        if self.period is Period.EVER:
            return FOR_EVER
        return _window(self.period, self.zone, at)

    def __str__(self) -> str:
        """`$5.00 a day for ann`"""
        often = "in all" if self.period is Period.EVER else f"a {self.period.value}"
        whom = f" for {self.user}" if self.user else ""
        return f"{show(self.amount, self.currency)} {often}{whom}"

    def calendar(self, at: float) -> str:
        """The time in the zone of the cap, in words; "" never comes."""
        if math.isinf(at):
            return ""
        return f"{datetime.fromtimestamp(at, zone_of(self.zone)):%Y-%m-%d %H:%M} {self.zone}"


def zone_of(name: str) -> tzinfo:
    """Raises KeyError or ValueError for a name that this computer does not know."""
    return UTC if name == UTC_NAME else ZoneInfo(name)


def windows(caps: Iterable[Cap], at: float) -> dict[Cap, Window]:
    return {cap: cap.window(at) for cap in caps}


def starts(found: Iterable[Window]) -> tuple[float, ...]:
    """The times since when spending is to be known, each once."""
    return tuple(sorted({window.since for window in found}))


def _window(period: Period, zone: str, at: float) -> Window:
    day = datetime.fromtimestamp(math.floor(at), zone_of(zone))  # which would round up
    return _of_day(period, zone, day.toordinal())


@lru_cache(maxsize=64)
def _of_day(period: Period, zone: str, ordinal: int) -> Window:
    first = datetime.fromordinal(ordinal)
    if period is Period.DAY:
        after = first + timedelta(days=1)
    elif period is Period.WEEK:
        first -= timedelta(days=first.weekday())
        after = first + timedelta(days=7)
    else:
        first = first.replace(day=1)
        after = (first + timedelta(days=31)).replace(day=1)
    return Window(*(one.replace(tzinfo=zone_of(zone)).timestamp() for one in (first, after)))
