"""Hosts behind a real sshd keep the contract; the worker is copied there by the first start."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from helpers.beds import Bed

from bats.common.messages import MachineId
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.protocol import Feature, Sighting, Site
from bats.deploy.testing import BackendContract, Bench

WORKER = (sys.executable, "-m", "bats.worker")
pytestmark = pytest.mark.backend("ssh")


def ssh(bed: Bed, host: str, *command: str) -> str:
    return bed.run("ssh", "-F", bed.environment["BATS_SSH_CONFIG"], host, *command)


class TestSsh(BackendContract):
    lacking = frozenset({Feature.PREEMPTION, Feature.QUEUE})

    @pytest.fixture
    def bench(self, ssh_bed: Bed, tmp_path: Path) -> Bench:
        settings = {
            "hosts": ["h[1-3]"],
            "config": ssh_bed.environment["BATS_SSH_CONFIG"],
            "per_host": 3,
            "folder": f"{ssh_bed.state}/far",  # one for all three, as a home on a file server is
        }
        hosts = Offering(ClusterName("hosts"), NOTHING, 3600.0, 9, backend="ssh", settings=settings)
        site = Site(tmp_path.name, str(tmp_path), WORKER)
        unknown = replace(hosts, settings={**settings, "hosts": ["nowhere"]})
        return Bench(
            offering=hosts,
            site=site,
            crash=partial(kill_the_worker, ssh_bed),
            reach=ssh_bed.environment["BATS_SSH_GATEWAY"],
            broken=(unknown, site),
            leftovers=partial(asyncio.to_thread, processes, ssh_bed, site.master_id),
        )


async def kill_the_worker(bed: Bed, _: MachineId, seen: Sighting) -> None:
    host, pid = seen.address.split(", pid ")
    await asyncio.to_thread(ssh, bed, host, "kill", "-KILL", pid)


def processes(bed: Bed, master_id: str) -> Sequence[str]:
    """Those of this master on all hosts."""
    hosts = bed.environment["BATS_SSH_HOSTS"].split()
    listed = [line for host in hosts for line in ssh(bed, host, "ps", "-eo", "args").splitlines()]
    return [line for line in listed if f"machines/{master_id}/" in line]
