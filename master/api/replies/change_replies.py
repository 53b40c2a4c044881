"""Changes: what became of a bag by what its user said."""

from typing import TypedDict

from bats.common.money import Money


class OfBag(TypedDict):
    bag: int


class BagState(TypedDict):
    bag: int
    state: str


class Weighed(BagState):
    weight: int
    priority: int


class Submitted(BagState):
    name: str
    tasks: int
    waits: str  # for which cap to leave enough, and until when; "" for none


class Added(BagState):
    first: int  # its number; the others follow
    tasks: int  # that were added
    total: int
    again: bool  # they had been added before, by the same key


class Told(BagState):
    phase: str


class Chosen(Told):
    chosen: str
    budget: Money | None
    limit: Money | None
    currency: str
    paused: bool


class Allowed(Told):
    budget: Money | None
    limit: Money | None
    currency: str


class LeftOut(Told):
    tasks: int


class Retried(Told):
    tasks: int


class Pruned(OfBag):
    files: int


class Nothing(TypedDict):
    pass
