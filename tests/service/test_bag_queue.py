"""Bags that wait and bags that run, whatever happens to the others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.around_bags import Fleet, Store, Workers, ten_tasks

from bats.common.messages import BagId
from bats.master.bag import BROKEN, HELD, QUEUED, RUNNING, Bag
from bats.master.brain.protocol.events import Cancelled, Cause
from bats.master.service.bags.queue import Bags
from bats.master.service.options import Options


class Bench:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.store, self.workers, self.fleet = Store(), Workers(), Fleet()
        self.bags = Bags(Options(state=folder), self.store, self.workers, self.fleet, None, None)

    def submit(self, number: int, state: str = QUEUED) -> Bag:
        bag = ten_tasks(BagId(number), self._folder, state=state)
        self.bags.submit(bag)
        self.store.commit()
        return bag

    def end(self, bag: Bag) -> None:
        """By its user, and its machines go."""
        runner = self.bags.loaded[bag.id]
        self.bags.happen(runner, Cancelled("enough"))
        for known in runner.engine.alive():
            runner.machines.gone(known.id, None, Cause.STOPPED, "told to")
        self.store.commit()


@pytest.fixture
async def bench(tmp_path: Path) -> "Iterator[Bench]":
    made = Bench(tmp_path)
    yield made
    made.bags.close()


async def test_a_bag_begins_when_it_is_durable_and_not_before(bench: Bench):
    bag = ten_tasks(BagId(1), Path())
    bench.bags.submit(bag)
    assert (bag.state, bench.bags.running) == (QUEUED, {})
    bench.store.commit()
    assert bag.state == RUNNING
    assert bench.fleet.started


async def test_bags_run_side_by_side_and_end_one_by_one(bench: Bench):
    first, third, second = bench.submit(1), bench.submit(3), bench.submit(2)
    assert list(bench.bags.running) == [1, 2, 3]
    bench.end(first)
    assert (first.state, second.state, third.state) == ("cancelled", RUNNING, RUNNING)
    assert list(bench.bags.running) == [2, 3]


async def test_a_held_bag_keeps_nobody_waiting_and_begins_when_it_is_released(bench: Bench):
    held, other = bench.submit(1, HELD), bench.submit(2)
    assert (held.state, other.state) == (HELD, RUNNING)
    bench.bags.release(held)
    bench.end(other)
    assert held.state == RUNNING


async def test_a_bag_cancelled_while_it_is_held_never_begins(bench: Bench):
    held = bench.submit(1, HELD)
    bench.bags.cancel_unbegun(held, "a mistake")
    assert (held.state, held.began, held.words) == ("cancelled", None, "a mistake")
    assert list(bench.bags.running) == []


async def test_a_bag_broken_by_a_bug_stops_its_machines_and_no_other_bag(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    first, second = bench.submit(1), bench.submit(2)
    runner = bench.bags.loaded[first.id]
    machines = set(runner.machines.rows)

    def stumble(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(runner.engine, "handle", stumble)
    bench.bags.happen(runner, Cancelled("enough"))
    bench.store.commit()
    assert (first.state, first.words) == (BROKEN, "ZeroDivisionError: by nought")
    assert {machine for machine, _ in bench.fleet.stopped} == machines
    assert second.state == RUNNING
