"""Old runs can be forgotten and give their space back; the others stay as they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.messages import BagId, MachineId, Result
from bats.master.store.prune import prune
from bats.master.store.repair.soundness import inspect
from bats.master.store.rows import BagRow, DecisionRow, MachineRow
from bats.master.store.store import Store

OLD, KEPT, RUNNING = BagId(1), BagId(2), BagId(3)


@pytest.fixture
async def store(
    folder: Path, finished: Callable[..., Result], bag_row: Callable[..., BagRow]
) -> Store:
    store = Store(folder, "1.0")
    for bag in (OLD, KEPT, RUNNING):
        store.bag(bag_row(bag, tasks=12_000, ended=None if bag == RUNNING else 9.0))
        for number in range(3000):
            store.journal(bag, 1.0, b"event %d" % number)
        store.results([finished(bag, task, excerpt="x" * 50) for task in range(12_000)])
        store.attempts([finished(bag, 1, 2)])
        store.decision(DecisionRow(bag, 1.0, "decided"))
        store.machine(MachineRow(MachineId(bag), bag, "small", "local"))
    store.hold(OLD, ["a" * 64, "b" * 64])
    store.hold(KEPT, ["b" * 64])
    await store.committed()
    return store


def size_of(folder: Path) -> int:
    return (folder / "store.db").stat().st_size


def assert_only_the_old_bag_is_gone(folder: Path) -> None:
    findings = inspect(folder)
    assert findings.sound
    assert [(b.bag, b.results, b.events) for b in findings.readable] == [
        (KEPT, 12_000, 3000),
        (RUNNING, 12_000, 3000),
    ]


async def test_a_living_master_forgets_a_bag_between_its_commits(folder: Path, store: Store):
    await store.close()
    size = size_of(folder)
    store = Store(folder, "1.0")
    pruning = store.prune(OLD)
    store.journal(RUNNING, 2.0, b"goes on")
    assert await pruning == ["a" * 64]
    store.journal(RUNNING, 2.0, b"and on")
    await store.committed()
    with store.reader() as reader:
        assert [row.id for row in reader.bags()] == [KEPT, RUNNING]
        assert len(list(reader.events(RUNNING))) == 3002
        assert reader.tasks(OLD).total == 0
        assert list(reader.events(OLD)) == []
        assert reader.decisions(OLD) == []
        assert reader.story(OLD, 1) == []
        assert [row.bag for row in reader.machines()] == [KEPT, RUNNING]
    await store.close()
    assert inspect(folder).sound
    assert size_of(folder) < 0.75 * size


async def test_without_a_master_bags_are_forgotten_as_well(folder: Path, store: Store):
    with pytest.raises(UsageError, match="Another master"):
        prune(folder, [OLD], "1.0")
    await store.close()
    size = size_of(folder)
    assert prune(folder, [OLD], "1.0") == ["a" * 64]
    assert size_of(folder) < 0.75 * size
    assert_only_the_old_bag_is_gone(folder)


async def test_a_bag_that_runs_or_is_not_there_is_not_pruned(store: Store):
    with pytest.raises(UsageError, match="Bag 3 has not ended; cancel it"):
        await store.prune(RUNNING)
    with pytest.raises(UsageError, match="no bag 9"):
        await store.prune(BagId(9))
    await store.close()
