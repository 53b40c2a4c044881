"""Machines whose master is no more: its books and the back ends tell of them, without a master.

Stopping them changes no books: the next master of that state folder finds them gone.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Final

from bats.common.errors import BatsError
from bats.common.offering import MANUAL, Offering
from bats.deploy.protocol import Site
from bats.deploy.registry import backend
from bats.master.bag import bag_from
from bats.master.brain.protocol.numbering import by_hand, serves_all
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.service.machines.orphans import OrphanMachine, orphan_machine
from bats.master.service.options import Options, place_of
from bats.master.store.reader import Reader

_BAGS: Final = 100  # how far back it is looked where machines were
_ANSWER_SECONDS: Final = 30.0


def alive_by_the_books(state: Path) -> int:
    """The number of machines that the last master's books hold to be alive. Asks nobody."""
    with Reader(state) as reader:
        return sum(row.gone is None and not by_hand(row.id) for row in reader.machines())


async def orphans(state: Path, *, stop: bool) -> tuple[list[OrphanMachine], dict[str, str]]:
    """Machines of that folder that live; and the offerings that did not say, with why."""
    folder = state.expanduser().absolute()  # noqa: ASYNC240 (no disk is asked)
    site, wherever = await asyncio.to_thread(_read, folder)
    told = await asyncio.gather(*(_ask(one, site, stop=stop) for one in wherever))
    found = [orphan for answer in told if isinstance(answer, list) for orphan in answer]
    mute = {
        str(one.name): answer
        for one, answer in zip(wherever, told, strict=True)
        if isinstance(answer, str)
    }
    return found, mute


def _read(folder: Path) -> tuple[Site, list[Offering]]:
    with Reader(folder) as reader:
        return Site(reader.master_id, str(folder), Options().worker_command), places(reader)


def places(reader: Reader) -> list[Offering]:
    """Places where machines of this store have been: an offering for each."""
    bags = sorted({row.bag for row in reader.machines() if not serves_all(row.id)})[-_BAGS:]
    brought = (one for bag in bags for one in bag_from(reader.bag(bag)).settings.offerings)
    kept = (kind.offering for one in replayed_pools(reader).values() for kind in one.kinds)
    return list({place_of(one): one for one in (*brought, *kept) if one.backend != MANUAL}.values())


async def _ask(offering: Offering, site: Site, *, stop: bool) -> list[OrphanMachine] | str:
    try:
        asked = backend(offering, site)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                listed = await asked.list_ours()
                if stop:
                    await asked.stop([one.machine for one in listed if one.machine is not None])
        finally:
            await asked.close()
    except (BatsError, TimeoutError) as error:
        return str(error) or "it did not answer in time"
    lost, done = "no master runs", "stopped" if stop else ""
    return [replace(orphan_machine(offering, one, {}), lost=lost, done=done) for one in listed]
