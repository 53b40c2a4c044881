"""A hostile worker with a valid key: what it costs the others, the master, and the truth."""

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from figures import Report

from bats.common.offering import ClusterName, Offering
from bats.master.client import Bag
from benches.world import World, numbered, world

HONEST = 2  # workers, of so many slots each
SLOTS = 4
BEFORE_SECONDS = 4.0
QUICK_SECONDS = 6.0
MASTER_MB = 500
SHARE = 0.8


def peak_mb(here: World) -> float:
    for line in Path(f"/proc/{here.master.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the master is gone")


async def rate(bag: Bag, seconds: float) -> float:
    """Tasks done per second; the median of each second, lest a pause of the computer counts."""
    rates, done, at = [], (await bag.status())["done"], time.monotonic()
    ends = at + seconds
    while time.monotonic() < ends:
        await asyncio.sleep(1)
        now, was = time.monotonic(), done
        done = (await bag.status())["done"]
        rates.append((done - was) / (now - at))
        at = now
    return statistics.mean(rates)


async def measure(seconds: float) -> dict[str, Any]:
    with world() as here:
        async with here.client() as client:
            for _ in range(HONEST):
                here.start_worker(slots=SLOTS)
            here.wait_for_workers(HONEST)
            offering = Offering(ClusterName("hand"), 0, 3600.0, 1024, SLOTS, backend="manual")
            work = numbered("sleep 0.1; echo $I", 1_000_000)
            bag = await client.submit(work, offerings=[offering], rule="fastest")
            await rate(bag, BEFORE_SECONDS)
            before = await rate(bag, max(BEFORE_SECONDS, seconds / 4))
            here.start_helper("hostile_worker", str(seconds))
            during = await rate(bag, seconds)
            lag = (await client.ask("snapshot"))["lag_seconds"]
            keys = (here.folder / "log").read_text().count("hostile with another key")
            false, count = 0, 0
            async for part in client.stream("results", bag=bag.number):
                for row in part["results"]:
                    count += 1
                    false += row["excerpt"].strip() != str(row["task"])
            peak = peak_mb(here)
            await bag.cancel()
    return {"before": before, "during": during, "peak": peak, "false": false, "count": count,
            "lag": lag, "keys": keys}  # fmt: skip


def run(report: Report, *, quick: bool) -> None:
    seconds = QUICK_SECONDS if quick else 60.0
    seen = asyncio.run(measure(seconds))
    report.figure("tasks per second before", None, seen["before"])
    report.figure("keys that it came with", None, seen["keys"])
    report.figure("results recorded", None, seen["count"])
    share = seen["during"] / seen["before"]
    report.bar(f"rate of the others during {seconds:g} s, to before", SHARE, share, share >= SHARE)
    report.bar("master's memory, at most, MB", MASTER_MB, seen["peak"], seen["peak"] <= MASTER_MB)
    report.bar("results that are false", 0, seen["false"], seen["false"] == 0)
