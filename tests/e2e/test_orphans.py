"""Jobs of a real Slurm that are in no master's books are told of, stopped, or taken back."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.beds import Bed
from helpers.user import User
from helpers.waiting import until

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.deploy.batch import jobs as batch
from bats.deploy.testing import eventually
from bats.master.client import Client, connect
from bats.master.service.master import serving
from bats.master.service.options import Options
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep

pytestmark = pytest.mark.backend("slurm")
NAME = "stray.jobs"  # in the jobs' names, so that they are told from other tests'
CLOUDS = f"""
currency = "core-hours"
[[offering]]
name = "{NAME}"
price = 1
atu = "minute"
max = 1
[offering.slurm]
"""


def jobs(bed: Bed) -> list[str]:
    listed = bed.run("squeue", "-h", "-r", "-o", "%T %j").splitlines()
    return [line.split()[0] for line in listed if NAME in line]


def test_what_a_killed_run_left_in_slurm_is_told_and_stopped_without_a_master(
    user: User, slurm_bed: Bed
) -> None:
    user.environment |= slurm_bed.environment
    clouds = user.write("c.toml", CLOUDS)
    with user.started(
        "run", "--array", "1-3", "--clouds", clouds, "--yes", "--", "sleep 600"
    ) as it:
        until(lambda: jobs(slurm_bed) == ["RUNNING"], 90)
        it.send_signal(signal.SIGKILL)
        it.communicate()
    told = user.bats("machines").stdout
    assert "1 machine in no bag's books" in told
    assert "no master runs" in told
    (orphan,) = user.facts("machines")["orphans"]
    assert orphan["address"].startswith("job ")
    assert float(orphan["cost"]) > 0
    done = user.bats("machines", "--adopt-orphans", exit_code=4)
    assert "bats master" in done.stderr
    assert "stopped" in user.bats("machines", "--stop-orphans").stdout
    until(lambda: not jobs(slurm_bed), 60)
    assert "No machine is in no bag's books" in user.bats("machines", "--stop-orphans").stdout


@asynccontextmanager
async def served(state: Path) -> AsyncIterator[Client]:
    jobs = Offering(
        ClusterName(NAME), money("0.1"), 600.0, 1, boundary_seconds=20.0, backend="slurm"
    )
    options = Options(state=state, offerings=(jobs,), poll_seconds=0.5)
    async with serving(options) as master, connect(master.access) as client:
        yield client


async def test_a_job_that_slurm_had_lost_sight_of_is_taken_back_and_works(
    slurm_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm_bed.enter(monkeypatch)
    monkeypatch.setattr(batch, "FORGOTTEN_SECONDS", 0.5)
    blind = tmp_path / "blind"
    blind.mkdir()
    gate = tmp_path / "gate"
    space = Space((Axis(("x",), (Listed(map(str, range(5))),)),))
    work = Sweep(space, command=f"until [ -e '{gate}' ]; do sleep 0.1; done").to_plain()
    async with served(tmp_path / "state") as client:
        bag = (await client.ask("submit", sweep=work, rule="fastest", budget=money(1)))["bag"]

        async def machines() -> list[dict[str, Any]]:
            return list((await client.ask("machines", bag=bag))["machines"])

        async def first_is(state: str) -> dict[str, Any]:
            found = await eventually(
                machines, lambda all_: any(one["state"] == state for one in all_[:1]), 90, state
            )
            return found[0]

        first = await first_is("up")
        shim = blind / "squeue"
        shim.write_text("#!/bin/sh\n")  # as a controller answers that has forgotten
        shim.chmod(0o755)
        with monkeypatch.context() as blinded:
            blinded.setenv("PATH", str(blind), prepend=":")
            job = first["address"].split()[1]  # one whose worker speaks is not held to be lost
            await asyncio.to_thread(subprocess.run, ["scontrol", "suspend", job], check=True)
            assert "does not know its job" in (await first_is("gone"))["reason"]
        await asyncio.to_thread(subprocess.run, ["scontrol", "resume", job], check=True)
        answer = await eventually(
            partial(client.ask, "orphans", do="adopt"), lambda told: told["orphans"], 60, "listed"
        )
        found = [(one["number"], one["done"]) for one in answer["orphans"]]
        assert found == [(first["number"], "taken back")]
        assert (await first_is("up"))["number"] == first["number"]
        gate.touch()
        status = await eventually(
            partial(client.ask, "status", bag=bag), lambda told: told["over"], 120, "over"
        )
        assert (status["state"], status["done"]) == ("complete", 5)
        assert status["spent"] == sum(one["cost"] for one in await machines())
    await eventually(
        partial(asyncio.to_thread, jobs, slurm_bed), lambda left: not left, 60, "all have ended"
    )
