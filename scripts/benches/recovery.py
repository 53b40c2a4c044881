"""A master killed with half of its tasks done: how long until the next one goes on."""

import asyncio
import signal
import time

from figures import Report

from benches.dispatch import start_quick_workers
from benches.world import BY_HAND, cpu_seconds, numbered, resident_mb, world


def recovery(tasks: int) -> tuple[float, float, float]:
    """Seconds from its start until the master answers, its processor's, its resident MB."""

    async def measure() -> tuple[float, float, float]:
        with world() as here:
            async with here.client() as client:
                start_quick_workers(here)
                bag = await client.submit(
                    numbered("true", tasks), offerings=[BY_HAND], rule="fastest"
                )
                number = bag.number
                status = await bag.status()
                while status.get("done", 0) < tasks / 2:
                    status = await client.ask(
                        "wait", bag=number, seconds=0.5, seen=status.get("seen", 0)
                    )
            here.master.send_signal(signal.SIGKILL)
            here.master.wait()
            began = time.monotonic()
            here.start_master()
            async with here.client() as client:
                status = await client.ask("status", bag=number)
                seconds = time.monotonic() - began
                # These workers keep no outbox: what was not yet on disk is done again.
                if not tasks / 4 <= status["done"] < tasks:
                    raise RuntimeError(f"{status['done']} of {tasks} done after the restart")
                return seconds, cpu_seconds(here.master.pid), resident_mb(here.master.pid)

    return asyncio.run(measure())


def run(report: Report, *, quick: bool) -> None:
    tasks = 50_000 if quick else 1_000_000
    seconds, cpu, resident = recovery(tasks)
    report.figure("of it processor", None, cpu, "s")
    report.figure("master afterwards", None, resident, "MB")
    report.bar(f"restart with {tasks:,} tasks, half of them done, s", 10, seconds, seconds <= 10)
