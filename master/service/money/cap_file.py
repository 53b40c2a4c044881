"""Caps as they are kept in the state folder, with the bills of bags that were pruned since."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.common.money import Money
from bats.common.wire.keys import read_private_json, write_private
from bats.master.brain.household.cap import Cap, Period, zone_of
from bats.master.service.money.bills import Bill

FILE: Final = "caps.json"


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


def _cap(held: dict[str, Any]) -> Cap:
    zone_of(held["zone"])
    return replace(Cap(**held), amount=Money(held["amount"]), period=Period(held["period"]))


def _bill(held: dict[str, Any]) -> Bill:
    return replace(Bill(**held), bag=BagId(held["bag"]), price=Money(held["price"]))
