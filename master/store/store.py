"""The master's side of the store: facts are told without waiting, and durable a moment later."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from bats.common.errors import BatsError
from bats.common.messages import BagId, Result, TaskId
from bats.master.brain.protocol.numbering import FIRST_POOL
from bats.master.store import database, journal_chunks, prune, result_rows
from bats.master.store.lock import FolderLock
from bats.master.store.reader import Reader
from bats.master.store.repair import soundness
from bats.master.store.rows import AdditionRow, BagRow, DecisionRow, LearnedRow, MachineRow
from bats.master.store.writing import statements
from bats.master.store.writing.group_commit import PACE_SECONDS, RETRY_SECONDS, GroupCommit, Trouble
from bats.master.store.writing.mark import Mark
from bats.master.store.writing.writer import Writer


class Store:
    """The one writer of a state folder. Its methods are called from the event loop only.

    Facts told between two awaits are committed together or not at all.

    `on_trouble` is told when facts cannot be written (pause dispatch: what is told meanwhile
    stays in memory) and, with None, when they can again. After trouble that does not pass every
    further call raises StoreDamagedError: end the master; workers keep what was not acknowledged.
    """

    def __init__(
        self,
        folder: Path,
        release: str,
        on_trouble: Callable[[Trouble | None], None] = lambda _: None,
        *,
        pace_seconds: float = PACE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """Blocks for some seconds at worst: open it before anything is served.

        Raises UsageError if another master is there or the store is newer than this program,
        StoreDamagedError with what is recoverable if it is not whole.
        """
        self.folder: Final = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = FolderLock(folder)
        try:
            self._db = soundness.open_checked(folder, release)
            self._mark = Mark(folder)
        except BaseException:
            self._lock.release()
            raise
        self._commit = GroupCommit(
            Writer(self._db, self._mark).write,
            self._sentence,
            on_trouble,
            pace_seconds=pace_seconds,
            retry_seconds=retry_seconds,
        )
        self.master_id: str = self._one("SELECT value FROM meta WHERE key = 'master'")
        highest = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'bags'"
        self._last_bag: int = self._one(highest)
        bags = self._db.execute("SELECT id FROM bags").fetchall()
        kept = [*(bag for (bag,) in bags), *journal_chunks.owners(self._db, FIRST_POOL)]
        self._next_event = {number: journal_chunks.length(self._db, number) for number in kept}

    def take_identity(self) -> bool:
        """Make a copied store another master's; before anything is served. False if that was done.

        Machines that were asked for under the old identity are none of ours then. It is done once:
        the file knows itself by its place on the disk, which no copy has.
        """
        seen = (self.folder / database.FILE).stat()
        place = f"{seen.st_dev}:{seen.st_ino}"
        row = self._db.execute("SELECT value FROM meta WHERE key = 'restored'").fetchone()
        if row is not None and row[0] == place:
            return False
        self.master_id = database.new_master_id()
        told = [("master", self.master_id), ("restored", place)]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", told)
        return True

    # --- telling facts ------------------------------------------------------------------------

    def new_bag(self) -> BagId:
        """A number never used before. Commit a row with it before anyone outside hears of it."""
        self._last_bag += 1
        return BagId(self._last_bag)

    def give_back(self, bag: BagId) -> None:
        """Take back the number of a bag that never came to be, if it is the last one given."""
        if bag == self._last_bag:
            self._last_bag -= 1

    def journal(self, bag: BagId, now: float, event: bytes) -> int:
        """Append to the bag's journal; returns the event's number, from 0."""
        number = self._next_event.get(bag, 0)
        self._next_event[bag] = number + 1
        events = self._commit.batch.events.get(bag)
        if events is None:
            self._commit.batch.events[bag] = (number, [now, event])
            self._commit.touch()
        else:
            events[1].extend((now, event))
        return number

    def journal_begins(self, bag: BagId, number: int) -> None:
        """Forget the bag's events before this one, which was told just now and sums them up."""
        self._tell(journal_chunks.forget_before, [(bag, number)])

    def results(self, rows: Iterable[Result]) -> None:
        """Record how tasks ended for good. The first result of a task stays."""
        self._tell(result_rows.write_results, rows)

    def attempts(self, rows: Iterable[Result]) -> None:
        """Attempts that did not end their task: a failure that is tried again, a killed replica."""
        self._tell(result_rows.write_attempts, rows)

    def reopen(self, bag: BagId, tasks: Iterable[TaskId]) -> None:
        """Move the results of these tasks to the attempts: they are to be run again."""
        self._tell(result_rows.reopen_tasks, [(database.key(bag, task),) for task in tasks])

    def bag(self, row: BagRow) -> None:
        self._tell(statements.write_bags, (row,))

    def addition(self, row: AdditionRow) -> None:
        """Keep tasks that are added to a bag; told with their event, both are kept or neither."""
        self._tell(statements.write_additions, (row,))

    def bag_state(
        self, bag: BagId, state: str, summary: str = "", ended: float | None = None
    ) -> None:
        self._tell(statements.write_bag_states, ((state, summary, ended, bag),))

    def machine(self, row: MachineRow) -> None:
        """Write the row of a machine, new or changed."""
        self._tell(statements.write_machines, (row,))

    def decision(self, row: DecisionRow) -> None:
        self._tell(statements.write_decisions, (row,))

    def learned(self, rows: Iterable[LearnedRow]) -> None:
        """Keep the experience with commands, in place of what there was."""
        self._tell(statements.write_learned, rows)

    def forget_learned(self, templates: Iterable[str]) -> None:
        self._tell(statements.forget_learned, templates)

    def hold(self, bag: BagId, sha256s: Iterable[str]) -> None:
        """These blobs belong to the bag until it is pruned; those in results do so anyway."""
        self._tell(statements.hold_blobs, [(bag, sha256) for sha256 in sha256s])

    # --- knowing that they are durable ----------------------------------------------------------

    def then(self, callback: Callable[[], None], *, patient: bool = False) -> None:
        """Call this as soon as all that was told so far is durable; never, if it never will be.

        Who is patient shares the commit of those who are not, or of a moment later.
        """
        self._commit.then(callback, patient=patient)

    def committed(self) -> asyncio.Future[None]:
        """Wait until all that was told so far is durable."""
        return self._commit.committed()

    @property
    def backlog(self) -> int:
        """The number of facts that are not durable yet."""
        return self._commit.backlog

    def reader(self) -> Reader:
        return Reader(self.folder)

    async def prune(self, bag: BagId) -> list[str]:
        """Forget an ended bag, in pieces between commits; returns the blobs nobody holds now."""
        await self.committed()
        self._mark.clear()  # it may speak of this bag
        loop = asyncio.get_running_loop()
        try:
            blobs = await loop.run_in_executor(self._commit.thread, prune.begin, self._db, bag)
            while await loop.run_in_executor(self._commit.thread, prune.some, self._db, bag):
                pass
        except sqlite3.Error as error:
            raise BatsError(f"Bag {bag} is not wholly pruned. {self._sentence(error)}") from error
        self._next_event.pop(bag, None)
        return blobs

    async def close(self) -> None:
        """Write what is left. Raises StoreDamagedError if that cannot be done."""
        try:
            await self._commit.close()
        finally:
            self._db.close()
            self._mark.close()
            self._lock.release()

    def _tell(self, step: statements.Step, rows: Iterable[Any]) -> None:
        self._commit.batch.add(step, rows)
        self._commit.touch()

    def _sentence(self, error: BaseException) -> str:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            free = shutil.disk_usage(self.folder).free
            return (
                f"The disk of {self.folder} is full ({free / 1e6:.1f} MB free): "
                "make room there, the store then goes on by itself."
            )
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        return f"Writing to the store in {self.folder} failed: {error} ({name})."

    def _one(self, query: str) -> Any:
        return self._db.execute(query).fetchone()[0]
