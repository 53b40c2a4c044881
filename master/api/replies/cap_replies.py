"""Replies about caps over several bags."""

from typing import TypedDict

from bats.common.money import Money


class CapLine(TypedDict):
    user: str  # "" all together
    period: str  # day, week, month or ever
    zone: str
    currency: str
    amount: Money
    committed: Money  # spent in this window, and reserved for ATUs to come
    left: Money
    since: float | None  # seconds of the epoch; None: for good
    until: float | None
    words: str


class Caps(TypedDict):
    caps: list[CapLine]
