"""The account afterwards: what tasks and processes say themselves, against what the master says."""

import hashlib
import json
import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack

from bats.common.folders import output_path
from bats.common.messages import BagId, Result
from bats.master.bag import Bag, read_bag
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.numbering import bag_of
from bats.master.queries.replay import Recorded, Replayed
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow

from .bed import Bed

UNSURE_SECONDS: Final = 0.3  # how exactly the end of a process is seen from outside
BRIEF_SECONDS: Final = 2.0  # a process that did not live so long may not have been seen
REACTION_SECONDS: Final = 2.0  # from a result that is stored to who still holds a copy
REMEMBERED_SECONDS: Final = 15.0  # so long after harm was done, orders from before may be about
FAREWELL_SECONDS: Final = 5.0  # before its end, in which a machine could reach its master
UNKILLABLE_SECONDS: Final = 10.0  # beyond its lease, for a machine that cannot end its tasks
STRAY_SECONDS: Final = 12.0  # the longest freeze, and a few seconds to end what was below


NOT_AGAIN: Final = "attempts; none after its task's result was stored"


class Note(NamedTuple):
    """A note of a task: that it starts, or that it has done its work."""

    what: str
    bag: int
    task: int
    attempt: int
    machine: int
    at: float


@dataclass(slots=True)
class Account:
    """All that is known when the drill is over."""

    bed: Bed
    statuses: dict[int, dict[str, Any]]
    notes: list[Note] = field(default_factory=list)
    rows: dict[int, list[Result]] = field(default_factory=dict)
    machines: list[MachineRow] = field(default_factory=list)
    duplicates: dict[int, int] = field(default_factory=dict)
    others: set[tuple[int, int, int]] = field(default_factory=set)  # attempts kept beside
    reserved: dict[int, int] = field(default_factory=dict)  # ATUs, by machine
    samples: set[tuple[int, int, int]] = field(default_factory=set)  # attempts, for their runtime
    in_order: set[int] = field(default_factory=set)  # machines that ended in order, unharmed
    left_over: list[str] = field(default_factory=list)  # processes after the master's end

    def offering(self, name: str) -> dict[str, Any]:
        (made,) = [one for one in self.bed.offerings if one["name"] == name]
        return made

    def prices(self, offering: str, uptime: float) -> set[int]:
        """Prices that so long may have had, seen from outside."""
        made = self.offering(offering)
        return {
            max(1, math.ceil(max(0.0, uptime + unsure) / made["atu_seconds"])) * made["price"]
            for unsure in (-UNSURE_SECONDS, 0.0, UNSURE_SECONDS)
        }

    def read(self) -> None:
        for path in self.bed.logs.iterdir():
            for line in path.read_text().splitlines():
                what, task, attempt, machine, at = line.split()
                note = Note(what, int(path.name), int(task), int(attempt), int(machine), float(at))
                self.notes.append(note)
        for ended in (self.bed.state / "local").glob("*/*/ended.json"):
            machine = self.bed.watch.machines.get(int(ended.parent.name))
            if machine and json.loads(ended.read_text())["code"] == 0:
                ended_at = machine.ended or math.inf
                if not self.bed.harmed(machine.number, ended_at - FAREWELL_SECONDS, ended_at):
                    self.in_order.add(machine.number)
        with Reader(self.bed.state) as reader:
            for number in self.bed.bags:
                self.rows[number] = list(reader.every_task(BagId(number)))
                self.duplicates[number] = reader.bag(BagId(number)).duplicates
                bag = read_bag(reader, BagId(number))
                if bag.began is not None:
                    self._replay(bag, reader)
            self.machines = reader.machines()
        with sqlite3.connect(self.bed.state / "store.db") as books:
            for key, attempt in books.execute("SELECT id, attempt FROM attempts"):
                self.others.add((key >> 40, key & ((1 << 40) - 1), attempt))

    def _replay(self, bag: Bag, reader: Reader) -> None:
        replayed = Replayed(bag, Recorded.of(bag, reader))
        run = replayed.engine.run
        for _, now, written in reader.events(bag.id):
            replayed.hear(event_from(msgpack.unpackb(written), bag.id), now)
            for machine in run.pool.alive():
                self.samples |= {
                    (bag.id, one.task, one.attempt) for one in machine.attempts() if one.sampling
                }
        own = [one for one in run.pool.machines.values() if bag_of(one.id) == bag.id]
        self.reserved |= {machine.id: machine.atus for machine in own}  # not those it borrowed


@dataclass(frozen=True, slots=True)
class Check:
    promise: str
    looked_at: int
    violations: tuple[str, ...]


def _bags_complete(account: Account) -> tuple[int, list[str]]:
    wrong = [] if account.statuses else ["no bag was ever run"]
    for number, status in account.statuses.items():
        if status.get("state") != "complete":
            wrong.append(f"bag {number} is {status.get('state')}: {status.get('words')}")
    return len(account.statuses), wrong


def _recorded_once(account: Account) -> tuple[int, list[str]]:
    """Every task has one result, of an attempt that did its work on that machine."""
    ended = {n[1:5] for n in account.notes if n.what == "end"}
    wrong, looked = [], 0
    for number, status in account.statuses.items():
        rows = account.rows[number]
        looked += status["total"]
        times = Counter(row.task for row in rows if row.outcome == 0)
        wrong += [
            f"task {task} of bag {number} is recorded {times[task]} times"
            for task in range(status["total"])
            if times[task] != 1
        ]
        wrong += [
            f"task {row.task} of bag {number}: attempt {row.attempt} on machine {row.machine} is "
            "recorded as done and did not do its work"
            for row in rows
            if row.outcome == 0 and (number, row.task, row.attempt, row.machine) not in ended
        ]
    return looked, wrong


def _inputs_were_there(account: Account) -> tuple[int, list[str]]:
    wrong = [f"{note} found an input that is not whole" for note in account.notes
             if note.what == "wrong"]  # fmt: skip
    return sum(note.what == "start" for note in account.notes), wrong


def _files_are_here(account: Account) -> tuple[int, list[str]]:
    """What a recorded attempt left lies in its bag's output folder, whole."""
    wrong, looked = [], 0
    for number, rows in account.rows.items():
        for row in (row for row in rows if row.outcome == 0):
            looked += 1
            sums = {name: sha256 for name, sha256, _ in row.outputs}
            path = output_path(row.task, row.attempt, "left")
            place = Path(account.statuses[number]["output_folder"], path or "")
            if "left" not in sums or not place.is_file():
                wrong.append(f"task {row.task} of bag {number}: what it left is not there")
            elif hashlib.sha256(place.read_bytes()).hexdigest() != sums["left"]:
                wrong.append(f"task {row.task} of bag {number}: what it left is another's")
    return looked, wrong


def _not_lost(account: Account) -> tuple[int, list[str]]:
    """Check that work of machines which ended in order, and could tell, was told to the master.

    Where the attempt that is recorded had begun by then, it was a copy's: nothing was done again.
    """
    began = {note[1:5]: note.at for note in account.notes if note.what == "start"}
    done = {
        (number, row.task): began.get((number, row.task, row.attempt, row.machine), math.inf)
        for number, rows in account.rows.items()
        for row in rows
        if row.outcome == 0
    }
    recorded = {
        (number, row.task, row.attempt, row.machine)
        for number, rows in account.rows.items()
        for row in rows
    }
    missing: dict[int, list[Note]] = defaultdict(list)
    looked = 0
    for note in account.notes:
        if note.what != "end" or note.machine not in account.in_order:
            continue
        looked += 1
        known = note[1:5] in recorded or note[1:4] in account.others
        if not known and done.get(note[1:3], math.inf) > note.at:
            missing[note.bag].append(note)
    wrong = []
    for number, notes in missing.items():
        if len(notes) > account.duplicates[number]:
            wrong.append(
                f"bag {number}: {len(notes)} attempts did their work and are not recorded, "
                f"{account.duplicates[number]} came again; the first is {notes[0]}"
            )
    return looked, wrong


def _not_again(account: Account) -> tuple[int, list[str]]:
    """Nothing starts whose result was stored, unless an order from before was held up.

    The sample runs a task that is done on the other kinds of machines, to compare them.
    """
    starts = [note for note in account.notes if note.what == "start"]
    wrong = []
    for key, times in Counter(note[1:5] for note in starts).items():
        if times > 1:
            wrong.append(f"bag, task, attempt, machine {key} ran {times} times")
    for note in starts:
        stored = account.bed.known_done.get((note.bag, note.task), math.inf)
        meant = note[1:4] in account.samples or _held_up(account.bed, note)
        if note.at > stored + REACTION_SECONDS and not meant:
            late = note.at - stored
            wrong.append(f"{note} began {late:.1f} s after the task's result was stored")
    return len(starts), wrong


def _held_up(bed: Bed, note: Note) -> bool:
    return bed.harmed(note.machine, note.at - REMEMBERED_SECONDS, note.at)


def _no_orphans(account: Account) -> tuple[int, list[str]]:
    watch = account.bed.watch
    wrong = [
        f"process {pid} ({stray.name}) lived {stray.until - stray.since:.1f} s below no machine"
        for (pid, _), stray in watch.strays.items()
        if stray.until - stray.since > STRAY_SECONDS
    ]
    wrong += [f"{who} is still there after the master's end" for who in account.left_over]
    return len(watch.strays), wrong


def _ledger_agrees(account: Account) -> tuple[int, list[str]]:
    """Each machine costs what its process's uptime costs, by our own sums."""
    wrong = []
    booked = {row.id: row for row in account.machines}
    for number, machine in account.bed.watch.machines.items():
        row = booked.get(number)
        if row is None:
            wrong.append(f"machine {number} was up {machine.uptime:.2f} s and is in no book")
        elif row.gone is None:
            wrong.append(f"machine {number} is gone and the book says it lives")
        elif row.cost not in (due := account.prices(row.offering, machine.uptime)):
            wrong.append(
                f"machine {number} was up {machine.uptime:.2f} s, which costs {sorted(due)}; "
                f"the ledger says {row.cost} ({row.charged_since} to {row.gone}, {row.reason!r})"
            )
    for number, row in booked.items():
        brief = row.gone is not None and row.gone - (row.charged_since or 0.0) < BRIEF_SECONDS
        if number not in account.bed.watch.machines and row.cost and not brief:
            wrong.append(f"machine {number} never ran and is charged {row.cost} ({row.reason!r})")
    return len(booked), wrong


def _spent_is_the_sum(account: Account) -> tuple[int, list[str]]:
    wrong = []
    for number, status in account.statuses.items():
        total = sum(row.cost for row in account.machines if row.bag == number)
        if status["spent"] != total:
            wrong.append(f"bag {number} says {status['spent']}, its machines cost {total}")
    return len(account.statuses), wrong


def _budget_kept(account: Account) -> tuple[int, list[str]]:
    wrong = []
    for number, status in account.statuses.items():
        machines = [m for m in account.bed.watch.machines.values() if m.number // 10**6 == number]
        names = {row.id: row.offering for row in account.machines}
        least = sum(
            min(account.prices(names[m.number], m.uptime)) for m in machines if m.number in names
        )
        if least > status["budget"]:
            wrong.append(f"bag {number} cost at least {least}, its budget is {status['budget']}")
    return len(account.statuses), wrong


def _reservations_kept(account: Account) -> tuple[int, list[str]]:
    """No machine lived into an ATU that the ledger had not reserved before."""
    wrong = []
    booked = {row.id: row for row in account.machines}
    for number, machine in account.bed.watch.machines.items():
        atus = account.reserved.get(number)
        if atus is None or number not in booked:
            continue  # told of by another check
        paid = atus * account.offering(booked[number].offering)["atu_seconds"]
        late = UNKILLABLE_SECONDS if number in account.bed.watch.unkillable else UNSURE_SECONDS
        if machine.uptime > paid + late:
            wrong.append(
                f"machine {number} was up {machine.uptime:.2f} s, reserved were {paid:g} s "
                f"({booked[number].reason!r})"
            )
    return len(account.reserved), wrong


def _masters_live(account: Account) -> tuple[int, list[str]]:
    log = account.bed.master_log.read_text()
    wrong = list(account.bed.deaths)
    wrong += [_around(found) for line in log.splitlines() if (found := _OF_A_BUG.search(line))]
    return len(log.splitlines()), wrong


_OF_A_BUG: Final = re.compile("Traceback|broken by a bug|fleet loop failed|could not be taken in")


def _around(found: re.Match[str]) -> str:
    """What machines wrote stands in one long line: that it is of a bug says its middle."""
    return found.string[max(0, found.start() - 200) : found.end() + 1200]


CHECKS: Final[dict[str, Callable[[Account], tuple[int, list[str]]]]] = {
    "bags are done": _bags_complete,
    "tasks recorded exactly once": _recorded_once,
    "tasks that began with their inputs, whole": _inputs_were_there,
    "files of recorded tasks are there, whole": _files_are_here,
    "results lost: none": _not_lost,
    NOT_AGAIN: _not_again,
    "processes outside of machines ended soon": _no_orphans,
    "machines cost what their uptime costs": _ledger_agrees,
    "bags have spent what their machines cost": _spent_is_the_sum,
    "machines lived no longer than was reserved": _reservations_kept,
    "budgets kept": _budget_kept,
    "lines the master logged, none of a bug": _masters_live,
}


def check_all(account: Account) -> list[Check]:
    checks = []
    for name, check in CHECKS.items():
        looked_at, wrong = check(account)
        checks.append(Check(name, looked_at, tuple(wrong)))
    return checks
