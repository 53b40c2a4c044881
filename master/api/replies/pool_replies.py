"""Replies about pools: machines that the master keeps for all bags."""

from typing import TypedDict

from bats.common.money import Money


class PoolKind(TypedDict):
    """Machines of one offering."""

    offering: str
    most: int
    slots: int  # of each
    wanted: int  # by the last decision
    starting: int  # asked for, and not there yet
    working: int
    idle: int
    leaving: int  # that end, or get no more tasks
    trouble: str  # why none can be had now; "" otherwise


class PoolLimit(TypedDict):
    """Money for an interval, a day or a month: what counts in it now."""

    period: str
    amount: Money
    committed: Money  # spent, and reserved; of an interval what all that is on costs
    until: float | None  # seconds of the epoch


class PoolMoment(TypedDict):
    """Places at a time, in seconds of the epoch."""

    at: float
    demand: int  # tasks that ran or could start
    supply: int  # places of machines that had joined
    busy: int  # of machines with tasks


class PoolLine(TypedDict):
    name: str
    scaler: str
    release: str
    interval_seconds: float
    least: int
    most: int  # machines; 0: its clouds file has it no more
    demand: int  # places that tasks fill or could fill
    supply: int  # places of machines that are there
    kinds: list[PoolKind]
    currency: str
    spent: Money  # ever, for paid time that has begun
    reserved: Money  # for what comes next
    limits: list[PoolLimit]
    why: str  # the last decision
    decided_at: float | None
    moments: list[PoolMoment]  # the last ones, oldest first


class Pools(TypedDict):
    pools: list[PoolLine]
