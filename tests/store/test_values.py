"""Values of a few tasks stand for all, whatever goes round in their sweep."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bats.common.messages import BagId, Outcome, Result
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow
from bats.master.store.store import Store


@pytest.fixture
async def reader(
    folder: Path, finished: Callable[..., Result], bag_row: Callable[..., BagRow]
) -> Reader:
    store = Store(folder, "1.0")
    store.bag(bag_row(3, tasks=4000))
    store.results([finished(3, task, excerpt=f"seed={task % 10}") for task in range(4000)])
    await store.close()
    return Reader(folder)


@pytest.mark.parametrize("most", [200, 400, 1000])
async def test_each_value_of_a_parameter_is_chosen_about_as_often(reader: Reader, most: int):
    found = Counter(told["seed"] for _, told in reader.values(BagId(3), most))
    assert found.total() == pytest.approx(most, rel=0.1)
    assert len(found) == 10
    assert min(found.values()) > 0.6 * most / 10


async def test_all_are_chosen_where_they_are_few(reader: Reader):
    assert [task for task, _ in reader.values(BagId(3), 4000)] == list(range(4000))
    assert len(reader.values(BagId(3), 9000)) == 4000


async def test_those_that_failed_tell_nothing(
    folder: Path, finished: Callable[..., Result], bag_row: Callable[..., BagRow]
):
    store = Store(folder, "1.0")
    store.bag(bag_row(1, tasks=1))
    store.results([finished(1, 0, 1, Outcome.FAILED, excerpt="seed=1")])
    await store.close()
    assert Reader(folder).values(BagId(1), 10) == []
