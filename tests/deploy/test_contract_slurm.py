"""Jobs of a real Slurm keep the contract, and each way they end is told apart."""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from helpers.beds import Bed, kill_marked
from helpers.waiting import until

from bats.common.messages import MachineId
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.batch.slurm import Slurm
from bats.deploy.protocol import Gone, RefusedError, Sighting, Site, State
from bats.deploy.testing import BackendContract, Bench, becomes, opened

WORKER = (sys.executable, "-m", "bats.worker")
pytestmark = pytest.mark.backend("slurm")


def job_of(seen: Sighting) -> str:
    return seen.address.split()[1]


def node_of(seen: Sighting) -> str:
    return seen.address.rpartition(" ")[2]


async def pull_the_plug(bed: Bed, _: MachineId, seen: Sighting) -> None:
    """Kill all processes of a job, as if its node had lost them."""
    shown = await asyncio.to_thread(bed.run, "scontrol", "show", "job", job_of(seen))
    found = re.search(r"JobId=(\d+)", shown)
    assert found
    await asyncio.to_thread(kill_marked, f"SLURM_JOB_ID={found[1]}", bed.mark("SLURM_CONF"))


async def give_its_place_away(bed: Bed, _: MachineId, seen: Sighting) -> None:
    options = ("--partition=urgent", "--exclusive", f"--nodelist={node_of(seen)}")
    await asyncio.to_thread(bed.run, "sbatch", *options, "--output=/dev/null", "--wrap", "true")


@contextlib.asynccontextmanager
async def all_nodes_taken(bed: Bed) -> AsyncIterator[None]:
    options = ("--parsable", "--array=1-4", "--exclusive", "--output=/dev/null")
    job = await asyncio.to_thread(bed.run, "sbatch", *options, "--wrap", "sleep 999")
    running = partial(bed.run, "squeue", "-h", "-r", "-t", "running", "-j", job)
    await asyncio.to_thread(until, lambda: len(running().splitlines()) == 4)
    try:
        yield
    finally:
        await asyncio.to_thread(bed.run, "scancel", job)


def queue(bed: Bed, master_id: str) -> Sequence[str]:
    listed = bed.run("squeue", "-h", "-r", "-o", "%i %j %T").splitlines()
    return [line for line in listed if master_id in line]


class TestSlurm(BackendContract):
    @pytest.fixture
    def bench(self, slurm_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
        slurm_bed.enter(monkeypatch)
        jobs = Offering(ClusterName("hpc"), NOTHING, 3600.0, 9, backend="slurm")
        site = Site(f"m{tmp_path.name}", str(tmp_path), WORKER)
        return Bench(
            offering=jobs,
            site=site,
            crash=partial(pull_the_plug, slurm_bed),
            broken=(replace(jobs, settings={"partition": "nowhere"}), site),
            crowded=partial(all_nodes_taken, slurm_bed),
            preempt=partial(give_its_place_away, slurm_bed),
            leftovers=partial(asyncio.to_thread, queue, slurm_bed, site.master_id),
        )

    async def test_a_time_limit_a_lost_node_and_a_foreign_cancel_are_told_apart(
        self, bench: Bench, slurm_bed: Bed
    ) -> None:
        async with bench.tried() as (backend, master):
            tickets = [master.ticket(slots=8) for _ in range(3)]  # a node each
            await backend.start(tickets)
            late, unlucky, hated = (ticket.machine for ticket in tickets)
            for ticket in tickets:
                await master.joined(ticket.machine, bench.patience_seconds)
            seen = await becomes(backend, [late, unlucky, hated], State.UP, 60)
            do = partial(asyncio.to_thread, slurm_bed.run)
            node = node_of(seen[unlucky])
            await do("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
            await do("scancel", job_of(seen[hated]))
            await do("scontrol", "update", f"job={job_of(seen[late])}", "EndTime=now+1")
            seen = await becomes(backend, [late, unlucky, hated], State.GONE, 90)
            assert (seen[late].gone, seen[late].detail) == (
                Gone.EXPIRED,
                "its job reached its time limit",
            )
            assert seen[unlucky].gone is Gone.FAILED
            assert "its node failed" in seen[unlucky].detail
            assert seen[hated].gone is Gone.FAILED
            assert "cancelled, and not by us" in seen[hated].detail

    async def test_a_job_that_could_never_start_is_given_up_and_taken_back(
        self, bench: Bench, slurm_bed: Bed
    ) -> None:
        greedy = replace(bench.offering, settings={"directives": ["#SBATCH --ntasks=99"]})
        async with bench.tried() as (_, master), opened(greedy, bench.site) as backend:
            ticket = master.ticket()
            await backend.start([ticket])
            seen = await becomes(backend, [ticket.machine], State.GONE, 60)
            assert seen[ticket.machine].gone is Gone.FAILED
            assert "PartitionConfig" in seen[ticket.machine].detail
            assert queue(slurm_bed, bench.site.master_id) == []

    async def test_the_users_own_lines_reach_the_script_and_the_job(
        self, bench: Bench, slurm_bed: Bed, tmp_path: Path
    ) -> None:
        settings = {
            "partition": "debug",
            "time_limit": "0:30:00",
            "memory": "200M",
            "directives": ["#SBATCH --comment=mine"],
            "setup": [f"echo modules > '{tmp_path}/set up'"],
        }
        async with (
            bench.tried() as (_, master),
            opened(replace(bench.offering, settings=settings), bench.site) as backend,
        ):
            assert isinstance(backend, Slurm)
            assert "#SBATCH --array=0-2\n" in backend.script(3)
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, bench.patience_seconds)
            seen = await backend.status([ticket.machine])
            shown = slurm_bed.run("scontrol", "show", "job", job_of(seen[ticket.machine]))
            assert "TimeLimit=00:30:00" in shown
            assert "Comment=mine" in shown
            assert "MinMemoryNode=200M" in shown
            assert (tmp_path / "set up").read_text() == "modules\n"

    async def test_waiting_in_the_queue_is_charged_where_that_is_so(self, bench: Bench) -> None:
        dear = replace(bench.offering, settings={"bill_queue": True})
        assert bench.crowded
        async with bench.tried() as (_, master), opened(dear, bench.site) as backend:
            ticket = master.ticket()
            async with bench.crowded():
                await backend.start([ticket])
                seen = await becomes(backend, [ticket.machine], State.QUEUED, 60)
                assert seen[ticket.machine].charged_seconds is not None
            await master.joined(ticket.machine, bench.patience_seconds)

    async def test_what_slurm_says_no_to_is_told_in_its_words(self, bench: Bench) -> None:
        for settings, words in (
            ({"partition": "nowhere"}, "nvalid partition name"),
            ({"memory": "9999G"}, "node configuration is not available"),
            ({"time_limit": "soon"}, "nvalid --time specification"),
        ):
            async with opened(replace(bench.offering, settings=settings), bench.site) as backend:
                with pytest.raises(RefusedError, match=words):
                    await backend.check()

    async def test_a_machine_is_explained_by_its_own_word_when_slurm_has_forgotten_it(
        self, bench: Bench, slurm_bed: Bed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with bench.tried() as (backend, master):
            master.silent = True
            ticket = master.ticket(lease_seconds=5.0)
            await backend.start([ticket])
            word = f"{bench.site.state_folder}/slurm/hpc/{ticket.machine}/0.exit"
            await asyncio.to_thread(until, partial(os.path.exists, word))
            later = slurm_bed.state / "later"
            later.mkdir(exist_ok=True)
            (later / "squeue").write_text("#!/bin/sh\n")  # as it answers then: nothing
            (later / "squeue").chmod(0o755)
            monkeypatch.setenv("PATH", f"{later}:{os.environ['PATH']}")
            seen = await backend.status([ticket.machine])
            assert seen[ticket.machine].gone is Gone.EXPIRED
            assert seen[ticket.machine].charged_seconds is not None
