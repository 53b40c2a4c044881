"""Questions to a store: bags, results, attempts, machines, decisions. A reader cannot write."""

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from bats.common.errors import StoreDamagedError, UsageError
from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.outcomes.values import Value, values_of
from bats.common.records import dataclass
from bats.master.brain.protocol.numbering import FIRST_POOL, from_table, in_old_tables
from bats.master.store import database, journal_chunks
from bats.master.store.result_rows import COLUMNS, result_from
from bats.master.store.rows import (
    AdditionRow,
    BagRow,
    DecisionRow,
    LearnedRow,
    MachineRow,
    addition_checksum,
    bag_checksum,
)

SORTABLE: Final = (
    "task", "attempt", "machine", "cluster", "started", "outcome", "exit_code", "wall_seconds",
    "user_seconds", "system_seconds", "peak_kib", "output_bytes",
)  # fmt: skip

VALUE: Final = "value."
"""The prefix to the name of a value that results are sorted by."""

_PIECE: Final = 1000  # rows at a time: no long transaction keeps the log from being emptied
_GOLDEN: Final = 2_654_435_769  # of 2³²; its multiples have great gaps nowhere
_ATTEMPT: Final = ", ".join(COLUMNS)


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """A choice of results, and their order. Empty means any."""

    text: str = ""  # in the excerpt or the cluster's name; a number: of the task, or in a failure
    outcomes: tuple[Outcome, ...] = ()
    cluster: str = ""
    machine: MachineId | None = None
    sort: str = "task"
    descending: bool = False
    offset: int = 0
    limit: int = 100


_EVERY_TASK: Final = TaskQuery()


class Page(NamedTuple):
    rows: list[Result]
    total: int  # how many there are on all pages


class ClusterRow(NamedTuple):
    """A bag's results on one cluster."""

    cluster: str
    results: int
    done: int
    mean_seconds: float  # of those done, as the next
    longest_seconds: float
    peak_kib: int


class Reader:
    """A connection of its own, for one thread at a time; sees all that is committed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._db = database.open_reading(folder)
        self._db.create_function("value_of", 2, _value_of, deterministic=True)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def master_id(self) -> str:
        """The mark of this store's machines at every provider."""
        ((found,),) = self._all("SELECT value FROM meta WHERE key = 'master'")
        return str(found)

    # --- bags -----------------------------------------------------------------------------------

    def bags(self) -> list[BagRow]:
        """All that were not pruned; `spec` and `settings`, which may be large, are left empty."""
        columns = ", ".join(
            f"x'' AS {name}" if name in ("spec", "settings") else name for name in BagRow._fields
        )
        return [BagRow(*row) for row in self._all(f"SELECT {columns} FROM bags ORDER BY id")]

    def bag(self, bag: BagId) -> BagRow:
        columns = ", ".join(BagRow._fields)
        found = self._all(f"SELECT crc, {columns} FROM bags WHERE id = ?", bag)
        if not found:
            there = ", ".join(str(row.id) for row in self.bags()) or "none"
            raise UsageError(f"There is no bag {bag} in the store; there are: {there}.")
        crc, *fields = found[0]
        row = BagRow(*fields)
        if bag_checksum(row.spec, row.settings) != crc:
            raise StoreDamagedError(
                f"The store is damaged: the description of bag {bag} is not whole."
            )
        return row

    def additions(self, bag: BagId) -> list[AdditionRow]:
        """The tasks that were added to it, in their order; a store of before 0.2.0 has none."""
        if not self._all("SELECT 1 FROM sqlite_master WHERE name = 'additions'"):
            return []
        low, high = database.keys_of(bag)
        query = "SELECT id, tasks, name, space, crc FROM additions WHERE id BETWEEN ? AND ?"
        found = []
        for at, tasks, name, space, crc in self._all(f"{query} ORDER BY id", low, high):
            if addition_checksum(tasks, name, space) != crc:
                raise StoreDamagedError(
                    f"The store is damaged: tasks that were added to bag {bag} are not whole."
                )
            found.append(AdditionRow(bag, TaskId(at - low), tasks, name, space))
        return found

    def events(self, bag: BagId, since: int = 0) -> Iterator[tuple[int, float, bytes]]:
        """The bag's journal from event number `since` on: number, time, event."""
        return journal_chunks.read(self._db, bag, since)

    def pools(self) -> list[BagId]:
        return list(map(BagId, journal_chunks.owners(self._db, FIRST_POOL)))

    def machines(self, bag: BagId | None = None) -> list[MachineRow]:
        where = "" if bag is None else "WHERE bag = ?"
        query = f"SELECT {', '.join(MachineRow._fields)} FROM machines {where} ORDER BY id"
        rows = self._all(query, *([] if bag is None else [bag]))
        found = (MachineRow(from_table(number), *rest) for number, *rest in rows)
        return list({row.id: row for row in found}.values())  # what was written last

    def decisions(self, bag: BagId) -> list[DecisionRow]:
        query = "SELECT bag, time, words FROM decisions WHERE bag = ? ORDER BY id"
        return [DecisionRow(*row) for row in self._all(query, bag)]

    def learned(self, template: str | None = None) -> list[LearnedRow]:
        """The experience with this command, or with all; a store of before 0.2.0 has none."""
        columns = {name for _, name, *_ in self._all("PRAGMA table_info(learned)")}
        if not columns:
            return []
        query = f"SELECT {', '.join(c for c in LearnedRow._fields if c in columns)} FROM learned"
        order = " ORDER BY template, offering"
        if template is None:
            return [LearnedRow(*row) for row in self._all(query + order)]
        found = self._all(f"{query} WHERE template = ?{order}", template)
        return [LearnedRow(*row) for row in found]

    def blobs(self, bag: BagId) -> list[str]:
        return [sha for (sha,) in self._all("SELECT sha256 FROM blobs WHERE bag = ?", bag)]

    # --- tasks ----------------------------------------------------------------------------------

    def outcomes(self, bag: BagId) -> dict[Outcome, int]:
        """The number of tasks for each way of ending."""
        query = "SELECT outcome, count(*) FROM results WHERE id BETWEEN ? AND ? GROUP BY outcome"
        return {Outcome(row[0]): row[1] for row in self._all(query, *database.keys_of(bag))}

    def tasks(self, bag: BagId, query: TaskQuery = _EVERY_TASK) -> Page:
        """One page of the results that match."""
        if query.sort not in SORTABLE and not query.sort.startswith(VALUE):
            raise UsageError(
                f"Results cannot be sorted by {query.sort!r}; choose one of {', '.join(SORTABLE)}, "
                f"or {VALUE}NAME for a value that tasks told."
            )
        where, values = _where(bag, query)
        order, names = "id" if query.sort == "task" else query.sort, []
        if query.sort.startswith(VALUE):
            told = f"CASE outcome WHEN {int(Outcome.DONE)} THEN value_of(excerpt, ?) END"
            order, names = f"{told} IS NULL, {told}", 2 * [query.sort.removeprefix(VALUE)]
        direction = "DESC" if query.descending else "ASC"
        (total,) = self._all(f"SELECT count(*) FROM results WHERE {where}", *values)[0]
        rows = self._all(
            f"SELECT {_ATTEMPT} FROM results WHERE {where} "
            f"ORDER BY {order} {direction}, id LIMIT ? OFFSET ?",
            *values,
            *names,
            query.limit,
            query.offset,
        )
        return Page([result_from(row) for row in rows], total)

    def every_task(self, bag: BagId, since: int = 0) -> Iterator[Result]:
        """All results in the order of the tasks, from one on, read in pieces."""
        low, high = database.keys_of(bag)
        low += since
        query = (
            f"SELECT {_ATTEMPT} FROM results WHERE id BETWEEN ? AND ? ORDER BY id LIMIT {_PIECE}"
        )
        while piece := self._all(query, low, high):
            yield from map(result_from, piece)
            low = piece[-1][0] + 1

    def value_types(self, bag: BagId) -> dict[str, type]:
        """The values that tasks told, in the order they were first told, and what each is."""
        query = (
            "SELECT excerpt FROM results WHERE id BETWEEN ? AND ? "
            f"AND outcome = {int(Outcome.DONE)} "
            "AND (excerpt LIKE '%=%' OR excerpt LIKE '%{%')"
        )
        found: dict[str, set[type]] = {}
        for (excerpt,) in self._rows(query, *database.keys_of(bag)):
            for name, value in values_of(excerpt).items():
                found.setdefault(name, set()).add(type(value))
        return {name: _common(kinds) for name, kinds in found.items()}

    def values(self, bag: BagId, most: int) -> list[tuple[TaskId, dict[str, Value]]]:
        """The values of about so many tasks, evenly chosen of those that are done.

        Every k-th would be of some values of a parameter only: they go round in a sweep. Multiples
        of the golden ratio are spread evenly over whatever goes round.
        """
        low, high = database.keys_of(bag)
        done = f"FROM results WHERE id BETWEEN ? AND ? AND outcome = {int(Outcome.DONE)}"
        ((count,),) = self._all(f"SELECT count(*) {done}", low, high)
        query = f"SELECT id, excerpt {done} AND (id - ?) * {_GOLDEN} % {1 << 32} < ? ORDER BY id"
        rows = self._rows(query, low, high, low, (most << 32) // max(most, count))
        return [(TaskId(at - low), told) for at, text in rows if (told := values_of(text))]

    def not_done(self, bag: BagId) -> list[TaskId]:
        """Tasks whose recorded result is a failure."""
        low, high = database.keys_of(bag)
        query = (
            f"SELECT id FROM results WHERE id BETWEEN ? AND ? AND outcome <> {int(Outcome.DONE)}"
        )
        return [TaskId(row[0] - low) for row in self._rows(query, low, high)]

    def busy_seconds(self, bag: BagId) -> dict[MachineId, float]:
        """The seconds of all attempts that ended on each machine."""
        low, high = database.keys_of(bag)
        query = " UNION ALL ".join(
            f"SELECT machine, wall_seconds FROM {table} WHERE id BETWEEN ? AND ?"
            for table in ("results", "attempts")
        )
        query = f"SELECT machine, total(wall_seconds) FROM ({query}) GROUP BY machine"
        busy: dict[MachineId, float] = {}
        for number, seconds in self._all(query, low, high, low, high):
            machine = from_table(number)
            busy[machine] = busy.get(machine, 0.0) + seconds
        return busy

    def ended_on(self, bag: BagId, machines: range) -> list[tuple[MachineId, str, int, float]]:
        """Tasks of the bag that have ended on each of these: its kind, how many, their seconds."""
        query = (
            "SELECT machine, max(cluster), count(*), total(wall_seconds) FROM results "
            "WHERE id BETWEEN ? AND ? AND machine BETWEEN ? AND ? GROUP BY machine ORDER BY machine"
        )
        span = (*database.keys_of(bag), machines.start, machines.stop - 1)
        return [(MachineId(one), *rest) for one, *rest in self._all(query, *span)]

    def left_by(self, bag: BagId, tasks: Sequence[int]) -> Iterator[Result]:
        """The results of these tasks that are done, by rising number; they name what was left."""
        query = f"SELECT {_ATTEMPT} FROM results WHERE outcome = {int(Outcome.DONE)} AND "
        if isinstance(tasks, range) and tasks.step == 1 and tasks:
            span = database.key(bag, tasks[0]), database.key(bag, tasks[-1])
            yield from map(result_from, self._rows(query + "id BETWEEN ? AND ? ORDER BY id", *span))
            return
        for task in sorted(tasks):
            at = database.key(bag, task)
            yield from map(result_from, self._rows(query + "id = ?", at))

    def story(self, bag: BagId, task: TaskId) -> list[Result]:
        """All that is known of the attempts of one task, its result included."""
        at = database.key(bag, task)
        rows = self._all(
            f"SELECT {_ATTEMPT} FROM attempts WHERE id = ? "
            f"UNION ALL SELECT {_ATTEMPT} FROM results WHERE id = ? ORDER BY attempt",
            at,
            at,
        )
        return [result_from(row) for row in rows]

    def every_attempt(self, bag: BagId) -> Iterator[Result]:
        """The attempts that did not become their task's result."""
        query = f"SELECT {_ATTEMPT} FROM attempts WHERE id BETWEEN ? AND ? ORDER BY id, attempt"
        return map(result_from, self._rows(query, *database.keys_of(bag)))

    def clusters(self, bag: BagId) -> list[ClusterRow]:
        done = f"FILTER (WHERE outcome = {int(Outcome.DONE)})"
        query = f"""
            SELECT cluster, count(*), count(*) {done},
                coalesce(avg(wall_seconds) {done}, 0),
                coalesce(max(wall_seconds) {done}, 0),
                coalesce(max(peak_kib), 0)
            FROM results WHERE id BETWEEN ? AND ? GROUP BY cluster ORDER BY cluster
        """
        return [ClusterRow(*row) for row in self._all(query, *database.keys_of(bag))]

    def runtimes(self, bag: BagId, cluster: str) -> "array[float]":
        """Wall seconds of all tasks done there, shortest first."""
        query = (
            "SELECT wall_seconds FROM results WHERE id BETWEEN ? AND ? AND cluster = ? "
            f"AND outcome = {int(Outcome.DONE)} ORDER BY wall_seconds"
        )
        rows = self._rows(query, *database.keys_of(bag), cluster)
        return array("d", (seconds for (seconds,) in rows))

    def _all(self, query: str, *values: Any) -> list[Any]:
        return list(self._rows(query, *values))

    def _rows(self, query: str, *values: Any) -> Iterator[Any]:
        try:
            yield from self._db.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise database.unreadable(error, self._folder) from error


def _value_of(excerpt: str, name: str) -> Value | None:
    return values_of(excerpt).get(name)


def _common(kinds: set[type]) -> type:
    if len(kinds) == 1:
        return next(iter(kinds))
    return float if kinds == {int, float} else str


def _where(bag: BagId, query: TaskQuery) -> tuple[str, list[Any]]:
    clauses, values = ["id BETWEEN ? AND ?"], list[Any](database.keys_of(bag))
    if query.outcomes:
        clauses.append(f"outcome IN ({', '.join('?' * len(query.outcomes))})")
        values += map(int, query.outcomes)
    if query.cluster:
        clauses.append("cluster = ?")
        values.append(query.cluster)
    if query.machine is not None:
        clauses.append("machine IN (?, ?)")
        values += [query.machine, in_old_tables(query.machine)]
    if query.text:
        contained = "instr(lower(excerpt), lower(?)) OR instr(lower(cluster), lower(?))"
        number = int(query.text) if query.text.isascii() and query.text.isdigit() else -1
        if number >= 0:  # of one task, then; what others computed is full of numbers
            contained = f"outcome <> {int(Outcome.DONE)} AND ({contained})"
        is_it = 0 <= number < 1 << database.SHIFT
        clauses.append(f"({contained} OR id = ?)")
        values += [query.text, query.text, database.key(bag, number) if is_it else -1]
    return " AND ".join(clauses), values
