"""Caps over several bags: reserve, then settle, as within each bag.

A bag may have committed what it has, and what all others leave of every cap that holds it. That
is told before another bag acts, so that together they never pass a cap. Until a window ends all
counts in it that is reserved, also for ATUs to come: when the next begins, those count there.

A bag is told a little less than is left, and more as it comes near to that or waits: otherwise
each ATU that one enters would be told to all the others.
"""

import math
from collections.abc import Iterable
from typing import Final

from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.household.cap import FOR_EVER, Cap, Window, starts
from bats.master.brain.household.notices import Allowance, Capped, Committed, Spent

HELD_BACK: Final = 16
"""One part in so many of what is left, which a bag is not told when others have taken some."""


@dataclass(frozen=True, slots=True)
class CapView:
    """A cap with what counts under it in its window, for people and programs."""

    cap: Cap
    window: Window
    committed: Money  # spent, and reserved for ATUs to come

    @property
    def left(self) -> Money:
        return Money(max(0, self.cap.amount - self.committed))


class _Account:
    """One bag; `told` is the allowance that it knows, None before the first."""

    __slots__ = ("bag", "currency", "in_all", "open", "since", "told", "user", "waits")

    def __init__(self, spent: Spent) -> None:
        self.bag = spent.bag
        self.open = self.waits = False
        self.in_all: Money = NOTHING
        self.told: Money | None = None
        self.take(spent)

    def take(self, spent: Spent) -> None:
        self.user, self.currency, self.since = spent.user, spent.currency, dict(spent.since)


class Caps:
    """The caps that stand, and what each bag has committed under them."""

    def __init__(self) -> None:
        self.since: tuple[float, ...] = ()
        self.until = math.inf  # the end of the next window
        self._windows: dict[Cap, Window] = {}
        self._accounts: dict[BagId, _Account] = {}

    def stand(self, notice: Capped, now: float) -> None:
        """Accounts of bags that run stay; each is told anew what it has since other times."""
        self._accounts = {bag: one for bag, one in self._accounts.items() if one.open}
        for spent in notice.spent:
            if spent.bag not in self._accounts:
                self._accounts[spent.bag] = _Account(spent)
        self._begin(notice.caps, now)

    def commit(self, notice: Committed) -> None:
        account = self._accounts.get(notice.spent.bag)
        if account is None:
            account = self._accounts[notice.spent.bag] = _Account(notice.spent)
        if not account.open:
            account.open, account.told = True, notice.allowed
        account.take(notice.spent)
        account.in_all, account.waits = notice.in_all, notice.waits

    def close(self, bag: BagId) -> None:
        """Count what it has spent on, till windows end."""
        if bag in self._accounts:
            self._accounts[bag].open = False

    def allowance(self, bag: BagId) -> Money | None:
        account = self._accounts.get(bag)
        return account.told if account else None

    def allowances(self, now: float) -> list[Allowance]:
        """Lowered ones first; a window that has ended makes room as bags tell anew."""
        if now >= self.until:
            self._begin(self._windows, now)
        used = {cap: self._committed(cap) for cap in self._windows}
        changed: list[tuple[float, Allowance]] = []
        for account in self._accounts.values():
            if not account.open:
                continue
            left = {
                cap: cap.amount - used[cap]
                for cap in self._windows
                if cap.holds(account.user, account.currency)
            }
            told = _told(account, min(left.values(), default=None))
            if told != account.told:
                rise = math.inf if told is None else told - (account.told or 0)
                account.told = told
                changed.append((rise, self._allowance(account, left)))
        return [one for _, one in sorted(changed, key=lambda each: each[0])]

    def view(self) -> tuple[CapView, ...]:
        return tuple(
            CapView(cap, window, self._committed(cap)) for cap, window in self._windows.items()
        )

    def check(self) -> None:
        """Raise BrokenInvariantError if a bag could pass a cap that has room."""
        for cap in self._windows:
            left = cap.amount - self._committed(cap)
            for one in self._accounts.values():
                room = (one.told or 0) - one.in_all
                if one.open and cap.holds(one.user, one.currency) and room > max(0, left):
                    raise BrokenInvariantError(f"bag {one.bag} may pass the cap of {cap}")

    # --- windows ----------------------------------------------------------------------------------

    def _begin(self, caps: Iterable[Cap], now: float) -> None:
        """All that bags that do not run have spent began before a window that begins now."""
        before = set(self.since)
        self._windows = {cap: cap.window(now) for cap in caps}
        self.since = starts(self._windows.values())
        self.until = min((window.until for window in self._windows.values()), default=math.inf)
        for account in self._accounts.values():
            for at in set(self.since) - before:
                account.since.setdefault(at, account.in_all if account.open else NOTHING)

    def _committed(self, cap: Cap) -> Money:
        since = self._windows[cap].since
        return Money(
            sum(
                one.since.get(since, NOTHING)
                for one in self._accounts.values()
                if cap.holds(one.user, one.currency)
            )
        )

    def _allowance(self, account: _Account, left: dict[Cap, int]) -> Allowance:
        if account.told is None:
            return Allowance(account.bag, None)
        least = min(left, key=lambda cap: left[cap])
        until = least.calendar(self._windows.get(least, FOR_EVER).until)
        return Allowance(account.bag, account.told, str(least), until)


def _told(account: _Account, left: int | None) -> Money | None:
    """All that it is told that it may have committed, with so much left for all."""
    if left is None:
        return None
    most = account.in_all + left
    if account.told is None or account.waits:
        return Money(most)
    if account.told > most:
        return Money(most - max(0, left) // HELD_BACK)
    hidden = most - account.told
    return Money(most) if hidden > max(0, account.told - account.in_all) else account.told
