"""The caps that stand over all bags of a master: set, removed, kept, and told of when near."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from math import isfinite
from typing import Any, Final, TypeVar

import structlog

from bats.common.billing import charge_atus, first_atus
from bats.common.messages import BagId
from bats.common.money import Money, show
from bats.master.api import replies
from bats.master.bag import Bag
from bats.master.brain.household.cap import Cap, starts, windows
from bats.master.brain.household.caps import CapView
from bats.master.service.bags.side_by_side import SideBySide
from bats.master.service.money.bills import Bill, bills, spent
from bats.master.service.money.cap_file import CapFile
from bats.master.store.reader import Reader

T = TypeVar("T")
Read = Callable[[Callable[[Reader], list[Bill]]], Awaitable[list[Bill]]]

NEAR_PERCENT: Final = 90

log = structlog.get_logger()


class StandingCaps:
    def __init__(
        self, file: CapFile, bags: SideBySide, tell: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self.file = file
        self._bags = bags
        self._tell = tell
        self._told: dict[tuple[tuple[str, str], float], bool] = {}  # whether all of it is used

    def restore(self, reader: Reader, running: Collection[BagId]) -> None:
        """Before any bag goes on."""
        if self.file.caps:
            self._stand(bills(reader, running, self._bags.calendar()))

    async def stand(self, caps: list[Cap], read: Read) -> None:
        """Let these stand from now on. What bags have spent that do not run is read first."""
        running: frozenset[BagId] | None = None
        found: list[Bill] = []
        while running != frozenset(self._bags.runners):  # one may begin or end meanwhile
            running = frozenset(self._bags.runners)
            found = await read(partial(bills, but=running, now=self._bags.calendar()))
        self.file.keep(caps)
        self._stand(found)
        self.look()

    def _stand(self, found: list[Bill]) -> None:
        caps = self.file.caps
        since = starts(windows(caps, self._bags.calendar()).values())
        self._bags.cap(caps, spent([*found, *self.file.pruned], since))

    async def prune(self, bag: BagId, read: Read) -> None:
        """Keep the bills of a bag that is about to be forgotten: they count on."""
        if self.file.caps:
            of_all = partial(bills, but=(), now=self._bags.calendar())
            self.file.keep_bills([one for one in await read(of_all) if one.bag == bag])

    def view(self) -> tuple[CapView, ...]:
        return self._bags.household.view().caps

    def told(self) -> replies.Caps:
        """Caps over all bags, with what is left of them."""
        return {
            "caps": [
                {
                    "user": one.cap.user,
                    "period": one.cap.period.value,
                    "zone": one.cap.zone,
                    "currency": one.cap.currency,
                    "amount": one.cap.amount,
                    "committed": one.committed,
                    "left": one.left,
                    "since": one.window.since if isfinite(one.window.since) else None,
                    "until": one.window.until if isfinite(one.window.until) else None,
                    "words": in_words(one),
                }
                for one in self.view()
            ]
        }

    # --- what users are told ----------------------------------------------------------------------

    def look(self) -> None:
        """Tell once in each window that a cap is nearly used, and once that it is."""
        for one in self.view() if self.file.caps else ():
            if one.committed * 100 < one.cap.amount * NEAR_PERCENT:
                continue
            key, used = (one.cap.place, one.window.since), not one.left
            if self._told.get(key, None) in (used, True):
                continue
            self._told[key] = used
            words = in_words(one)
            log.warning("a cap is used" if used else "a cap is nearly used", words=words)
            self._tell({"bats": 1, "event": "cap", "user": one.cap.user, "words": words})

    def refusal(self, bag: Bag) -> str:
        """The reason why the bag can never begin under the caps that stand; "" if it can."""
        paid = [one for one in bag.settings.offerings if not one.free]
        of_user = [one for one in self.file.caps if one.user in ("", bag.user)]
        if not paid or not of_user:
            return ""
        currency = bag.settings.currency
        held = [one for one in of_user if one.currency == currency]
        if not held:
            other = {one.currency for one in of_user}
            return (
                f"The caps of this master are in {', '.join(sorted(other))} and this bag's "
                f"machines are paid in {currency}: no cap would hold it. Give its clouds file "
                "the currency of the caps."
            )
        if len(paid) < len(bag.settings.offerings):
            return ""
        least = _least(bag)
        cap = min(held, key=lambda one: one.amount)
        if least <= cap.amount:
            return ""
        return (
            f"The cheapest machine costs {show(least, currency)} at the least, more than the cap "
            f"of {cap}: this bag could never begin. `bats cap set` raises a cap."
        )

    def delay(self, bag: Bag) -> str:
        """The reason why it begins later, with the date; "" if a cap leaves enough to begin."""
        if any(one.free for one in bag.settings.offerings):
            return ""
        least = _least(bag)
        tight = [
            one
            for one in self.view()
            if one.cap.holds(bag.user, bag.settings.currency) and one.left < least
        ]
        if not tight:
            return ""
        last = max(tight, key=lambda one: one.window.until)
        until = last.cap.calendar(last.window.until)
        goes_on = f"it begins after {until}" if until else "it begins when the cap is raised"
        return f"the cap of {last.cap} has {show(last.left, last.cap.currency)} left: {goes_on}"


def in_words(one: CapView) -> str:
    """`$4.80 of the cap of $5.00 a day are spent or reserved; $0.20 are left until ...`"""
    currency = one.cap.currency
    until = one.cap.calendar(one.window.until)
    left = f"{show(one.left, currency)} are left" if one.left else "nothing more is bought"
    return (
        f"{show(one.committed, currency)} of the cap of {one.cap} are spent or reserved; "
        f"{left}{f' until {until}' if until else ''}"
    )


def _least(bag: Bag) -> Money:
    paid = [one for one in bag.settings.offerings if not one.free]
    return min(charge_atus(one, first_atus(one)) for one in paid)
