"""A journal says which brain wrote it; another brain's books are compared before they are used."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.releases import Frozen, frozen
from helpers.service import KillableMaster, Make, becomes, free, over, sweep
from helpers.workers import end_workers

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.common.money import Money
from bats.master.bag import Bag, Books, read_bag
from bats.master.brain_version import brain_version
from bats.master.client import connect
from bats.master.queries.replay import OtherBrainError, Recorded, Replayed
from bats.master.service.master import serving
from bats.master.service.options import Options
from bats.master.store.reader import Reader
from bats.master.store.store import Store


def read(folder: Path) -> tuple[Bag, list[object], Recorded]:
    with Reader(folder) as reader:
        bag = read_bag(reader, BagId(1))
        return bag, list(reader.events(bag.id)), Recorded.of(bag, reader)


async def run_a_bag(folder: Path) -> None:
    options = Options(state=folder, offerings=(free(),))
    async with serving(options) as master, connect(master.access) as client:
        bag = (await client.ask("submit", sweep=sweep(20)))["bag"]
        await over(client, bag)
    end_workers(folder)


async def test_the_same_brain_comes_to_the_same_books(tmp_path: Path) -> None:
    await run_a_bag(tmp_path / "state")
    bag, events, recorded = read(tmp_path / "state")
    assert bag.books is not None
    assert bag.books.brain == brain_version()
    assert bag.books.events == len(events)
    assert Replayed.of(bag, events, recorded).agrees is True


async def test_a_brain_that_comes_to_other_books_goes_on_if_they_say_what_was_done(
    tmp_path: Path,
) -> None:
    await run_a_bag(tmp_path / "state")
    bag, events, recorded = read(tmp_path / "state")
    assert bag.books is not None
    bag.books = bag.books._replace(brain="another", digest="0" * 32)
    replayed = Replayed.of(bag, events, recorded)
    assert replayed.agrees is False
    assert replayed.differs


@pytest.mark.parametrize(
    "false", [{"done": 19}, {"paid": Money(5)}], ids=["results are missing", "money is missing"]
)
async def test_books_that_are_false_are_refused_and_nothing_is_changed(
    tmp_path: Path, false: dict[str, object]
) -> None:
    await run_a_bag(tmp_path / "state")
    bag, events, recorded = read(tmp_path / "state")
    bag.books = Books("0.1.9+abc", len(events), "0" * 32)
    with pytest.raises(OtherBrainError, match=r"run by the scheduler 0\.1\.9\+abc.*20 tasks"):
        Replayed.of(bag, events, replace(recorded, **false))


async def test_a_refused_bag_is_left_to_the_release_that_knows_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    await run_a_bag(folder)
    bag, events, _ = read(folder)
    bag.state, bag.books = "running", Books("0.1.9+abc", len(events), "0" * 32)
    store = Store(folder, "1.0")
    store.bag_state(bag.id, bag.state, bag.summary({}))
    store._db.execute("DELETE FROM results WHERE id % 2 = 0")
    await store.close()
    async with serving(Options(state=folder, offerings=(free(),))) as master:
        assert master.bags.known == {}
        async with connect(master.access) as client:
            with pytest.raises(UsageError, match="go on with it under that release"):
                await client.ask("retry", bag=1)
            other = (await client.ask("submit", sweep=sweep(2)))["bag"]
            assert (await over(client, other))["done"] == 2
    assert read(folder)[0].state == "running"
    end_workers(tmp_path)


async def test_a_master_that_was_killed_comes_to_the_books_that_it_had(
    killable: Make, tmp_path: Path
) -> None:
    master: KillableMaster = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(20, "sleep 0.05")))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 4)
    master.kill()
    known, events, recorded = read(tmp_path / "state")
    assert known.books is not None, "from its beginning on"
    assert Replayed.of(known, events, recorded).agrees is True
    master.start()
    async with master.client() as client:
        await over(client, bag)
    known, events, recorded = read(tmp_path / "state")
    assert Replayed.of(known, events, recorded).agrees is True


@pytest.mark.parametrize("frozen_bag", frozen("running", "ended", "cancelled"), ids=str)
def test_a_journal_that_says_nothing_of_its_brain_is_taken_as_before(
    frozen_bag: Frozen, tmp_path: Path
) -> None:
    bag, events, recorded = read(frozen_bag.restore(tmp_path / "state"))
    assert bag.books is None
    assert Replayed.of(bag, events, recorded).agrees is None
