"""Requests that add tasks to an open bag; answered once they are durable, added once however often.

Who did not hear the answer asks again with the same key.
"""

import asyncio
from functools import partial
from typing import Any, Final

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import Add, Close
from bats.master.bag import Bag, read_bag
from bats.master.bag_states import OPEN
from bats.master.service.api.call import Call
from bats.master.store.reader import Reader
from bats.master.sweep.space import Space, space_from_plain

_LONGEST_KEY: Final = 200


@takes(Add)
async def add(call: Call, want: Add) -> replies.Added:
    if call.service.trouble:
        raise UsageError(call.service.trouble)
    if not 0 < len(want.key) <= _LONGEST_KEY:
        raise UsageError(f"`key` should be a text of 1 to {_LONGEST_KEY} characters.")
    number = await call.bag(want.bag)
    bag = await _bag(call, number)
    space = await asyncio.get_running_loop().run_in_executor(None, _space, want.space)
    again = want.key in bag.added
    if again:
        tasks = bag.added[want.key]
        if len(tasks) != space.count:
            raise UsageError(
                f"With the key {quoted(want.key)} bag {number} was given {len(tasks):,} tasks "
                f"before, not {space.count:,}; give other tasks another key."
            )
    else:
        _must_be_open(bag)
        try:
            tasks = call.service.bags.add(bag, space, want.key)
        except ValueError as error:
            raise UsageError(f"{str(error)[0].upper()}{str(error)[1:]}.") from None
    await call.service.committed()
    return {
        "bag": number,
        "state": bag.state,
        "first": tasks.start,
        "tasks": len(tasks),
        "total": bag.sweep.count,
        "again": again,
    }


@takes(Close)
async def close(call: Call, want: Close) -> replies.BagState:
    number = await call.bag(want.bag)
    bag = await _bag(call, number)
    _ = bag.open_space
    if not bag.closed:
        _must_be_open(bag)
        call.service.bags.close_bag(bag)
    await call.service.committed()
    return {"bag": number, "state": bag.state}


async def _bag(call: Call, number: BagId) -> Bag:
    """The bag as the master has it; only one that ended long ago as the store has it."""
    bags = call.service.bags
    if number in bags.loaded:
        return bags.loaded[number].bag
    bag = bags.known.get(number)
    if bag is None:
        return await call.read(partial(_stored, number=number))
    if bag.began is not None and bag.state in OPEN:  # one that stands still since an earlier master
        return (await bags.load(number)).bag
    return bag


def _stored(reader: Reader, number: BagId) -> Bag:
    return read_bag(reader, number)


def _must_be_open(bag: Bag) -> None:
    """Raises UsageError unless tasks may be added to it now."""
    _ = bag.open_space
    if bag.state not in OPEN:
        raise UsageError(f"Bag {bag.id} has ended: {bag.state}; it takes no more tasks.")
    if bag.closed:
        raise UsageError(f"Bag {bag.id} was closed; it takes no more tasks.")


def _space(written: Any) -> Space:
    try:
        return space_from_plain(written)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"The tasks sent cannot be understood: {error}.") from None
