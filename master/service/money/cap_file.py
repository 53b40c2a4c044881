"""Caps as they are kept in the state folder, with the bills of bags that were pruned since."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId
from bats.common.money import NOTHING, Money
from bats.common.wire.keys import read_private_json, write_private
from bats.master.api.requests import SetCap
from bats.master.brain.household.cap import UTC_NAME, Cap, Period, zone_of
from bats.master.service.money.bills import Bill

FILE: Final = "caps.json"
_PERIODS: Final = ", ".join(period.value for period in Period)


class CapFile:
    """Caps are written before they stand: what cannot be kept is not so."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.caps: tuple[Cap, ...] = ()
        self.pruned: tuple[Bill, ...] = ()
        try:
            held = read_private_json(self._file, "a list of caps")
        except FileNotFoundError:
            return
        try:
            self.caps = tuple(map(_cap, held["caps"]))
            self.pruned = tuple(map(_bill, held["pruned"]))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{self._file} holds no caps that can be read ({error}). Nothing is spent until it "
                "is mended; remove it to have no caps."
            ) from None

    def set(self, wanted: Iterable[SetCap], currency: str) -> None:
        """Keep these in place of those of the same users and periods. Raises UsageError."""
        if new := [cap_of(one, currency) for one in wanted]:
            places = {one.place for one in new}
            self.keep([*(one for one in self.caps if one.place not in places), *new])

    def drop(self, users: str) -> None:
        """Let caps for those whose names begin so stand no more."""
        if any(one.user.startswith(users) for one in self.caps):
            self.keep([one for one in self.caps if not one.user.startswith(users)])

    def keep(self, caps: Sequence[Cap]) -> None:
        self._write(tuple(caps), self.pruned)

    def keep_bills(self, bills: Sequence[Bill]) -> None:
        """Bills of a bag that is about to be forgotten."""
        if bills:
            self._write(self.caps, (*self.pruned, *bills))

    def _write(self, caps: tuple[Cap, ...], pruned: tuple[Bill, ...]) -> None:
        told = {
            "version": 1,
            "caps": [{**asdict(one), "period": one.period.value} for one in caps],
            "pruned": [asdict(one) for one in pruned],
        }
        write_private(self._file, json.dumps(told))
        self.caps, self.pruned = caps, pruned


def cap_of(want: SetCap, currency: str) -> Cap:
    """The cap that is asked for. Raises UsageError."""
    if want.amount <= NOTHING:
        raise UsageError("A cap is more than nothing; `bats pause` lets a bag stand still.")
    zone = want.zone or UTC_NAME
    try:
        zone_of(zone)
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"This computer knows no time zone {quoted(zone)}; write for example Europe/Berlin."
        ) from None
    return Cap(want.amount, period_of(want.period), want.user, zone, currency)


def period_of(text: str) -> Period:
    """The period of this name. Raises UsageError."""
    try:
        return Period(text)
    except ValueError:
        raise UsageError(f"A cap is for one of {_PERIODS}, not {quoted(text)}.") from None


def _cap(held: dict[str, Any]) -> Cap:
    zone_of(held["zone"])
    return replace(Cap(**held), amount=Money(held["amount"]), period=Period(held["period"]))


def _bill(held: dict[str, Any]) -> Bill:
    return replace(Bill(**held), bag=BagId(held["bag"]), price=Money(held["price"]))
