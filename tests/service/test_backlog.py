"""However quickly results come, what is not durable stays bounded: workers wait for the disk."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict

from benches import quick_worker
from benches.world import BY_HAND
from helpers.service import KillableMaster, eventually, sweep

TASKS = 100_000


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, *arguments])


async def test_the_store_is_never_far_behind(killable: Callable[..., KillableMaster]) -> None:
    master = killable()
    master.start()
    access = master.folder / "worker.json"
    quick = [start(quick_worker.__file__, str(access), str(number)) for number in range(2)]
    try:
        await eventually(lambda: len(master.logged("worker is there")) == len(quick))
        async with master.client() as client:
            work = sweep(TASKS, "true {x}")
            submitted = await client.ask("submit", sweep=work, offerings=[asdict(BY_HAND)])
            furthest = 0
            status = {"over": False}
            async with asyncio.timeout(100):
                while not status["over"]:
                    furthest = max(furthest, (await client.ask("snapshot"))["store_backlog"])
                    status = await client.ask(
                        "wait", bag=submitted["bag"], seconds=0.05, seen=status.get("seen", 0)
                    )
    finally:
        for one in quick:
            one.kill()
            one.wait()
    assert status["done"] == TASKS
    assert 0 < furthest < TASKS / 2
