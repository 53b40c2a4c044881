"""A keeper that is started before its folder is known serves as any other, or ends unused."""

import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from helpers.waiting import until

from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.endpoint import Endpoint
from bats.deploy.host.roster import find
from bats.deploy.local import Local
from bats.deploy.protocol import Site, State
from bats.deploy.spare_keeper import SpareKeeper
from bats.deploy.testing import becomes

WORKER = (sys.executable, "-m", "bats.worker")
HERE = Offering(ClusterName("here"), NOTHING, 3600.0, 4)
SECONDS = 60.0

wait_for = partial(until, seconds=SECONDS)


async def one_machine_of(local: Local) -> None:
    async with Endpoint() as master:
        ticket = master.ticket()
        try:
            seen = await local.start([ticket])
            assert seen[ticket.machine].state is State.UP
            await master.joined(ticket.machine, SECONDS)
            await local.stop([ticket.machine])
            await becomes(local, seen, State.GONE, SECONDS)
        finally:
            await local.close()


async def test_it_becomes_the_keeper_of_a_back_end_that_needs_one(tmp_path: Path) -> None:
    spare = SpareKeeper(WORKER)
    local = Local(HERE, Site("test", str(tmp_path), WORKER))
    local.warm(spare)
    assert find(spare.pid) is None, "it went on in a session and process of its own"
    spare.close()  # ends nothing that is somebody's
    await one_machine_of(local)


@pytest.mark.parametrize("killed", [False, True])
async def test_a_back_end_that_cannot_use_it_starts_its_own(tmp_path: Path, killed: bool) -> None:
    spare = SpareKeeper(WORKER if killed else (*WORKER, "--log", "json"))
    if killed:
        os.kill(spare.pid, signal.SIGKILL)
    local = Local(HERE, Site("test", str(tmp_path), WORKER))
    local.warm(spare)
    spare.close()
    await one_machine_of(local)


async def test_the_settings_of_the_back_end_are_those_it_keeps_to(tmp_path: Path) -> None:
    spare = SpareKeeper(WORKER)
    slow = replace(HERE, settings={"queue_seconds": 600})
    local = Local(slow, Site("test", str(tmp_path), WORKER))
    local.warm(spare)
    async with Endpoint() as master:
        ticket = master.ticket()
        seen = await local.start([ticket])
        assert seen[ticket.machine].state is State.QUEUED
        await local.stop([ticket.machine])
        await becomes(local, seen, State.GONE, SECONDS)
    await local.close()


def test_it_ends_when_nobody_uses_it() -> None:
    spare = SpareKeeper(WORKER)
    spare.close()
    assert find(spare.pid) is None
    spare.close()


def test_it_ends_with_who_started_it() -> None:
    """However that ends: nothing may be left."""
    program = (
        "import os, sys, time\n"
        "from bats.deploy.spare_keeper import SpareKeeper\n"
        "print(SpareKeeper((sys.executable, '-m', 'bats.worker')).pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    reading, writing = os.pipe()
    starter = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", program],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
    )
    os.close(writing)
    with os.fdopen(reading) as said:
        pid = int(said.readline())
    assert find(pid)
    os.kill(starter, signal.SIGKILL)
    os.waitpid(starter, 0)
    wait_for(lambda: find(pid) is None)


def test_to_start_it_takes_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    spare = SpareKeeper(WORKER)
    assert time.process_time() - began < 0.05
    spare.close()
