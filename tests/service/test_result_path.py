"""The way of a result from the wire to the store is short: who looks for a fault reads little."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from helpers.service import free, over, sweep

from bats.common.messages import Result, Results
from bats.master.brain.protocol.commands import Record
from bats.master.brain.protocol.events import Ended
from bats.master.client import connect
from bats.master.service.master import serving
from bats.master.service.options import Options
from bats.master.service.wire.router import Heard

CARRIERS = (Result, Results, Ended, Record, Heard)
MOST = 12
BESIDE = {
    "bats.common.records",  # makes methods of a type when they are first called
    "bats.master.store.reader",  # these two read results back, when the bag has ended
    "bats.master.service.bags.earlier_bags",
}
ON_THE_WIRE = "bats.master.service.wire.router"  # reads what nobody hands to it


def carries(value: Any) -> bool:
    if type(value) in (list, tuple) and value:
        return carries(value[0])
    return type(value) in CARRIERS


@pytest.fixture
def modules() -> Iterator[set[str]]:
    """The modules of ours that have a function which takes or gives results, or is their type."""
    found = {ON_THE_WIRE}

    def look(frame: FrameType, event: str, given: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event not in ("call", "return") or name in found or not name.startswith("bats."):
            return
        code = frame.f_code
        if event == "call":
            given = [frame.f_locals.get(one) for one in code.co_varnames[: code.co_argcount]]
        if any(map(carries, given)) if event == "call" else carries(given):
            found.add(name)

    threading.setprofile(look)
    sys.setprofile(look)
    yield found
    sys.setprofile(None)
    threading.setprofile(None)


async def test_a_result_passes_few_modules_from_the_wire_to_the_store(
    modules: set[str], tmp_path: Path
) -> None:
    options = Options(state=tmp_path / "state", offerings=(free(),))
    async with serving(options) as master, connect(master.access) as client:
        bag = (await client.ask("submit", sweep=sweep(20)))["bag"]
        await over(client, bag)
        declared = {kind.__module__ for kind in CARRIERS if kind is not Heard}
        on_its_way = modules - declared - BESIDE
    assert {"bats.master.service.bags.runner", "bats.master.store.result_rows"} <= on_its_way
    assert len(on_its_way) <= MOST, sorted(on_its_way)
