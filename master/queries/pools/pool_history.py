"""Pools as their journals tell of them, with a master or without."""

from typing import TYPE_CHECKING

import msgpack

from bats.common.messages import BagId
from bats.master.brain.protocol.numbering import before_first
from bats.master.store.reader import Reader

if TYPE_CHECKING:  # most stores have no pools
    from bats.master.brain.pools.standing_pool import StandingPool


def replayed_pools(reader: Reader) -> "dict[BagId, StandingPool]":
    """All that this store has a journal of, as they were last."""
    return {number: replayed(reader, number) for number in reader.pools()}


def replayed(reader: Reader, number: BagId) -> "StandingPool":
    from bats.master.brain.pools.pool_journal import event_from
    from bats.master.brain.pools.standing_pool import StandingPool

    pool = StandingPool(before_first(number))
    for _, now, written in reader.events(number):
        pool.handle(event_from(msgpack.unpackb(written)), now)
    return pool
