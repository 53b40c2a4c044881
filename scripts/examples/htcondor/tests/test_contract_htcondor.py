"""Jobs of a real HTCondor keep the contract that every back end keeps.

Run as a user who may submit jobs: `pip install . && pytest`.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bats.common.messages import MachineId
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.protocol import Sighting, Site
from bats.deploy.testing import BackendContract, Bench, eventually

WORKER = (sys.executable, "-m", "bats.worker")
CROWD = """\
executable = /bin/sleep
transfer_executable = false
arguments = 999
request_cpus = 8
queue
"""


def condor(*command: str, stdin: str = "") -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def pull_the_plug(_: MachineId, seen: Sighting) -> None:
    await asyncio.to_thread(kill_job, *seen.address.split()[1].split("."))


def kill_job(cluster: str, process: str) -> None:
    """All its processes: they name their scratch folder in their environment."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "environ").read_bytes().split(b"\0")
            mine = dict(word.partition(b"=")[::2] for word in words)
            told = Path(mine.get(b"_CONDOR_JOB_AD", b"/dev/null").decode()).read_text()
            if f"ClusterId = {cluster}\n" in told and f"ProcId = {process}\n" in told:
                os.kill(int(entry.name), signal.SIGKILL)


async def vacate(_: MachineId, seen: Sighting) -> None:
    await asyncio.to_thread(condor, "condor_vacate_job", "-fast", seen.address.split()[1])


@contextlib.asynccontextmanager
async def the_pool_is_full() -> AsyncIterator[None]:
    job = await asyncio.to_thread(condor, "condor_submit", "-terse", "-", stdin=CROWD)
    job = job.split(".")[0]
    running = partial(asyncio.to_thread, condor, "condor_q", job, "-af", "JobStatus")
    await eventually(running, lambda status: status == "2", 30, "the pool was full")
    try:
        yield
    finally:
        await asyncio.to_thread(condor, "condor_rm", job)


def queue(master_id: str) -> Sequence[str]:
    listed = condor("condor_q", "-af", "JobBatchName", "JobStatus").splitlines()
    return [line for line in listed if master_id in line]


class TestHTCondor(BackendContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        jobs = Offering(ClusterName("pool"), NOTHING, 3600.0, 8, backend="htcondor")
        site = Site(f"m{tmp_path.name}", str(tmp_path), WORKER)
        return Bench(
            offering=jobs,
            site=site,
            crash=pull_the_plug,
            broken=(replace(jobs, settings={"submit": ["universe = moon"]}), site),
            crowded=the_pool_is_full,
            preempt=vacate,
            leftovers=partial(asyncio.to_thread, queue, site.master_id),
        )
