"""Facts told to the store are there for every reader, once, also after the next start."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import money
from bats.master.store.reader import TaskQuery
from bats.master.store.rows import BagRow, DecisionRow, MachineRow
from bats.master.store.store import Store

Make = Callable[..., Result]
MakeBag = Callable[..., BagRow]
B1, B2 = BagId(1), BagId(2)


async def test_what_is_committed_is_seen_by_a_reader_and_after_a_restart(
    folder: Path, finished: Make, bag_row: MakeBag
):
    store = Store(folder, "1.0")
    master_id = store.master_id
    store.bag(bag_row(1))
    store.journal(B1, 1.0, b"begin")
    store.results([finished(1, 3, wall=2.0)])
    store.decision(DecisionRow(B1, 2.0, "bought one"))
    store.machine(MachineRow(MachineId(1), B1, "small", "local", requested=1.0))
    await store.committed()

    def look() -> None:
        with store.reader() as reader:
            assert reader.bag(B1) == bag_row(1)
            assert list(reader.events(B1)) == [(0, 1.0, b"begin")]
            assert [(row.task, row.wall_seconds) for row in reader.tasks(B1).rows] == [(3, 2.0)]
            assert reader.decisions(B1) == [DecisionRow(B1, 2.0, "bought one")]
            assert [row.offering for row in reader.machines(B1)] == ["small"]

    look()
    await store.close()
    store = Store(folder, "1.1")
    look()
    assert store.master_id == master_id
    assert store.journal(B1, 2.0, b"next") == 1
    await store.close()


async def test_the_number_of_a_bag_is_never_used_twice(folder: Path, bag_row: MakeBag):
    store = Store(folder, "1.0")
    assert [store.new_bag(), store.new_bag()] == [1, 2]
    store.bag(bag_row(2, ended=5.0))
    await store.prune(B2)
    await store.close()
    store = Store(folder, "1.0")
    assert store.new_bag() == 3
    await store.close()


async def test_the_first_result_of_a_task_stays_and_later_ones_are_counted(
    folder: Path, finished: Make, bag_row: MakeBag
):
    store = Store(folder, "1.0")
    store.bag(bag_row(1))
    store.bag(bag_row(2))
    store.results([finished(1, 5, 1), finished(1, 5, 2), finished(2, 5, 1)])
    await store.committed()
    store.results([finished(1, 5, 1)])  # the worker did not hear that it was stored
    store.results([finished(1, 5, 3, Outcome.FAILED), finished(1, 6, 1)])
    await store.close()
    with store.reader() as reader:
        assert {row.task: row.attempt for row in reader.tasks(B1).rows} == {5: 1, 6: 1}
        assert [row.attempt for row in reader.story(B1, TaskId(5))] == [1, 3]  # 3 tells of a fault
        assert reader.bag(B1).duplicates == 3
        assert reader.bag(B2).duplicates == 0


async def test_a_success_that_comes_after_a_failure_for_good_is_the_result(
    folder: Path, finished: Make, bag_row: MakeBag
):
    """A copy on a machine that was not heard of: the engine counts its task as done."""
    store = Store(folder, "1.0")
    store.bag(bag_row(1))
    store.results([finished(1, 5, 2, Outcome.FAILED), finished(1, 6, 2, Outcome.FAILED)])
    await store.committed()
    store.results([finished(1, 5, 1), finished(1, 6, 3, Outcome.FAILED)])
    await store.close()
    with store.reader() as reader:
        assert reader.outcomes(B1) == {Outcome.DONE: 1, Outcome.FAILED: 1}
        assert [row.outcome for row in reader.story(B1, TaskId(5))] == [
            Outcome.DONE,
            Outcome.FAILED,
        ]
        assert reader.bag(B1).duplicates == 1


async def test_a_task_tells_its_story_of_failures_and_result(folder: Path, finished: Make):
    store = Store(folder, "1.0")
    store.attempts([finished(1, 4, 1, Outcome.FAILED, excerpt="no such file")])
    store.attempts([finished(1, 4, 1, Outcome.FAILED, excerpt="no such file")])  # sent again
    store.attempts([finished(1, 4, 2, Outcome.TIMED_OUT), finished(1, 5, 1, Outcome.KILLED)])
    store.results([finished(1, 4, 3)])
    await store.close()
    with store.reader() as reader:
        story = reader.story(B1, TaskId(4))
        assert [row.outcome for row in story] == [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.DONE]
        assert story[0].excerpt == "no such file"
        assert len(list(reader.every_attempt(B1))) == 3


async def test_a_retried_task_gives_its_result_back_and_gets_another(folder: Path, finished: Make):
    store = Store(folder, "1.0")
    store.results([finished(1, 4, 1, Outcome.FAILED), finished(1, 5, 1)])
    store.reopen(B1, [TaskId(4)])  # in the same commit: order is kept
    store.results([finished(1, 4, 2)])
    await store.close()
    with store.reader() as reader:
        assert [row.outcome for row in reader.story(B1, TaskId(4))] == [
            Outcome.FAILED,
            Outcome.DONE,
        ]
        assert reader.outcomes(B1) == {Outcome.DONE: 2}


async def test_the_row_of_a_machine_follows_its_life(folder: Path):
    store = Store(folder, "1.0")
    born = MachineRow(MachineId(1_000_001), B1, "small", "ssh", requested=1.0, public_key=b"k" * 32)
    gone = born._replace(address="host", charged_since=2.0, gone=9.0, cost=money("0.08"))
    store.machine(born)
    store.machine(gone)
    await store.close()
    with store.reader() as reader:
        assert reader.machines() == [gone]


async def test_the_state_of_a_bag_changes_without_its_description(folder: Path, bag_row: MakeBag):
    store = Store(folder, "1.0")
    store.bag(bag_row(1))
    store.bag_state(B1, "done", '{"cost": "1.00"}', ended=9.0)
    await store.close()
    with store.reader() as reader:
        assert reader.bag(B1) == bag_row(1)._replace(
            state="done", summary='{"cost": "1.00"}', ended=9.0
        )
        [listed] = reader.bags()
        assert (listed.state, listed.spec) == ("done", b"")
        with pytest.raises(UsageError, match="no bag 7 in the store; there are: 1"):
            reader.bag(BagId(7))


async def test_whatever_a_worker_says_of_a_task_can_be_stored(folder: Path, finished: Make):
    store = Store(folder, "1.0")
    store.results([finished(1, 0, peak_kib=2**64, exit_code=-(2**70), excerpt="\ud800 \x00 é")])
    store.results([finished(1, 1, wall=float("nan"), outputs=(("ä b", "f" * 64, 3),))])
    await asyncio.wait_for(store.committed(), 10)
    await store.close()
    with store.reader() as reader:
        wild, plain = reader.tasks(B1).rows
        assert (wild.peak_kib, wild.exit_code) == (2**63 - 1, -(2**63) + 1)
        assert wild.excerpt == "? \x00 é"
        assert (plain.wall_seconds, plain.user_seconds) == (0.0, 0.5)
        assert plain.outputs == (("ä b", "f" * 64, 3),)
        assert reader.blobs(B1) == ["f" * 64]


async def test_a_second_master_is_refused_with_the_first_ones_process(folder: Path):
    store = Store(folder, "1.0")
    with pytest.raises(UsageError, match=r"Another master \(pid \d+ on .*\) is using"):
        Store(folder, "1.0")
    await store.close()
    await Store(folder, "1.0").close()


async def test_the_state_folder_is_for_its_owner_alone(folder: Path):
    store = Store(folder, "1.0")
    store.journal(B1, 1.0, b"secret")
    await store.committed()
    for_others = rights_of_others(folder)
    assert for_others.keys() >= {"the state", "store.db", "store.db-wal", "lock", "mark"}
    assert not any(for_others.values()), for_others
    await store.close()


def rights_of_others(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())}


async def test_results_are_found_sorted_and_paged_as_a_plain_list_would_be(
    folder: Path, finished: Make
):
    store = Store(folder, "1.0")
    rows = [
        finished(
            1,
            task,
            outcome=Outcome.FAILED if task % 7 == 0 else Outcome.DONE,
            wall=(task * 37 % 11) / 4,
            cluster=("small", "large")[task % 2],
            machine=task % 3,
            excerpt=f"Line {task} of x_%" if task % 7 == 0 else "",
        )
        for task in range(200)
    ]
    store.results(rows)
    store.results([finished(2, 1)])
    await store.close()
    with store.reader() as reader:

        def tasks(query: TaskQuery) -> tuple[list[int], int]:
            page = reader.tasks(B1, query)
            return [row.task for row in page.rows], page.total

        failed = [row.task for row in rows if row.outcome]
        assert tasks(TaskQuery(outcomes=(Outcome.FAILED,))) == (failed, len(failed))
        large = [r.task for r in rows if r.cluster == "large" and r.machine == 2]
        assert tasks(TaskQuery(cluster="large", machine=2)) == (large, len(large))
        slow = sorted(rows, key=lambda row: (-row.wall_seconds, row.task))
        page = TaskQuery(sort="wall_seconds", descending=True, offset=20, limit=10)
        assert tasks(page) == ([row.task for row in slow[20:30]], 200)
        assert tasks(TaskQuery(text="X_%")) == (failed, len(failed))
        assert tasks(TaskQuery(text="line 14 ")) == ([14], 1)
        assert tasks(TaskQuery(text="34")) == ([34], 1)
        assert tasks(TaskQuery(text="9" * 30)) == ([], 0)
        assert [row.task for row in reader.every_task(B1)] == list(range(200))
        assert [row.task for row in reader.every_task(B1, since=150)] == list(range(150, 200))
        with pytest.raises(UsageError, match="cannot be sorted by 'id; --'"):
            tasks(TaskQuery(sort="id; --"))


async def test_runtimes_are_summed_up_per_cluster(folder: Path, finished: Make):
    store = Store(folder, "1.0")
    store.results([finished(1, task, wall=float(task), cluster="a") for task in (3, 1, 2)])
    store.results([finished(1, 4, outcome=Outcome.FAILED, wall=99.0, cluster="a")])
    store.results([finished(1, 5, outcome=Outcome.FAILED, cluster="b")])
    await store.close()
    with store.reader() as reader:
        a, b = reader.clusters(B1)
        assert (a.results, a.done, a.mean_seconds, a.longest_seconds) == (4, 3, 2.0, 3.0)
        assert a.peak_kib == 2048
        assert (b.results, b.done, b.mean_seconds) == (1, 0, 0.0)
        assert list(reader.runtimes(B1, "a")) == [1.0, 2.0, 3.0]


async def test_a_machine_started_by_hand_under_version_0_1_0_has_todays_number(
    folder: Path, finished: Make, bag_row: MakeBag
):
    then, now = MachineId(7), MachineId(500_007)
    row = MachineRow(then, BagId(0), "desk", "by hand", requested=1.0)
    store = Store(folder, "0.1.0")
    store.bag(bag_row(1))
    store.machine(row)
    store.results([finished(1, 3, wall=2.0)._replace(machine=then)])
    store.results([finished(1, 4, wall=1.0)._replace(machine=now)])
    await store.committed()
    with store.reader() as reader:
        assert reader.machines() == [row._replace(id=now)]
        assert [one.machine for one in reader.every_task(B1)] == [now, now]
        assert reader.tasks(B1, TaskQuery(machine=now)).total == 2
        assert reader.busy_seconds(B1) == {now: 3.0}
    store.machine(row._replace(id=now, gone=9.0))
    await store.committed()
    with store.reader() as reader:
        assert reader.machines() == [row._replace(id=now, gone=9.0)]
    await store.close()


async def test_results_are_written_in_the_order_of_their_tasks_the_first_of_each_task_first(
    folder: Path, finished: Make, bag_row: MakeBag
):
    store = Store(folder, "1.0")
    store.bag(bag_row(1, tasks=100))
    written: list[int] = []
    store._db.create_function("noted", 1, written.append)
    store._db.execute(
        "CREATE TEMP TRIGGER t AFTER INSERT ON results BEGIN SELECT noted(new.id); END"
    )
    store.results([finished(1, task, attempt=attempt) for task, attempt in
                   [(70, 1), (3, 2), (3, 1), (50, 1)]])  # fmt: skip
    await store.committed()
    assert written == sorted(written)
    with store.reader() as reader:
        assert {row.task: row.attempt for row in reader.tasks(B1).rows} == {3: 2, 50: 1, 70: 1}
    await store.close()
