"""One bag as it is run: what is done at once, what only when it is durable, what is believed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.around_bags import Fleet, Store, Workers, surroundings, ten_tasks

from bats.common.capacity.resources import Resources
from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import money
from bats.master.bag_states import RUNNING
from bats.master.brain.protocol.events import Begin, Cancelled, Cause
from bats.master.queries.replay import UNHEARD_OF, Replayed
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.worker import Worker

BAG = BagId(1)


class Bench:
    """A bag of ten tasks on rented machines, all around it fake."""

    def __init__(self, folder: Path) -> None:
        self.store, self.workers, self.fleet = Store(), Workers(), Fleet()
        self.ended: list[Runner] = []
        self.broken: list[BaseException] = []
        bag = ten_tasks(BAG, folder, state=RUNNING, began=0.0)
        around = surroundings(
            self.store,
            self.workers,
            self.fleet,
            ended=self.ended.append,
            broke=lambda _, error: self.broken.append(error),
        )
        self.runner = Runner(bag, around, 0.0, Replayed.of(bag, (), UNHEARD_OF))
        self.runner.happen(Begin())

    def join(self) -> MachineId:
        """Its first machine is there."""
        self.store.commit()
        machine = self.fleet.started[0]
        self.runner.machines.charged(machine, 0.0, "host-7")
        self.runner.machines.joined(Worker(machine, b"", "first", Resources()))
        return machine

    def result(self, task: TaskId, attempt: int = 1, **more: Any) -> Result:
        plain = Result(BAG, task, attempt, Outcome.DONE, 0, 0.0, 0.0, 0.0, 0, 0, "", 0)
        return plain._replace(**more)


@pytest.fixture
async def bench(tmp_path: Path) -> "Iterator[Bench]":
    made = Bench(tmp_path)
    yield made
    made.runner.close()


async def test_machines_are_asked_for_when_the_decision_is_durable_and_not_before(bench: Bench):
    asked = [row.id for row in bench.store.all("machine")]
    assert asked
    assert bench.fleet.started == []
    bench.store.commit()
    assert bench.fleet.started == asked


async def test_orders_wait_until_they_are_durable_unless_tasks_are_short(
    bench: Bench,
):
    bench.join()
    assert bench.workers.given
    assert bench.workers.at_once is False


async def test_a_result_is_recorded_with_what_only_the_master_knows(bench: Bench):
    machine = bench.join()
    (task, attempt), *_ = bench.workers.given
    bench.runner.ended_tasks(machine, [bench.result(task, attempt)])
    ((kept,),) = bench.store.all("results")
    assert (kept.task, kept.machine, kept.cluster) == (task, machine, "rented")
    assert kept.started > 0


async def test_no_task_ran_longer_than_since_it_was_given(bench: Bench):
    machine = bench.join()
    (task, attempt), *_ = bench.workers.given
    bench.runner.ended_tasks(machine, [bench.result(task, attempt, wall_seconds=1e6)])
    ((kept,),) = bench.store.all("results")
    assert kept.wall_seconds < 60


async def test_a_result_of_what_nobody_was_given_is_not_recorded_and_its_machine_stopped(
    bench: Bench,
):
    machine = bench.join()
    bench.runner.ended_tasks(machine, [bench.result(TaskId(9), attempt=7)])
    assert bench.store.all("results") == []
    assert bench.fleet.stopped == [(machine, "it told results of what it was not given")]


async def test_a_result_told_twice_is_recorded_once(bench: Bench):
    machine = bench.join()
    (task, attempt), *_ = bench.workers.given
    for _ in range(2):
        bench.runner.ended_tasks(machine, [bench.result(task, attempt)])
    assert len(bench.store.all("results")) == 1
    assert bench.fleet.stopped == []


async def test_a_machine_that_is_gone_has_its_bill_and_its_reason_in_the_books(bench: Bench):
    machine = bench.join()
    bench.runner.machines.gone(machine, None, Cause.FAILED, "the host burnt down")
    row = bench.runner.machines.rows[machine]
    assert (row.cost, row.reason) == (money(3), "the host burnt down")
    assert row == bench.store.all("machine")[-1] or row in bench.store.all("machine")


async def test_every_event_is_in_the_journal_before_anything_is_done(bench: Bench):
    kinds = [kind for kind, _ in bench.store.kept]
    assert kinds.index("journal") < kinds.index("machine")


async def test_a_cancelled_bag_kills_what_runs_and_stops_its_machines_once_that_is_durable(
    bench: Bench,
):
    machine = bench.join()
    bench.store.commit()
    bench.runner.happen(Cancelled("enough"))
    assert [one.task for one in bench.workers.killed] == [task for task, _ in bench.workers.given]
    assert bench.fleet.stopped == []
    bench.store.commit()
    assert machine in [one for one, _ in bench.fleet.stopped]
    for known in bench.runner.engine.alive():
        bench.runner.machines.gone(known.id, None, Cause.STOPPED, "told to")
    assert bench.ended == [bench.runner]


async def test_a_bug_in_a_decision_breaks_this_bag_and_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    def stumble(*_: Any) -> list[Any]:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(bench.runner.engine, "handle", stumble)
    bench.runner.happen(Cancelled("enough"))
    assert [str(one) for one in bench.broken] == ["by nought"]


async def test_who_waits_for_news_is_woken_when_a_machine_joins(bench: Bench):
    seen, news = bench.runner.revision, bench.runner.changed
    bench.join()
    await asyncio.wait_for(news.wait(), 1)
    assert bench.runner.revision > seen
