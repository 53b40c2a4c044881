"""Five thousand workers that only beat: what the master's processor has to do with them."""

import asyncio
import statistics

from figures import Report

from benches.world import cpu_seconds, world

WORKERS = 5_000
JOINED_SECONDS = 180.0


def load(workers: int, seconds: int) -> float:
    """Share of one core that the master uses."""

    async def measure() -> float:
        with world() as here:
            async with here.client():
                here.start_helper("crowd_worker", str(workers))
                here.wait_for_workers(workers, JOINED_SECONDS)
                await asyncio.sleep(5)  # until all have been greeted
                shares = []
                for _ in range(seconds):
                    before = cpu_seconds(here.master.pid)
                    await asyncio.sleep(1)
                    shares.append(cpu_seconds(here.master.pid) - before)
                return statistics.mean(shares)

    return asyncio.run(measure())


def run(report: Report, *, quick: bool) -> None:
    workers, seconds = (100, 5) if quick else (WORKERS, 20)
    share = load(workers, seconds)
    report.bar(f"{workers:,} workers, heartbeats and all: of one core", 0.3, share, share <= 0.3)
