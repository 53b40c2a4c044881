"""What is acknowledged is on the disk, and the event loop never waits for it."""

import asyncio
import sqlite3
import threading

import pytest

from bats.common.errors import StoreDamagedError
from bats.master.store.writing.group_commit import GroupCommit, Trouble
from bats.master.store.writing.writer import Batch

PACE_SECONDS = 1.0


class Disk:
    """Writes nothing; a test decides when it is done, and how."""

    def __init__(self) -> None:
        self.written: list[list[str]] = []
        self.go = threading.Semaphore(0)
        self.errors: list[sqlite3.Error | None] = []
        self.troubles: list[Trouble | None] = []
        self.commit = GroupCommit(
            self.write, str, self.troubles.append, pace_seconds=0.0, retry_seconds=0.0
        )

    def write(self, batch: Batch) -> None:
        assert self.go.acquire(timeout=10)
        error = self.errors.pop(0) if self.errors else None
        if error:
            raise error
        self.written.append([row for _, rows in batch.steps for row in rows])

    def tell(self, *facts: str) -> None:
        self.commit.batch.add(_step, facts)
        self.commit.touch()

    async def close(self) -> None:
        self.go.release(10)
        await self.commit.close()


def _step(_: sqlite3.Connection, __: list[str]) -> None:
    raise AssertionError("Disk does not run steps")


def error(code: int) -> sqlite3.Error:
    made = sqlite3.OperationalError("the disk says no")
    made.sqlite_errorcode = code
    return made


async def test_facts_told_while_the_disk_is_busy_share_the_next_commit():
    disk = Disk()
    disk.tell("a")
    disk.tell("b")
    first = disk.commit.committed()
    await asyncio.sleep(0)  # the commit of a and b begins
    disk.tell("c")
    await asyncio.sleep(0)
    disk.tell("d")
    second = disk.commit.committed()
    disk.go.release()
    await first
    assert not second.done()
    disk.go.release()
    await second
    assert disk.written == [["a", "b"], ["c", "d"]]
    await disk.close()


async def test_nothing_is_acknowledged_before_it_is_written():
    disk = Disk()
    acknowledged: list[str] = []
    disk.tell("a")
    disk.commit.then(lambda: acknowledged.append("a"))
    await asyncio.sleep(0.02)
    assert acknowledged == []
    assert disk.commit.backlog == 1
    disk.go.release()
    await disk.commit.committed()
    assert acknowledged == ["a"]
    assert disk.commit.backlog == 0
    await disk.close()


async def test_who_asks_while_nothing_is_under_way_is_answered_at_once():
    disk = Disk()
    await asyncio.wait_for(disk.commit.committed(), 10)
    assert disk.written == []
    await disk.close()


async def test_who_asks_during_a_commit_and_told_nothing_since_waits_for_that_commit_alone():
    disk = Disk()
    disk.tell("a")
    await asyncio.sleep(0)
    asked = disk.commit.committed()
    assert not asked.done()
    disk.go.release()
    await asyncio.wait_for(asked, 10)
    await disk.close()


async def test_a_full_disk_is_told_once_and_the_facts_are_written_when_there_is_room():
    disk = Disk()
    disk.errors = [error(sqlite3.SQLITE_FULL), error(sqlite3.SQLITE_FULL)]
    disk.tell("a")
    await asyncio.sleep(0)
    disk.tell("b")
    disk.go.release(10)
    await asyncio.wait_for(disk.commit.committed(), 10)
    assert disk.written == [["a"], ["b"]]
    assert disk.troubles == [Trouble("the disk says no", passing=True), None]
    await disk.close()


async def test_after_a_failed_sync_nothing_is_believed_any_more():
    disk = Disk()
    disk.errors = [error(sqlite3.SQLITE_IOERR_FSYNC)]
    called: list[str] = []
    disk.tell("a")
    disk.commit.then(lambda: called.append("never"))
    waiting = disk.commit.committed()
    disk.go.release(10)
    with pytest.raises(StoreDamagedError, match="1 facts could not be written"):
        await asyncio.wait_for(waiting, 10)
    assert called == []
    [trouble] = disk.troubles
    assert trouble is not None
    assert not trouble.passing
    with pytest.raises(StoreDamagedError):
        disk.tell("b")
    with pytest.raises(StoreDamagedError):
        await disk.close()


async def test_closing_on_a_full_disk_says_how_much_is_lost_instead_of_waiting_for_ever():
    disk = Disk()
    disk.errors = [error(sqlite3.SQLITE_FULL)] * 3
    disk.tell("a", "b", "c")
    with pytest.raises(StoreDamagedError, match="3 facts could not be written"):
        await asyncio.wait_for(disk.close(), 10)


async def test_who_gave_up_waiting_does_not_disturb_the_others():
    disk = Disk()
    disk.tell("a")
    given_up, waiting = disk.commit.committed(), disk.commit.committed()
    given_up.cancel()
    disk.go.release()
    await asyncio.wait_for(waiting, 10)
    await disk.close()


async def test_a_callback_that_fails_keeps_nobody_else_waiting():
    disk = Disk()
    loop = asyncio.get_running_loop()
    raised: list[object] = []
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    disk.tell("a")
    disk.commit.then(lambda: raised.index("not there"))
    waiting = disk.commit.committed()
    disk.go.release()
    await asyncio.wait_for(waiting, 10)
    assert [type(error) for error in raised] == [ValueError]
    await disk.close()


def paced(disk: Disk) -> GroupCommit:
    disk.go.release(100)
    return GroupCommit(
        disk.write, str, disk.troubles.append, pace_seconds=PACE_SECONDS, retry_seconds=0.0
    )


async def patiently(commit: GroupCommit) -> None:
    durable = asyncio.Event()
    commit.then(durable.set, patient=True)
    await durable.wait()


async def test_commits_keep_their_pace_but_a_lone_fact_does_not_wait():
    disk = Disk()
    disk.commit = paced(disk)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    disk.tell("lone")
    await patiently(disk.commit)
    assert loop.time() - begin < PACE_SECONDS
    for number in range(5):
        disk.tell(str(number))
        await asyncio.sleep(0)
    await patiently(disk.commit)
    assert loop.time() - begin >= PACE_SECONDS
    assert disk.written == [["lone"], ["0", "1", "2", "3", "4"]]
    await disk.close()


async def test_whoever_is_in_a_hurry_takes_the_patient_along_at_once():
    disk = Disk()
    disk.commit = paced(disk)
    loop = asyncio.get_running_loop()
    disk.tell("lone")
    await disk.commit.committed()
    begin = loop.time()
    disk.tell("slow")
    patient = asyncio.ensure_future(patiently(disk.commit))
    await asyncio.sleep(0)
    disk.tell("quick")
    await disk.commit.committed()
    await patient
    assert loop.time() - begin < PACE_SECONDS
    assert disk.written == [["lone"], ["slow", "quick"]]
    await disk.close()
