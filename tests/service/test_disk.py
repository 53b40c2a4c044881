"""The master's disk has a reserve: below it what runs is finished and nothing is begun."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from helpers.service import becomes, eventually, free, over, sweep
from helpers.workers import end_workers

from bats.common.errors import BatsError, UsageError
from bats.common.units import octets, show_octets
from bats.master.client import connect
from bats.master.service.disk import Disks
from bats.master.service.master import serving
from bats.master.service.options import Options
from bats.master.store.blobs import Blobs

MB = 1 << 20


class Disk:
    """A disk whose space is said."""

    def __init__(self, free: int, total: int = 1000 * MB) -> None:
        self.free, self.total = free, total

    def __call__(self, _: Path) -> tuple[int, int]:
        return self.total, self.free


def test_a_small_disk_keeps_a_twentieth_and_a_large_one_a_gigabyte(tmp_path: Path) -> None:
    disk = Disk(51 * MB)
    disks = Disks((tmp_path,), usage=disk)
    assert not disks.look()
    disk.free = 49 * MB
    assert disks.look()
    assert "has 49 MB left; the master keeps 50 MB" in disks.low
    disk.free = 51 * MB
    assert not disks.look(), "it does not come and go"
    disk.free = 63 * MB
    assert disks.look()
    assert not disks.low
    large = Disk(1025 * MB, 10**15)
    assert not Disks((tmp_path,), usage=large).look()
    large.free = 1023 * MB
    assert Disks((tmp_path,), usage=large).look()


def test_no_file_takes_the_room_that_results_need(tmp_path: Path) -> None:
    disks = Disks((tmp_path,), usage=Disk(40 * MB))
    disks.check_room(tmp_path, 15 * MB)
    with pytest.raises(OSError, match="no room for results"):
        disks.check_room(tmp_path, 16 * MB)


@pytest.mark.parametrize("size", [0, 1023, 64 << 10, 3 << 29, 5 << 40])
def test_a_size_is_shown_as_it_may_be_written(size: int) -> None:
    assert octets(show_octets(size)) == pytest.approx(size, rel=0.01)


async def test_below_the_reserve_what_runs_is_finished_and_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bats.master.service.master._DISK_SECONDS", 0.05)
    options = Options(state=tmp_path / "state", offerings=(free(slots=1),))
    async with serving(options) as master, connect(master.access) as client:
        work = sweep(4, "until [ -e go ]; do sleep 0.05; done", cwd=str(tmp_path))
        bag = (await client.ask("submit", sweep=work))["bag"]
        await becomes(client, bag, lambda status: status["running"] > 0)
        disk = Disk(10 * MB)
        monkeypatch.setattr(master.disks, "_usage", disk)
        await eventually(lambda: master.disks.low)
        (tmp_path / "go").touch()
        status = await becomes(client, bag, lambda status: status["done"] > 0)
        assert "begins nothing new" in status["trouble"]
        engine = master.bags.running[bag].engine
        assert "has 10 MB left" in engine.hampered
        with pytest.raises(UsageError, match="10 MB left"):
            await client.ask("submit", sweep=sweep(1))
        await asyncio.sleep(0.5)
        assert (await client.ask("status", bag=bag))["done"] < 4
        disk.free = 500 * MB
        await eventually(lambda: not engine.hampered)
        assert (await over(client, bag))["done"] == 4
    end_workers(tmp_path)


async def test_a_change_that_cannot_be_written_is_answered_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bats.master.service.master._WRITING_SECONDS", 0.2)
    options = Options(state=tmp_path / "state", offerings=(free(),))
    async with serving(options) as master, connect(master.access) as client:
        bag = (await client.ask("submit", sweep=sweep(1, "sleep 600")))["bag"]
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with monkeypatch.context() as full:
            full.setattr(master.store, "committed", lambda: never)
            for verb, body in (("submit", {"sweep": sweep(1)}), ("weigh", {"bag": bag})):
                with pytest.raises(BatsError, match="could not be written down yet"):
                    await client.ask(verb, **body)
    end_workers(tmp_path)


@pytest.mark.parametrize(
    ("caps", "what"),
    [({"task_files_bytes": 999_999}, "task"), ({"bag_files_bytes": 1_500_000}, "bag")],
)
async def test_output_files_are_capped_and_the_task_says_so(
    tmp_path: Path, caps: dict[str, int], what: str
) -> None:
    options = Options(state=tmp_path / "state", offerings=(free(),), **caps)
    async with serving(options) as master, connect(master.access) as client:
        work = sweep(
            2, "head -c 1000000 /dev/zero | tr '\\0' {x} > big", outputs=("big",), retries=0
        )
        bag = (await client.ask("submit", sweep=work))["bag"]
        status = await over(client, bag)
        assert status["failed"] == (2 if what == "task" else 1)
        (kind,) = (await client.ask("failures", bag=bag))["failures"]
        assert f"of its {what}, and this master takes" in kind["why"]
        assert f"--{what}-files" in kind["why"]
    end_workers(tmp_path)


def test_what_never_became_whole_is_collected(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    for old, sha256 in ((False, "a" * 64), (True, "b" * 64)):
        blobs.receive(sha256, 0, 100, b"part")
        if old:
            long_ago = time.time() - 100_000
            os.utime(blobs._part(sha256), (long_ago, long_ago))
    assert blobs.drop_leftovers() == 4
    assert (blobs.received("a" * 64), blobs.received("b" * 64)) == (4, 0)
    blobs.drop_part("a" * 64)
    assert blobs.received("a" * 64) == 0
