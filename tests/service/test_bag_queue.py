"""Bags that wait and bags that run, whatever happens to the others."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.around_bags import Fleet, Store, Workers, ten_tasks
from helpers.service import over, sweep

from bats.common.errors import StoreDamagedError, UsageError
from bats.common.messages import BagId
from bats.master.bag import Bag, Standing
from bats.master.bag_states import BROKEN, HELD, PAUSED, QUEUED, RUNNING
from bats.master.brain.protocol.events import (
    Cancelled,
    Cause,
    Event,
    Resumed,
    Retried,
    Suspended,
)
from bats.master.client import Client
from bats.master.service.bags.queue import Bags
from bats.master.service.bags.runner import Runner
from bats.master.service.master import Master
from bats.master.service.options import Options


class Bench:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.store, self.workers, self.fleet = Store(), Workers(), Fleet()
        self.bags = Bags(Options(state=folder), self.store, self.workers, self.fleet, None, None)

    def submit(self, number: int, state: str = QUEUED, **more: Any) -> Bag:
        bag = ten_tasks(BagId(number), self._folder, state=state, **more)
        self.bags.submit(bag)
        self.store.commit()
        return bag

    def end(self, bag: Bag) -> None:
        """By its user, and its machines go."""
        self.tell(bag, Cancelled("enough"))
        self.lose_machines(bag)

    def tell(self, bag: Bag, event: Event) -> None:
        self.bags.happen(self.bags.loaded[bag.id], event)
        self.store.commit()

    def lose_machines(self, bag: Bag) -> None:
        runner = self.bags.loaded[bag.id]
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


async def test_a_bag_that_is_to_come_after_others_begins_when_the_last_of_them_has_ended(
    bench: Bench,
):
    first, second = bench.submit(1), bench.submit(2)
    later = bench.submit(3, standing=Standing(after=(first.id, second.id)))
    assert bench.bags.waits_for(later) == [first.id, second.id]
    bench.end(first)
    assert (later.state, bench.bags.waits_for(later)) == (QUEUED, [second.id])
    bench.end(second)
    assert (later.state, bench.bags.waits_for(later)) == (RUNNING, [])


async def test_a_paused_bag_is_laid_aside_with_its_last_machine_and_taken_up_again(bench: Bench):
    bag = bench.submit(1)
    bench.tell(bag, Suspended("its user wants to look at it"))
    assert list(bench.bags.running) == [1]  # its machines are still to be paid
    bench.lose_machines(bag)
    assert (bag.state, list(bench.bags.running)) == (PAUSED, [])
    asked = len(bench.fleet.started)
    bench.tell(bag, Resumed())
    assert (bag.state, list(bench.bags.running)) == (RUNNING, [1])
    assert len(bench.fleet.started) > asked


async def test_a_bag_whose_journal_cannot_be_read_is_broken_and_holds_nobody_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    async def damaged(_: BagId) -> Runner:
        raise StoreDamagedError("event 5 is damaged")

    ended, other = bench.submit(1), bench.submit(2)
    bench.end(ended)
    runner = bench.bags.loaded[ended.id]
    bench.end(other)
    bench.submit(3)  # one more begins, so that those that have ended are forgotten
    monkeypatch.setattr(bench.bags, "load", damaged)
    bench.bags.happen(runner, Retried(()))
    bench.store.commit()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (ended.state, ended.words) == (BROKEN, "event 5 is damaged")
    assert list(bench.bags.running) == [3]


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


async def test_a_bag_that_has_ended_and_is_asked_about_again_holds_nobody_up(
    client: Client, master: Master
) -> None:
    ended = (await client.ask("submit", sweep=sweep(1)))["bag"]
    await over(client, ended)
    other = (await client.ask("submit", sweep=sweep(1)))["bag"]
    await over(client, other)  # the first is not in memory any more
    with pytest.raises(UsageError, match="no failed task"):
        await client.ask("retry", bag=ended)
    later = (await client.ask("submit", sweep=sweep(1), after=[ended]))["bag"]
    assert (await over(client, later, 20))["state"] == "complete"
    assert not master.bags.known
