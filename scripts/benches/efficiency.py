"""The share of machines' time in tasks that sleep, beside `xargs -P2` and the ideal."""

import asyncio
import statistics

from figures import Report

from benches.spawn import xargs
from benches.world import finish, numbered, world

NAP, NAPS = 0.05, 200
WORKERS, EACH = 64, 20


def share(workers: int, slots: int, tasks: int, seconds: float) -> float:
    """Of the ideal: tasks × seconds / slots, over what it took."""

    async def measure() -> float:
        with world() as here:
            async with here.client() as client:
                for _ in range(workers):
                    here.start_worker(slots)
                here.wait_for_workers(workers)
                await finish(client, numbered("true", workers * slots))
                _, _, took = await finish(client, numbered(f"sleep {seconds}", tasks))
                return tasks * seconds / (workers * slots) / took

    return asyncio.run(measure())


def run(report: Report, *, quick: bool) -> None:
    pairs = []
    for _ in range(1 if quick else 3):
        theirs = xargs(NAPS, f"sleep {NAP}") * NAP / 2
        pairs.append((theirs, share(1, 2, NAPS, NAP)))
    theirs, ours = (statistics.median(x) for x in zip(*pairs, strict=True))
    report.figure(f"xargs -P2, {NAPS} × sleep {NAP}", 0.965, theirs, "of ideal")
    report.figure("BaTS, the same", None, ours, "of ideal")
    report.bar("xargs -P2's share less ours", 0.01, theirs - ours, theirs - ours <= 0.01)
    workers, each = (8, 5) if quick else (WORKERS, EACH)
    many = share(workers, 1, workers * each, 1.0)
    report.bar(f"{workers} workers × {each} × sleep 1: of ideal", 0.95, many, many >= 0.95)
