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


async def test_what_ends_meanwhile_is_told_at_the_same_turn_and_the_loop_goes_on_between() -> None:
    loop = asyncio.get_running_loop()
    turns: list[int] = []
    all_told = asyncio.Event()
    turn = 0

    def start() -> None:
        pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", ":"], os.environ)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        reaper.watch(pid, None)

    def ended(_: None, pid: int) -> None:
        os.waitpid(pid, 0)
        turns.append(turn)
        if len(turns) < 40:
            start()
        else:
            all_told.set()

    reaper = PidfdReaper(loop, ended)
    start()
    async with asyncio.timeout(20):
        while not all_told.is_set():
            await asyncio.sleep(0)
            turn += 1
    reaper.close()
    assert 1 < len(set(turns)) <= 10
