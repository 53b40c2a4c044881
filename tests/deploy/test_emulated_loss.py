"""Machines of this computer that are lost by chance, as a clouds file says."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bats.common.errors import UsageError
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.endpoint import Endpoint
from bats.deploy.host.emulated_loss import EmulatedLoss, Loss
from bats.deploy.host.roster import STOP_GRACE_SECONDS, Roster, find_own
from bats.deploy.local import Local
from bats.deploy.protocol import Gone, Sighting, Site, State
from bats.deploy.testing import becomes, eventually, opened

WORKER = (sys.executable, "-m", "bats.worker")
SPOT = Offering(ClusterName("spot"), NOTHING, 3600.0, max_machines=4, reliable=False)
OFTEN = 36_000.0  # an hour: some tenths of a second
PATIENCE = 60


@asynccontextmanager
async def lost(tmp_path: Path, **settings: Any) -> AsyncIterator[tuple[Local, Any]]:
    site = Site("test", str(tmp_path), WORKER)
    async with Endpoint() as master, opened(replace(SPOT, settings=settings), site) as backend:
        yield backend, master


async def test_a_machine_that_is_lost_is_told_to_be_pre_empted_and_charged_no_more(tmp_path: Path):
    async with lost(tmp_path, lost_per_hour=OFTEN) as (backend, master):
        ticket = master.ticket()
        await backend.start([ticket])
        gone = (await becomes(backend, [ticket.machine], State.GONE, PATIENCE))[ticket.machine]
        assert (gone.gone, gone.detail) == (
            Gone.PREEMPTED, "taken away, as its clouds file emulates"
        )  # fmt: skip
        await asyncio.sleep(0.3)
        again = (await backend.status([ticket.machine]))[ticket.machine]
        assert again.charged_seconds == gone.charged_seconds


async def test_a_loss_with_a_notice_is_announced_while_the_machine_still_runs(tmp_path: Path):
    async with lost(tmp_path, lost_per_hour=OFTEN, notice_seconds=2) as (backend, master):
        ticket = master.ticket()
        await backend.start([ticket])
        seen = (await becomes(backend, [ticket.machine], State.STOPPING, PATIENCE))[ticket.machine]
        assert seen.detail == "soon taken away, as its clouds file emulates"
        gone = (await becomes(backend, [ticket.machine], State.GONE, PATIENCE))[ticket.machine]
        assert gone.gone is Gone.PREEMPTED


async def test_a_machine_lost_in_silence_is_charged_on_and_ends_at_once_when_it_is_stopped(
    tmp_path: Path,
):
    async with lost(tmp_path, lost_per_hour=OFTEN, lost="silent") as (backend, master):
        ticket = master.ticket()
        seen = (await backend.start([ticket]))[ticket.machine]
        pid = int(seen.address.split()[-1])
        stat = Path(f"/proc/{pid}/stat")
        await eventually(
            lambda: asyncio.to_thread(stat.read_text),
            # D: it waits for a task it was starting, which was stopped before it began
            lambda it: it.rpartition(")")[2].split()[0] in "TD",
            PATIENCE,
            "stands still",
        )
        standing = await charged(backend, ticket.machine)
        await asyncio.sleep(0.3)
        assert standing < await charged(backend, ticket.machine)
        began = time.monotonic()
        await backend.stop([ticket.machine])
        gone = (await becomes(backend, [ticket.machine], State.GONE, PATIENCE))[ticket.machine]
        assert gone.gone is Gone.STOPPED
        assert (
            time.monotonic() - began < STOP_GRACE_SECONDS
        )  # not after the grace of those that hear


async def charged(backend: Local, machine: Any) -> float:
    seen: Sighting = (await backend.status([machine]))[machine]
    assert seen.state is State.UP
    assert seen.charged_seconds is not None
    return seen.charged_seconds


def test_no_machine_is_lost_while_it_boots(tmp_path: Path):
    now = 100.0
    losing = EmulatedLoss(Loss(per_hour=1e9), Roster(tmp_path), lambda: now)
    losing.begin(1, find_own(1), 60.0)  # type: ignore[arg-type]
    due = losing.next_seconds
    assert due is not None
    assert due >= 60.0


def test_a_notice_of_a_silent_loss_is_refused(tmp_path: Path):
    wrong = replace(SPOT, settings={"lost": "silent", "notice_seconds": 2.0})
    with pytest.raises(UsageError, match='not "silent"'):
        Local(wrong, Site("test", str(tmp_path), WORKER))
