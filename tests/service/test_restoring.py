"""A copied store becomes a master of its own, and no master stops what its books do not tell of."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from helpers.service import eventually, free, over, sweep
from helpers.workers import end_workers

from bats.common.messages import MachineId
from bats.deploy.local import Local
from bats.deploy.protocol import Orphan, Site
from bats.master.client import connect
from bats.master.service.machines.orphans import Handling
from bats.master.service.master import serving
from bats.master.service.options import Options, place_of
from bats.master.store.store import Store

STRANGER = MachineId(1_000_077)  # as the master that was copied bought after the copy was made


class Shared(Local):
    """A provider that also lists a machine which stands in no books here."""

    def __init__(self, folder: Path) -> None:
        super().__init__(free(), Site("", str(folder), Options().worker_command))
        self.stopped: list[MachineId] = []
        self.listed = 0

    async def list_ours(self) -> Sequence[Orphan]:
        self.listed += 1
        return [*await super().list_ours(), Orphan(STRANGER, "here", "far away", 10.0)]

    async def stop(self, machines: Sequence[MachineId]) -> None:
        self.stopped += machines
        await super().stop([one for one in machines if one != STRANGER])


async def test_a_master_that_starts_tells_of_strays_and_leaves_them_alone(tmp_path: Path) -> None:
    provider = Shared(tmp_path / "state")
    options = Options(
        state=tmp_path / "state", offerings=(free(),), backends={place_of(free()): provider}
    )
    async with serving(options) as master, connect(master.access) as client:
        await eventually(lambda: provider.listed)
        bag = (await client.ask("submit", sweep=sweep(2)))["bag"]
        assert (await over(client, bag))["done"] == 2
        assert STRANGER not in provider.stopped
        found, _ = await master.fleet.orphans([free()], {}, Handling.LOOK)
        assert [one.number for one in found] == [STRANGER]
        await master.fleet.orphans([free()], {}, Handling.STOP)
        assert STRANGER in provider.stopped, "when its user says so"
    end_workers(tmp_path)


async def test_what_stands_in_the_books_of_a_bag_that_is_over_is_stopped(tmp_path: Path) -> None:
    provider = Shared(tmp_path / "state")
    options = Options(
        state=tmp_path / "state", offerings=(free(),), backends={place_of(free()): provider}
    )
    async with serving(options) as master:
        master.fleet.clean_up([free()], {}, {STRANGER})
        await eventually(lambda: STRANGER in provider.stopped)


async def test_a_copy_takes_an_identity_of_its_own_once(tmp_path: Path) -> None:
    original = Store(tmp_path / "one", "1.0")
    first = original.master_id
    await original.close()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    kept = ""
    for again in (False, True):
        copy = Store(tmp_path / "two", "1.0")
        assert copy.take_identity() is not again
        assert copy.master_id != first
        if again:
            assert copy.master_id == kept
        kept = copy.master_id
        await copy.close()
    shutil.copytree(tmp_path / "two", tmp_path / "three")
    third = Store(tmp_path / "three", "1.0")
    assert third.take_identity(), "a copy of a copy"
    assert third.master_id not in {first, kept}
    await third.close()
    original = Store(tmp_path / "one", "1.0")
    assert original.master_id == first
    await original.close()
