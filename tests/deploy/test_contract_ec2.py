"""Instances behind the real AWS SDK keep the contract; each boots and runs its user data."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import boto3
import pytest
from helpers.beds import Bed, kill_marked

from bats.common.errors import UsageError
from bats.common.messages import MachineId, Outcome
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.deploy.ec2.ec2 import Ec2
from bats.deploy.endpoint import Endpoint
from bats.deploy.protocol import BusyError, Feature, Gone, RefusedError, Sighting, Site, State
from bats.deploy.testing import BackendContract, Bench, becomes, opened

WORKER = (sys.executable, "-m", "bats.worker")
pytestmark = pytest.mark.backend("ec2")

LENGTHEN = r"""
above() { sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$1/stat; }
guardian=$(above $PPID) first=$(above $guardian)
kill -STOP $first $guardian $PPID
for file in $(tr '\0' '\n' </proc/$PPID/cmdline | grep ^/tmp) \
    /proc/$PPID/fd/* /proc/$guardian/fd/* /proc/$first/fd/*
do
    (timeout .2 sh -c 'echo 4000000000 >"$0"' $file) 2>/dev/null
done
""".replace("{", "{{").replace("}", "}}")
"""A task that freezes its worker and writes a late end of the lease wherever it may."""


def folder_of(bed: Bed, seen: Sighting) -> Path:
    return bed.state / "i" / seen.address.split()[0]


async def kill_the_worker(bed: Bed, _: MachineId, seen: Sighting) -> None:
    mark = f"EC2_BED_MACHINE={folder_of(bed, seen)}"
    await asyncio.to_thread(kill_marked, mark, command="bats.worker")


async def interrupt(bed: Bed, _: MachineId, seen: Sighting) -> None:
    (folder_of(bed, seen) / "interrupt").write_text("1")


def living(master_id: str) -> Sequence[str]:
    pages = (
        boto3.client("ec2")
        .get_paginator("describe_instances")
        .paginate(
            Filters=[
                {"Name": "tag:bats:master", "Values": [master_id]},
                {"Name": "instance-state-name", "Values": ["pending", "running", "stopping"]},
            ]
        )
    )
    return [i["InstanceId"] for p in pages for r in p["Reservations"] for i in r["Instances"]]


def offering(bed: Bed, **settings: object) -> Offering:
    given = {
        "image": bed.environment["BATS_EC2_AMI"],
        "instance_type": "t3.large",
        "worker": list(WORKER),
        **settings,
    }
    price, hour = money("0.08"), 3600.0
    return Offering(ClusterName("cloud"), price, hour, 9, backend="ec2", settings=given)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(f"{tmp_path.name}-{time.time_ns():x}", str(tmp_path), WORKER)


class TestEc2(BackendContract):
    lacking = frozenset({Feature.QUEUE})

    @pytest.fixture
    def bench(self, ec2_bed: Bed, site: Site, monkeypatch: pytest.MonkeyPatch) -> Bench:
        ec2_bed.enter(monkeypatch)
        return Bench(
            offering=offering(ec2_bed, spot=True),
            site=site,
            crash=partial(kill_the_worker, ec2_bed),
            broken=(offering(ec2_bed, setup=["echo no such disk >&2", "false"]), site),
            preempt=partial(interrupt, ec2_bed),
            leftovers=partial(asyncio.to_thread, living, site.master_id),
            patience_seconds=60,
        )


class TestEc2Machines(BackendContract):
    """Instances with addresses and file systems of their own, which fetch the worker from S3."""

    lacking = frozenset({Feature.PREEMPTION, Feature.QUEUE})

    @pytest.fixture
    def bench(self, ec2_netns_bed: Bed, site: Site, monkeypatch: pytest.MonkeyPatch) -> Bench:
        ec2_netns_bed.enter(monkeypatch)
        gateway = ec2_netns_bed.environment["BATS_EC2_GATEWAY"]
        endpoint = ec2_netns_bed.environment["AWS_ENDPOINT_URL"].replace("127.0.0.1", gateway)
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)  # as the instances see it, too
        boto3.client("s3").create_bucket(Bucket="payloads")
        return Bench(
            offering=offering(ec2_netns_bed, worker=[], bucket="payloads"),
            site=site,
            crash=partial(kill_the_worker, ec2_netns_bed),
            reach=gateway,
            broken=(offering(ec2_netns_bed, image="ami-00000000"), site),
            leftovers=partial(asyncio.to_thread, living, site.master_id),
            lease_seconds=15,
            patience_seconds=60,
        )

    async def test_tasks_run_as_a_user_without_rights(self, bench: Bench) -> None:
        without = "^NoNewPrivs:[[:space:]]*1"
        async with bench.tried() as (backend, master):
            machine = await self._one_up(bench, backend, master)
            looks = f"id -un; ! cat /root/user-data && grep '{without}' /proc/self/status"
            told = await master.run(machine, looks, 60)
            assert told.outcome is Outcome.DONE, told.excerpt
            told = await master.run(machine, "test $(id -un) = bats && test -w $HOME", 60)
            assert told.outcome is Outcome.DONE, told.excerpt


@pytest.fixture
def cloud(ec2_bed: Bed, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    ec2_bed.enter(monkeypatch)
    yield ec2_bed
    for name in ("faults.json", "prices.json"):
        (ec2_bed.state / name).unlink(missing_ok=True)


class TestTheRest:
    @pytest.fixture
    def bench(self, cloud: Bed, site: Site) -> Bench:
        return Bench(offering(cloud), site, crash=partial(kill_the_worker, cloud))

    async def test_what_passes_is_told_from_what_does_not(self, bench: Bench, cloud: Bed) -> None:
        for code, kind in (
            ("InsufficientInstanceCapacity", BusyError),
            ("RequestLimitExceeded", BusyError),
            ("UnauthorizedOperation", RefusedError),
        ):
            fault = {"action": "RunInstances", "code": code, "times": 9}
            (cloud.state / "faults.json").write_text(json.dumps([fault]))
            async with bench.tried() as (backend, master):
                with pytest.raises(kind, match=code):
                    await backend.start([master.ticket()])

    async def test_what_can_be_had_is_taken_and_the_rest_is_told(
        self, bench: Bench, cloud: Bed
    ) -> None:
        fault = {"action": "RunInstances", "code": "InstanceLimitExceeded", "times": 1}
        (cloud.state / "faults.json").write_text(json.dumps([fault]))
        async with bench.tried() as (backend, master):
            tickets = [master.ticket() for _ in range(3)]
            seen = (await backend.start(tickets)).values()
            assert sorted(one.state.value for one in seen) == ["gone", "requested", "requested"]

    async def test_the_price_is_looked_up_and_compared(self, bench: Bench, cloud: Bed) -> None:
        (cloud.state / "prices.json").write_text('{"t3.large": {"ondemand": 0.1, "spot": 0.03}}')
        async with opened(bench.offering, bench.site) as backend:
            assert isinstance(backend, Ec2)
            found = await backend.price()
            assert (found.per_hour, found.day) == (money("0.1"), datetime.now(UTC).date())
            sentence = await backend.check()
            assert "costs $0.1000 per hour" in sentence
            assert "the offering says $0.0800" in sentence
        async with opened(offering(cloud, spot=True), bench.site) as backend:
            assert isinstance(backend, Ec2)
            assert (await backend.price()).per_hour == money("0.03")

    async def test_a_spot_instance_is_said_to_end_before_it_is_taken_away(
        self, bench: Bench, cloud: Bed
    ) -> None:
        async with (
            bench.tried() as (_, master),
            opened(offering(cloud, spot=True, max_spot_price="0.05"), bench.site) as backend,
        ):
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, 60)
            seen = await becomes(backend, [ticket.machine], State.UP, 60)
            (folder_of(cloud, seen[ticket.machine]) / "interrupt").write_text("30")
            await becomes(backend, [ticket.machine], State.STOPPING, 60)
            assert "SIGTERM" in await master.left(ticket.machine, 60)  # in order, and in time

    async def test_an_instance_whose_set_up_fails_says_so_and_costs_no_more(
        self, bench: Bench, cloud: Bed
    ) -> None:
        broken = offering(cloud, setup=["echo the disk is full >&2", "false", "echo never"])
        async with bench.tried() as (_, master), opened(broken, bench.site) as backend:
            ticket = master.ticket()
            await backend.start([ticket])
            seen = await becomes(backend, [ticket.machine], State.GONE, 60)
            assert seen[ticket.machine].gone is Gone.FAILED
            assert "the disk is full" in seen[ticket.machine].detail
            assert "never" not in seen[ticket.machine].detail

    async def test_a_machine_that_never_gets_ready_shuts_down_with_its_first_lease(
        self, bench: Bench, cloud: Bed
    ) -> None:
        stuck = offering(cloud, setup=["sleep 999"])
        async with bench.tried() as (_, master), opened(stuck, bench.site) as backend:
            ticket = master.ticket(lease_seconds=2)
            await backend.start([ticket])
            await becomes(backend, [ticket.machine], State.GONE, 60)

    async def test_an_instance_tells_about_itself_to_who_has_a_token_alone(
        self, bench: Bench, cloud: Bed
    ) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            seen = (await backend.start([ticket]))[ticket.machine]
            instance = seen.address.split()[0]
            told = boto3.client("ec2").describe_instances(InstanceIds=[instance])
            options = told["Reservations"][0]["Instances"][0]["MetadataOptions"]
            assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 1)

    async def test_a_frozen_worker_is_powered_off_when_its_lease_is_over_whatever_its_task_writes(
        self, bench: Bench, cloud: Bed
    ) -> None:
        async with Endpoint(lease_seconds=4) as master, bench.backend() as backend:
            ticket = master.ticket(lease_seconds=10)
            await backend.start([ticket])
            await master.joined(ticket.machine, 60)
            await asyncio.sleep(12)
            seen = (await backend.status([ticket.machine]))[ticket.machine]
            assert seen.state is State.UP, "past its first lease"
            told = asyncio.ensure_future(master.run(ticket.machine, LENGTHEN, 60))
            await becomes(backend, [ticket.machine], State.GONE, 40)
            assert not told.done()
            told.cancel()

    async def test_a_ticket_read_from_the_user_data_opens_nothing(
        self, bench: Bench, cloud: Bed
    ) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, 60)
            seen = (await backend.status([ticket.machine]))[ticket.machine]
            data = (folder_of(cloud, seen) / "user-data").read_text()
            assert ticket.secret_key in data
            assert '"single_use": true' in data

    async def test_without_credentials_or_region_a_sentence_says_what_to_do(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        async with opened(bench.offering, bench.site) as backend:
            with pytest.raises(RefusedError, match="no AWS credentials here; run `aws configure`"):
                await backend.check()
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        async with opened(bench.offering, bench.site) as backend:
            with pytest.raises(RefusedError, match="set `region`"):
                await backend.check()

    def test_the_table_must_say_how_instances_get_the_worker(self, bench: Bench) -> None:
        settings = {"image": "ami-1", "instance_type": "t3.large"}
        with pytest.raises(UsageError, match="say how instances get the worker"):
            Ec2(replace(bench.offering, settings=settings), bench.site)
