"""Workers as a master hears and tells them: greeted, told in few messages, missed when silent."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack
import pytest
from helpers.service import eventually

from bats.common import messages as m
from bats.common.wire.codec import decode, encode
from bats.master.service.machines import workers as module
from bats.master.service.machines.worker import Kind, Worker
from bats.master.service.machines.worker_reports import WorkerReports
from bats.master.service.machines.workers import Workers

BAG, OTHER, GONE = m.BagId(1), m.BagId(2), m.BagId(3)
SEVEN = m.MachineId(1_000_007)
ROUTE = b"its connection"


class Router:
    """Keeps what would be sent, and to whom."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, Any]] = []

    def send(self, route: bytes, frame: bytes) -> None:
        self.sent.append((route, decode(frame)))

    def forget(self, route: bytes) -> None: ...


class Store:
    """Durable when the test says so."""

    def __init__(self) -> None:
        self.backlog = 0
        self.waiting: list[Callable[[], None]] = []

    def then(self, do: Callable[[], None], *, patient: bool = False) -> None:
        self.waiting.append(do)

    def commit(self) -> None:
        self.backlog = 0
        waiting, self.waiting = self.waiting, []
        for do in waiting:
            do()


@dataclass(frozen=True)
class Bag:
    id: m.BagId
    master: "Master"

    def spec(self, _: Worker, kind: Kind) -> m.BagSpec:
        return m.BagSpec(self.id, ("x",), "echo two {x}" if kind[0] else "echo {x}")

    def kind(self, task: m.TaskId) -> Kind:
        return int(task >= 5000), None

    def values(self, _: m.TaskId) -> tuple[str, ...]:
        return (self.master.value,)

    counted = 0

    def ended_tasks(self, _: m.MachineId, results: Sequence[m.Result]) -> list[m.AttemptId]:
        told = self.master.ended.setdefault(self.id, [])
        told.extend(result.task for result in results)
        return [m.AttemptId(*one[:3]) for one in results if one.task in self.master.coming]


class Master:
    """The listener, and two bags: it notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.ended: dict[m.BagId, list[m.TaskId]] = {}
        self.value = "x"
        self.coming: set[int] = set()  # tasks whose files are on their way
        self.books: frozenset[m.AttemptId] = frozenset()  # what a worker should hold

    def work(self, bag: m.BagId) -> "Bag | None":
        return None if bag == GONE else Bag(bag, self)

    def joined(self, worker: Worker) -> None:
        self.told.append(f"joined {worker.incarnation}")

    def silent(self, _: Worker) -> None:
        self.told.append("silent")

    def cut_off(self, _: Worker) -> None:
        self.told.append("cut off")

    def ended_late(self, _: Worker, results: Sequence[m.Result]) -> None:
        self.told.append(f"{len(results)} late")

    def returned(self, _: Worker, attempts: tuple[m.AttemptId, ...]) -> None:
        self.told.append(f"{len(attempts)} returned")

    def left(self, _: Worker, reason: str) -> None:
        self.told.append(f"left: {reason}")

    def lease_seconds(self, _: Worker) -> float:
        return 90.0

    def held(self, _: Worker) -> frozenset[m.AttemptId]:
        return self.books


class Bench:
    def __init__(self, silence_seconds: float) -> None:
        self.router, self.store, self.master = Router(), Store(), Master()
        self.workers = Workers(self.router, self.store, "1.0", 0.05)
        self.bag = Bag(BAG, self.master)
        self.reports = WorkerReports(self.workers, self.store, self.master, 0.05, silence_seconds)

    def hello(self, incarnation: str = "first", route: bytes = ROUTE, stamp: float = 0.0) -> Worker:
        hello = m.Hello("1.0", SEVEN, incarnation, 2, "host", 99, (), 0, stamp=stamp)
        self.reports.greet(route, SEVEN, hello)
        found = self.workers.of(SEVEN)
        assert found is not None
        return found

    def beat(self, worker: Worker, *, serial: int = 0, lease: float = 90.0, **told: Any) -> None:
        beat = m.Heartbeat(told.pop("running", ()), 0, lease, **told, serial=serial, whole=True)
        self.reports.heartbeat(worker, beat)

    def results(self, worker: Worker, serial: int, *tasks: int, bag: m.BagId = BAG) -> None:
        ended = tuple(
            m.Result(bag, m.TaskId(task), 1, m.Outcome.DONE, 0, 1.0, 0.0, 0.0, 0, 0, "", 0)
            for task in tasks
        )
        self.reports.results(worker, m.Results(serial, ended))

    async def said(self, kind: type | None = None) -> list[Any]:
        """What it was sent since the last time, once this turn is over."""
        await asyncio.sleep(0.01)
        return self.heard(kind)

    async def said_durably(self, kind: type | None = None) -> list[Any]:
        """Likewise, and once what this turn has decided is durable."""
        await asyncio.sleep(0.01)
        self.store.commit()
        return self.heard(kind)

    def heard(self, kind: type | None = None) -> list[Any]:
        sent, self.router.sent = self.router.sent, []
        return [message for _, message in sent if kind is None or isinstance(message, kind)]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench(silence_seconds=3600.0)
    yield made
    made.reports.close()


async def test_a_new_worker_is_welcomed_with_its_lease_and_its_master_is_told(bench: Bench) -> None:
    bench.hello()
    (welcome,) = await bench.said()
    assert (welcome.release, welcome.lease_seconds, welcome.machine) == ("1.0", 90.0, SEVEN)
    assert bench.master.told == ["joined first"]


async def test_a_hello_said_twice_is_answered_twice_and_joins_once(bench: Bench) -> None:
    bench.hello()
    bench.hello()
    assert len(await bench.said(m.Welcome)) == 2
    assert bench.master.told == ["joined first"]


async def test_all_that_a_turn_wants_sent_is_one_message_and_the_bag_is_told_once(
    bench: Bench,
) -> None:
    worker = bench.hello()
    await bench.said()
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(1), 1)])
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(2), 1), (m.TaskId(3), 2)])
    bench.workers.kill(SEVEN, m.AttemptId(BAG, m.TaskId(9), 1))
    spec, run, kill = await bench.said_durably()
    assert isinstance(spec, m.BagSpec)
    assert [(order.task, order.attempt) for order in run.orders] == [(1, 1), (2, 1), (3, 2)]
    assert kill.attempts == ((BAG, 9, 1),)
    bench.workers.run(worker.machine, bench.bag, [(m.TaskId(4), 1)])
    assert [type(message) for message in await bench.said_durably()] == [m.Run]


async def test_a_worker_is_told_how_before_what_whenever_the_step_changes(bench: Bench) -> None:
    bench.hello()
    await bench.said()
    orders = [(m.TaskId(task), 1) for task in (1, 5000, 5001, 2)]
    bench.workers.run(SEVEN, bench.bag, orders)
    said = await bench.said_durably()
    kinds = [m.BagSpec, m.Run] * 3
    assert [type(message) for message in said] == kinds
    assert [one.command for one in said[::2]] == ["echo {x}", "echo two {x}", "echo {x}"]
    assert [[order.task for order in run.orders] for run in said[1::2]] == [[1], [5000, 5001], [2]]


async def test_many_orders_are_several_messages_of_a_size_that_is_taken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LARGEST_RUN_BYTES", 100_000)
    bench.master.value = "v" * 1000
    bench.hello()
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(task), 1) for task in range(3000)])
    runs = await bench.said_durably(m.Run)
    assert [order.task for run in runs for order in run.orders] == list(range(3000))
    assert max(sum(len(order.values[0]) for order in run.orders) for run in runs) <= 100_000


async def test_results_are_acknowledged_when_they_are_durable_and_not_before(bench: Bench) -> None:
    worker = bench.hello()
    bench.results(worker, 1, 5, 6)
    bench.results(worker, 2, 7)
    bench.reports.end_turn()
    await eventually(lambda: bench.store.waiting)
    assert await bench.said(m.ResultsStored) == []
    bench.store.commit()
    assert await bench.said(m.ResultsStored) == [m.ResultsStored(2)]
    assert bench.master.ended == {BAG: [5, 6, 7]}


async def test_results_whose_files_are_coming_are_kept_by_their_worker_till_they_are_here(
    bench: Bench,
) -> None:
    bench.master.coming = {6}
    worker = bench.hello()
    for serial in (1, 2, 3):
        bench.results(worker, serial, 4 + serial)
    bench.reports.end_turn()
    await eventually(lambda: bench.store.waiting)
    bench.store.commit()
    assert await bench.said(m.ResultsStored) == [m.ResultsStored(1)]
    bench.workers.acks.settled(worker.machine, [m.AttemptId(BAG, m.TaskId(6), 1)])
    await eventually(lambda: bench.store.waiting)
    bench.store.commit()
    assert (await bench.said(m.ResultsStored))[-1] == m.ResultsStored(3)


async def test_results_that_are_said_again_are_acknowledged_again_and_taken_once(
    bench: Bench,
) -> None:
    """By the same worker on another connection too: our answer was lost with the first."""
    bench.results(bench.hello(), 1, 5)
    again = bench.hello(route=b"another connection")
    bench.results(again, 1, 5)
    bench.results(again, 2, 6)
    bench.reports.end_turn()
    await eventually(lambda: bench.store.waiting)
    bench.store.commit()
    assert (await bench.said(m.ResultsStored))[-1] == m.ResultsStored(2)
    assert bench.master.ended == {BAG: [5, 6]}


async def test_a_daemon_that_was_started_anew_counts_its_results_anew(bench: Bench) -> None:
    bench.results(bench.hello("first"), 8, 5)
    bench.results(bench.hello("second", b"another connection"), 1, 6)
    assert bench.master.ended == {BAG: [5, 6]}


async def test_each_bag_is_told_of_its_own_results_and_a_late_one_harms_nobody(
    bench: Bench,
) -> None:
    worker = bench.hello()
    ended = tuple(
        m.Result(bag, m.TaskId(task), 1, m.Outcome.DONE, 0, 1.0, 0.0, 0.0, 0, 0, "", 0)
        for bag, task in ((BAG, 1), (OTHER, 2), (GONE, 3), (BAG, 4))
    )
    bench.reports.results(worker, m.Results(1, ended))
    assert bench.master.ended == {BAG: [1, 4], OTHER: [2]}
    assert "1 late" in bench.master.told


async def test_an_order_goes_out_when_it_is_durable_and_not_before(bench: Bench) -> None:
    bench.hello()
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(1), 1)])
    assert await bench.said(m.Run) == []
    bench.workers.kill(SEVEN, m.AttemptId(BAG, m.TaskId(1), 1))
    assert [type(one) for one in await bench.said_durably()][-2:] == [m.Run, m.Kill]


async def test_orders_for_short_tasks_go_out_at_once_and_overtake_none(bench: Bench) -> None:
    bench.hello()
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(1), 1)], at_once=True)
    assert len(await bench.said(m.Run)) == 1
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(2), 1)])
    assert await bench.said(m.Run) == []
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(3), 1)], at_once=True)
    assert await bench.said(m.Run) == []
    sent = [order.task for run in await bench.said_durably(m.Run) for order in run.orders]
    assert sent == [2, 3]


async def test_an_order_that_was_not_sent_is_not_sent_over_the_next_connection(
    bench: Bench,
) -> None:
    bench.hello()
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(1), 1)])
    await bench.said()
    bench.hello("second", b"other route")
    assert await bench.said_durably(m.Run) == []


async def test_nothing_new_is_begun_while_the_store_cannot_write(bench: Bench) -> None:
    bench.hello()
    bench.workers.pause(True)
    bench.workers.run(SEVEN, bench.bag, [(m.TaskId(1), 1)])
    assert await bench.said_durably(m.Run) == []
    bench.workers.pause(False)
    assert len(await bench.said_durably(m.Run)) == 1


async def test_a_worker_without_a_connection_cannot_be_told_to_stop(bench: Bench) -> None:
    assert not bench.workers.stop(SEVEN, "nobody is there")
    bench.hello()
    bench.reports.lost(ROUTE)
    assert bench.master.told[-1] == "cut off"
    assert not bench.workers.stop(SEVEN, "the bag has ended")


async def test_who_is_not_heard_of_is_silent_once_and_asked_anew_when_it_speaks() -> None:
    bench = Bench(silence_seconds=0.2)
    worker = bench.hello()
    await eventually(lambda: "silent" in bench.master.told)
    await asyncio.sleep(0.2)
    assert bench.master.told.count("silent") == 1
    bench.reports.heartbeat(worker, m.Heartbeat((), 0, 90.0))
    (refused,) = await bench.said(m.Refused)
    assert refused.retry
    assert bench.workers.of(SEVEN) is None
    bench.reports.close()


async def test_while_heartbeats_come_nobody_is_silent() -> None:
    bench = Bench(silence_seconds=0.3)
    worker = bench.hello()
    for _ in range(20):
        bench.reports.heartbeat(worker, m.Heartbeat((), 0, 90.0))
        await asyncio.sleep(0.03)
    assert "silent" not in bench.master.told
    bench.reports.close()


FIVE, SIX = (m.AttemptId(BAG, m.TaskId(task), 1) for task in (5, 6))


@pytest.mark.parametrize(
    ("ours", "told"),
    [
        ({FIVE}, {}),
        ({FIVE}, {"running": ((SIX, 1.0),), "held": (FIVE,)}),
        (set(), {"held": (SIX,)}),
        ({FIVE}, {"ended": (FIVE,), "serial": 1}),
    ],
    ids=["an order that never came", "runs what it should not", "queues it", "results never came"],
)
async def test_what_stands_in_one_book_only_is_asked_for_after_two_heartbeats(
    bench: Bench, ours: set[m.AttemptId], told: dict[str, Any]
) -> None:
    worker = bench.hello()
    bench.master.books = frozenset(ours)
    bench.beat(worker, **told)
    assert await bench.said(m.Refused) == []
    bench.beat(worker, **told)
    (refused,) = await bench.said(m.Refused)
    assert refused.retry
    assert bench.workers.of(SEVEN) is None


async def test_books_that_agree_or_are_about_to_are_left_alone(bench: Bench) -> None:
    worker = bench.hello()
    bench.master.books = frozenset({FIVE})
    for _ in range(3):
        bench.beat(worker)
        bench.beat(worker, running=((FIVE, 1.0),))
    bench.results(worker, 1, 6)
    for _ in range(3):
        bench.beat(worker, held=(FIVE,), ended=(SIX,), serial=1)
        bench.reports.heartbeat(worker, m.Heartbeat((), 0, 90.0))  # of 0.1.0: not the whole
    assert await bench.said(m.Refused) == []


async def test_a_link_so_slow_that_mending_never_helps_is_given_more_time_each_time(
    bench: Bench,
) -> None:
    bench.master.books = frozenset({FIVE})
    took = []
    for _ in range(4):
        worker = bench.hello()
        beats = 0
        while bench.workers.of(SEVEN) is worker:
            bench.beat(worker)
            beats += 1
        took.append(beats)
    assert took == [2, 3, 5, 9]


async def test_a_batch_of_results_that_is_missing_is_asked_for_before_a_later_one_is_taken(
    bench: Bench,
) -> None:
    worker = bench.hello()
    bench.results(worker, 1, 5)
    bench.results(worker, 3, 7)
    assert bench.master.ended == {BAG: [5]}
    assert len(await bench.said(m.Refused)) == 1


async def test_a_worker_that_has_not_heard_of_its_lease_is_told_again(bench: Bench) -> None:
    worker = bench.hello()
    await bench.said()
    bench.beat(worker, lease=80.0)
    assert await bench.said() == []
    bench.beat(worker, lease=20.0)
    assert await bench.said() == [m.Lease(90.0)]


async def test_a_lease_counts_from_a_stamp_of_its_worker_however_late_it_comes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its stamps that is taken which was least under way: none makes the lease longer."""
    now = 1000.0
    monkeypatch.setattr("time.clock_gettime", lambda _: now)
    worker = bench.hello(stamp=500.0)
    (welcome,) = await bench.said(m.Welcome)
    assert (welcome.lease_seconds, welcome.stamp) == (90.0, 500.0)
    now = 1010.0
    bench.beat(worker, stamp=502.0)  # it was under way for eight seconds more than the first
    bench.workers.lease(SEVEN, 60.0)
    bench.beat(worker, stamp=511.0)  # the first had been under way for a second itself
    bench.workers.lease(SEVEN, 60.0)
    now = 1041.0
    bench.beat(worker, stamp=521.0)  # its clock stood still for a while, as it may have itself
    bench.workers.lease(SEVEN, 60.0)
    told = await bench.said(m.Lease)
    assert [(one.lease_seconds, one.stamp) for one in told] == [
        (70.0, 500.0),
        (60.0, 511.0),
        (60.0, 521.0),
    ]


async def test_a_lease_of_a_worker_of_an_older_release_counts_from_when_it_comes(
    bench: Bench,
) -> None:
    bench.hello()
    bench.workers.lease(SEVEN, 60.0)
    welcome, lease = await bench.said()
    assert msgpack.unpackb(encode(lease)) == [26, 60.0]
    assert len(msgpack.unpackb(encode(welcome))) == 1 + 4


async def test_nobody_is_blamed_for_the_time_that_the_master_slept(bench: Bench) -> None:
    worker = bench.hello()
    worker.heard_at -= 10_000
    bench.reports._looked_at -= 10_000
    bench.reports._look()
    assert bench.master.told == ["joined first"]
    worker.heard_at -= 10_000
    bench.reports._look()
    assert bench.master.told[-1] == "silent", "the check itself notices who is"


async def test_what_a_task_has_written_is_asked_of_its_worker_and_not_waited_for_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GLIMPSE_SECONDS", 0.2)
    worker = bench.hello()
    attempt = m.AttemptId(BAG, m.TaskId(5), 1)
    asked = asyncio.ensure_future(bench.workers.look(SEVEN, attempt, "out", 10))
    (look,) = await bench.said(m.Look)
    glimpse = m.Glimpse(look.of, look.stream, look.offset, b"so far", 16)
    bench.reports.glimpse(worker, glimpse)
    assert await asked == glimpse
    assert await bench.workers.look(SEVEN, attempt, "out", 16) is None
    assert await bench.workers.look(m.MachineId(404), attempt, "out", 0) is None
