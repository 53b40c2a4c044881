"""Tasks a second that an open bag takes: in batches of some size, durable when each is answered."""

import asyncio
import time

from figures import Report

from bats.master.client import Client, sweep
from benches.world import world

BAR = 10_000  # tasks a second
BATCHES = {1: 300, 10: 300, 100: 300, 1000: 100, 10_000: 20}  # how many, by their size
QUICK = {100: 50, 1000: 20}


async def rate(client: Client, size: int, batches: int) -> float:
    """Tasks a second, one batch after another."""
    bag = await client.submit(sweep(command="true {x}", to_be_open=True), hold=True)
    began = time.perf_counter()
    for first in range(0, size * batches, size):
        await bag.add({"x": x} for x in range(first, first + size))
    return size * batches / (time.perf_counter() - began)


def run(report: Report, *, quick: bool) -> None:
    async def measure() -> dict[int, float]:
        with world() as here:
            async with here.client() as client:
                return {
                    size: await rate(client, size, batches)
                    for size, batches in (QUICK if quick else BATCHES).items()
                }

    for size, found in asyncio.run(measure()).items():
        said = f"added a second in batches of {size:,}"
        if size < 1000:
            report.figure(said, None, found, "tasks")
        else:
            report.bar(said, BAR, found, found >= BAR)
