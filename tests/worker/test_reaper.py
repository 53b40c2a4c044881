"""Every end is told once, in time, while the process can still be waited for."""

import asyncio
import os
from typing import Any

import pytest

from bats.worker.tasks.reaper import PidfdReaper, SignalReaper


@pytest.mark.parametrize("kind", [PidfdReaper, SignalReaper])
async def test_each_end_is_told_once(kind: Any) -> None:
    told: list[tuple[str, int]] = []
    all_told = asyncio.Event()

    def ended(what: str, pid: int) -> None:
        told.append((what, os.waitpid(pid, 0)[1] >> 8))
        if len(told) == 40:
            all_told.set()
        elif len(told) <= 20:  # the next takes the slot at once, and maybe the same file number
            start(len(told) + 19)

    def start(number: int) -> None:
        line = ["/bin/sh", "-c", f"exit {number}"]
        reaper.watch(os.posix_spawn("/bin/sh", line, os.environ), f"task {number}")

    reaper = kind(asyncio.get_running_loop(), ended)
    for number in range(20):
        start(number)
    async with asyncio.timeout(20):
        await all_told.wait()
    reaper.close()
    assert sorted(told) == sorted((f"task {number}", number) for number in range(40))
