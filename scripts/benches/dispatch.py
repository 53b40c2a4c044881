"""Null tasks: what the master itself costs per task, and what a million of them take up."""

import asyncio
import time
from dataclasses import dataclass

from figures import Report

from bats.master.client import Client
from benches.world import BY_HAND, World, cpu_seconds, finish, numbered, resident_mb, world

WORKERS = 2
BAGS = 100


@dataclass(frozen=True)
class Taken:
    seconds: float
    cpu_seconds: float  # of the master
    resident_mb: float  # of the master, at the end


def taken(tasks: int) -> Taken:
    async def measure() -> Taken:
        with world() as here:
            async with here.client() as client:
                start_quick_workers(here)
                await finish(client, numbered("true", 2_000))
                await durable(client)
                before, began = cpu_seconds(here.master.pid), time.monotonic()
                await finish(client, numbered("true", tasks))
                await durable(client)
                seconds = time.monotonic() - began
                pid = here.master.pid
                return Taken(seconds, cpu_seconds(pid) - before, resident_mb(pid))

    return asyncio.run(measure())


def side_by_side(tasks: int) -> float:
    """Seconds for so many tasks in as many bags as are open at once, all of the same length."""

    async def measure() -> float:
        with world() as here:
            async with here.client() as client:
                start_quick_workers(here)
                await finish(client, numbered("true", 2_000))
                await durable(client)
                began = time.monotonic()
                work = numbered("true", tasks // BAGS)
                bags = await asyncio.gather(
                    *(client.submit(work, offerings=[BY_HAND], rule="fastest") for _ in range(BAGS))
                )
                await asyncio.gather(*(bag.wait() for bag in bags))
                await durable(client)
                return time.monotonic() - began

    return asyncio.run(measure())


async def durable(client: Client) -> None:
    """Until the master has written all it was told: quick results outrun the disk for a while."""
    while (await client.ask("snapshot"))["store_backlog"]:
        pass


def start_quick_workers(here: World) -> None:
    for number in range(WORKERS):
        here.start_helper("quick_worker", str(number))
    here.wait_for_workers(WORKERS)


def waiting(tasks: int) -> tuple[float, float]:
    """Seconds to submit so many tasks, and the master's resident MB while they wait."""

    async def measure() -> tuple[float, float]:
        with world() as here:
            async with here.client() as client:
                loop = asyncio.get_running_loop()
                began = loop.time()
                bag = await client.submit(
                    numbered("true", tasks), offerings=[BY_HAND], rule="fastest"
                )
                seconds = loop.time() - began
                await bag.status()
                return seconds, resident_mb(here.master.pid)

    return asyncio.run(measure())


def run(report: Report, *, quick: bool) -> None:
    few, many = (5_000, 50_000) if quick else (10_000, 1_000_000)
    small, large = taken(few), taken(many)
    rate = many / large.seconds
    report.bar(f"{many:,} null tasks, {WORKERS} workers: tasks/s", 10_000, rate, rate >= 10_000)
    a, b = 1e6 * small.seconds / few, 1e6 * large.seconds / many
    report.figure(f"a task of {few:,}", None, a, "µs")
    report.figure(f"a task of {many:,}", None, b, "µs")
    report.figure("of it the master's processor", None, 1e6 * large.cpu_seconds / many, "µs")
    report.bar(f"a task of {many:,} over one of {few:,}", 1.3, b / a, b / a <= 1.3)
    share = large.seconds / side_by_side(many)
    report.bar(f"{BAGS} bags at once: rate over that of one", 0.8, share, share >= 0.8)
    seconds, resident = waiting(many)
    report.bar(f"submission of {many:,} tasks, s", 3, seconds, seconds <= 3)
    report.bar(f"master with {many:,} tasks waiting, MB", 400, resident, resident <= 400)


def run_ten_million(report: Report, *, quick: bool) -> None:
    """The largest bag: what its tasks cost and take up, from submission to the last result."""
    tasks = 100_000 if quick else 10_000_000
    large = taken(tasks)
    report.figure(f"a task of {tasks:,}", None, 1e6 * large.seconds / tasks, "µs")
    report.figure("of it the master's processor", None, 1e6 * large.cpu_seconds / tasks, "µs")
    megabytes = large.resident_mb
    report.bar(f"master after {tasks:,} tasks, MB", 400, megabytes, megabytes <= 400)
