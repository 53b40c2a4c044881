"""Jobs of a real Grid Engine keep the contract, and each way they end is told apart."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from helpers.beds import Bed, kill_marked
from helpers.waiting import until

from bats.common.errors import UsageError
from bats.common.messages import MachineId
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.batch.sge import Sge
from bats.deploy.protocol import Feature, Gone, RefusedError, Sighting, Site, State
from bats.deploy.testing import BackendContract, Bench, becomes, eventually, opened

WORKER = (sys.executable, "-m", "bats.worker")
pytestmark = pytest.mark.backend("sge")


def job_of(seen: Sighting) -> str:
    return seen.address.split()[1]


async def pull_the_plug(bed: Bed, _: MachineId, seen: Sighting) -> None:
    """Kill the processes of a job (and of its siblings: they have the same number)."""
    number = job_of(seen).split(".")[0]
    await asyncio.to_thread(kill_marked, f"JOB_ID={number}", bed.mark("SGE_ROOT"))


@contextlib.asynccontextmanager
async def all_slots_taken(bed: Bed) -> AsyncIterator[None]:
    do = partial(asyncio.to_thread, bed.run)
    options = ("-terse", "-o", "/dev/null", "-j", "y", "-b", "y", "-N", "crowd")
    job = (await do("qsub", "-t", "1-32", *options, "sleep", "999")).split(".")[0]
    running = partial(bed.run, "qstat", "-s", "r")
    row = re.compile(rf"^ *{job} .* r ", re.MULTILINE)
    await asyncio.to_thread(until, lambda: len(row.findall(running())) == 32)
    try:
        yield
    finally:
        await do("qdel", job)


def queue(bed: Bed, master_id: str) -> Sequence[str]:
    return [line for line in bed.run("qstat", "-xml", "-u", "*").splitlines() if master_id in line]


class TestSge(BackendContract):
    lacking = frozenset({Feature.PREEMPTION})

    @pytest.fixture
    def bench(self, sge_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
        sge_bed.enter(monkeypatch)
        jobs = Offering(ClusterName("grid"), NOTHING, 3600.0, 9, backend="sge")
        site = Site(f"m{tmp_path.name}", str(tmp_path), WORKER)
        return Bench(
            offering=jobs,
            site=site,
            crash=partial(pull_the_plug, sge_bed),
            broken=(replace(jobs, settings={"queue": "nowhere.q"}), site),
            crowded=partial(all_slots_taken, sge_bed),
            leftovers=partial(asyncio.to_thread, queue, sge_bed, site.master_id),
        )

    async def test_a_time_limit_and_a_foreign_delete_are_told_apart(
        self, bench: Bench, sge_bed: Bed
    ) -> None:
        limited = replace(bench.offering, settings={"time_limit": "3"})
        site = replace(bench.site, master_id=f"{bench.site.master_id}.limited")
        async with bench.tried() as (backend, master), opened(limited, site) as short:
            late, hated = master.ticket(), master.ticket()
            await short.start([late])
            await backend.start([hated])
            await master.joined(hated.machine, bench.patience_seconds)
            seen = await becomes(backend, [hated.machine], State.UP, 60)
            await asyncio.to_thread(sge_bed.run, "qdel", job_of(seen[hated.machine]))
            seen = await becomes(backend, [hated.machine], State.GONE, 60)
            assert seen[hated.machine].gone is Gone.FAILED
            seen = await becomes(short, [late.machine], State.GONE, 60)
            assert (seen[late.machine].gone, seen[late.machine].detail) == (
                Gone.EXPIRED,
                "its job reached its time limit",
            )

    async def test_a_job_that_cannot_be_started_is_explained_and_taken_back(
        self, bench: Bench, sge_bed: Bed
    ) -> None:
        wrong = replace(bench.offering, settings={"directives": ["#$ -wd /no/such/folder"]})
        async with bench.tried() as (_, master), opened(wrong, bench.site) as backend:
            ticket = master.ticket()
            await backend.start([ticket])
            seen = await becomes(backend, [ticket.machine], State.GONE, 60)
            assert seen[ticket.machine].gone is Gone.FAILED
            assert "/no/such/folder" in seen[ticket.machine].detail
            await eventually(
                partial(asyncio.to_thread, queue, sge_bed, bench.site.master_id),
                lambda left: not left,
                10,
                "the job was taken back",
            )

    async def test_a_node_that_goes_down_is_told_from_a_worker_that_broke(
        self, bench: Bench, sge_bed: Bed
    ) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, bench.patience_seconds)
            seen = await becomes(backend, [ticket.machine], State.UP, 60)
            execd = sge_bed.state / "spool/execd/localhost/execd.pid"
            await asyncio.to_thread(sge_bed.run, "kill", "-KILL", execd.read_text().strip())
            await pull_the_plug(sge_bed, ticket.machine, seen[ticket.machine])
            try:
                seen = await becomes(backend, [ticket.machine], State.GONE, 90)
            finally:
                await asyncio.to_thread(sge_bed.heal)
            assert seen[ticket.machine].gone is Gone.FAILED
            assert "answers Grid Engine no more" in seen[ticket.machine].detail

    async def test_a_machine_of_several_slots_gets_them_on_one_host(
        self, bench: Bench, sge_bed: Bed
    ) -> None:
        wide = replace(bench.offering, slots=4, settings={"memory": "8G"})
        async with bench.tried() as (_, master), opened(wide, bench.site) as backend:
            assert isinstance(backend, Sge)
            assert "#$ -pe smp 4\n#$ -l h_vmem=8G\n" in backend.script()
            ticket = master.ticket(slots=4)
            await backend.start([ticket])
            await master.joined(ticket.machine, bench.patience_seconds)
            assert "<slots>4</slots>" in await asyncio.to_thread(sge_bed.run, "qstat", "-xml")
        with pytest.raises(UsageError, match="parallel_environment"):
            Sge(replace(wide, settings={"parallel_environment": ""}), bench.site)

    async def test_what_grid_engine_says_no_to_is_told_in_its_words(self, bench: Bench) -> None:
        for settings, words in (
            ({"queue": "nowhere.q"}, 'unknown queue "nowhere.q"'),
            ({"directives": ["#$ -l arch=pdp11"]}, "arch=pdp11"),
            ({"project": "moon"}, "moon"),
        ):
            async with opened(replace(bench.offering, settings=settings), bench.site) as backend:
                with pytest.raises(RefusedError, match=words):
                    await backend.check()
