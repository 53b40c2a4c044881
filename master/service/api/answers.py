"""Answers to clients: the store's rows and a running engine's numbers, as plain data."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO, cast

from bats.common.errors import UsageError, quoted
from bats.common.folders import printed_path
from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import Money, as_decimal
from bats.master.brain.books.state import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.planning.schedules import Schedule, pick
from bats.master.brain.views.investments import lengths
from bats.master.brain.views.view import view
from bats.master.brain.views.waits import why_wait
from bats.master.service.api.plain_data import plain
from bats.master.service.bags.bag import OPEN, PAUSED, Bag, bag_from
from bats.master.service.bags.explanations import ways_out
from bats.master.service.bags.runner import Runner
from bats.master.store.export import run_as_jsonl, tasks_as_csv, tasks_as_jsonl
from bats.master.store.reader import Reader, TaskQuery
from bats.master.store.results import told
from bats.master.store.rows import BagRow, MachineRow

Body = dict[str, Any]

_PIECE: Final = 2000  # results in a chunk
_PIECE_BYTES: Final = 256 << 10  # of a log
_EXPORT_BYTES: Final = 256 << 10


def find_bag(reader: Reader, wanted: Any) -> BagId:
    """The bag of that number or name, or the last one. Raises UsageError."""
    rows = reader.bags()
    if not rows:
        raise UsageError("There is no bag yet; submit one.")
    if wanted in (None, "last"):
        return rows[-1].id
    if isinstance(wanted, str) and wanted.isdecimal():
        wanted = int(wanted)
    found = [row.id for row in rows if wanted in (row.id, row.name)]
    if found:
        return found[-1]
    known = ", ".join(f"{row.id} ({row.name})" for row in rows[-10:])
    raise UsageError(f"There is no bag {quoted(wanted)}; there are {known}.")


def bag_rows(reader: Reader, running: BagId | None) -> list[tuple[BagRow, Body]]:
    """Every bag, with what was last to be seen of it; of one that runs, its engine knows better."""
    return [(row, {} if row.id == running else _last_seen(reader, row)) for row in reader.bags()]


def _last_seen(reader: Reader, row: BagRow) -> Body:
    """The last view, as told at the bag's end; after a kill of the master, results are counted."""
    summary = json.loads(row.summary) if row.summary else {}
    if (view := summary.get("view")) or not summary.get("began"):
        return dict(view or {})
    outcomes = reader.outcomes(row.id)
    done = outcomes.pop(Outcome.DONE, 0)
    return {"done": done, "failed": sum(outcomes.values())}


def bag_row(row: BagRow, last: Body, running: Runner | None) -> Body:
    summary = json.loads(row.summary) if row.summary else {}
    facts = {
        "bag": row.id,
        "name": row.name,
        "tasks": row.tasks,
        "state": row.state,
        "created": row.created,
        "began": summary.get("began"),
        "ended": row.ended,
        "words": summary.get("words", ""),
    }
    if running is not None and running.id == row.id:
        counts = running.engine.run.tasks.counts
        facts |= {
            "phase": running.engine.run.phase.value,
            "done": counts[TaskState.DONE],
            "failed": counts[TaskState.FAILED],
            "paused": _paused(row.id, plain(running.engine.run.pause)),
        }
    else:
        facts |= {key: last[key] for key in ("done", "failed", "spent") if key in last}
        if row.state == PAUSED:
            facts["paused"] = _paused(row.id, last.get("paused"))
    return facts


# --- status ---------------------------------------------------------------------------------------


def status(runner: Runner) -> Body:
    bag = runner.bag
    facts = plain(view(runner.engine.run, runner.clock() if not runner.engine.over else 0.0))
    facts["paused"] = _paused(bag.id, facts["paused"])
    return {**_of_bag(bag), **facts, "over": runner.engine.over or bag.state not in OPEN}


def status_unbegun(bag: Bag, running: Runner | None) -> Body:
    behind = ""
    if running is not None:
        behind = f"waits for bag {running.id}"
        if running.engine.run.phase is Phase.CHOOSING:
            number = running.id
            behind += f", which waits for `bats choose --bag {number}` or `bats cancel {number}`"
    return {**_of_bag(bag), "total": bag.sweep.count, "words": behind, "over": False}


def status_ended(reader: Reader, number: BagId) -> Body:
    bag = bag_from(row := reader.bag(number))
    last = _last_seen(reader, row)
    if bag.state == PAUSED:
        last["paused"] = _paused(number, last.get("paused"))
    return {**_of_bag(bag), "total": bag.sweep.count, **last, "over": bag.state not in OPEN}


def _paused(bag: BagId, pause: Mapping[str, Any] | None) -> Body | None:
    """The reason why a bag is paused, and what its user may do."""
    if pause is None:
        return None
    ways = ways_out(bag, pause["task"], again=pause["again"])
    return {**{key: pause[key] for key in ("reason", "since", "task", "again")}, "ways": ways}


def _of_bag(bag: Bag) -> Body:
    return {
        "bag": bag.id,
        "name": bag.name,
        "state": bag.state,
        "words": bag.words,
        "created": bag.created,
        "began": bag.began,
        "ended": bag.ended,
        "currency": bag.settings.currency,
        "output_folder": bag.output_folder,
    }


def schedules(runner: Runner, bounded: Sequence[Schedule]) -> Body:
    run = runner.engine.run
    return {
        "bag": runner.id,
        "phase": run.phase.value,
        "chosen": run.chosen,
        "balanced": pick(run.schedules, "balanced").name if run.schedules else "",
        "currency": runner.bag.settings.currency,
        "clusters": [one.name for one in runner.bag.settings.offerings],
        "committed": run.chosen_committed if run.chosen else run.ledger.committed,
        "schedules": plain(tuple(bounded)),
    }


def explain(runner: Runner) -> Body:
    """The numbers behind the plan: what the sample said, what was chosen, what is expected."""
    run = runner.engine.run
    clusters = [
        {
            "name": c.offering.name,
            "known": (known := lengths(run, c.index)).count,
            "mean_seconds": known.mean_done if known.count else None,
            "line": plain(c.line),
            "start_seconds": c.start_seconds,
            "start_failures": c.start_failures,
            "set_aside": c.set_aside,
        }
        for c in run.clusters
    ]
    plan = run.plan
    return {
        **status(runner),
        "sample_size": run.sample.size if run.sample else 0,
        "profiles": clusters,
        "cushion": run.cushion,
        "delta_n": run.delta_n,
        "plan": plan
        and {
            "mix": list(plan.mix),
            "tasks": plan.tasks,
            "makespan_seconds": plan.makespan_seconds,
            "at": plan.at,
        },
    }


def machines(rows: list[MachineRow], runner: Runner | None) -> list[Body]:
    """Every machine the bag ever had; those that live, with what the engine knows of them."""
    living: dict[MachineId, Body] = {}
    if runner is not None:
        rows = list({row.id: row for row in (*rows, *runner.machines.values())}.values())
        now = runner.clock()
        living = {MachineId(m.id): plain(m) for m in view(runner.engine.run, now).machines}
    told = []
    for row in rows:
        facts = plain(row)
        del facts["public_key"]
        facts |= living.get(row.id, {"state": "gone"})
        told.append({**facts, "id": row.id, "number": row.id})
    return told


# --- tasks ----------------------------------------------------------------------------------------


def with_parameters(reader: Reader, number: BagId) -> Bag:
    return bag_from(reader.bag(number))


def task_query(body: Mapping[str, Any]) -> TaskQuery:
    usual = TaskQuery()
    outcomes = body.get("outcomes") or []
    known = {one.name.lower(): one for one in Outcome}
    if not isinstance(outcomes, list) or any(one not in known for one in outcomes):
        raise UsageError(
            f"`outcomes` should be a list of {', '.join(known)}, not {quoted(outcomes)}."
        )
    for key, kind in (("offset", int), ("limit", int), ("filter", str), ("sort", str)):
        if body.get(key) is not None and type(body[key]) is not kind:
            raise UsageError(f"`{key}` cannot be {quoted(body[key])}.")
    machine = body.get("machine")
    return TaskQuery(
        text=body.get("filter") or "",
        outcomes=tuple(known[one] for one in outcomes),
        cluster=str(body.get("cluster") or ""),
        machine=MachineId(machine) if type(machine) is int else None,
        sort=body.get("sort") or usual.sort,
        descending=bool(body.get("descending")),
        offset=max(0, body.get("offset") or 0),
        limit=min(max(1, body.get("limit") or usual.limit), 10_000),
    )


def task_row(row: Result, bag: Bag) -> Body:
    return {
        **told(row),
        "parameters": bag.sweep.parameters(row.task) if row.task < bag.sweep.count else {},
    }


Rates = Mapping[MachineId, float]
"""The price of a task's second on each machine, in billionths."""


def living_costs(runner: Runner | None) -> dict[MachineId, Money]:
    """The bills so far of machines that live."""
    if runner is None:
        return {}
    living = view(runner.engine.run, runner.clock()).machines
    return {MachineId(one.id): one.cost for one in living}


def cost_rates(reader: Reader, number: BagId, living: Mapping[MachineId, Money]) -> Rates:
    """Each machine's bill, spread over what its tasks took: its idle time is theirs too."""
    costs = {**{row.id: row.cost for row in reader.machines(number)}, **living}
    busy = reader.busy_seconds(number)
    return {machine: costs.get(machine, 0) / busy[machine] for machine in busy if busy[machine]}


def cost_share(row: Result, rates: Rates) -> Money:
    return Money(int(rates.get(row.machine, 0.0) * row.wall_seconds))  # all never exceed the bill


def output_files(row: Result) -> list[str]:
    """Files that were fetched besides what the task printed, as named in its folder."""
    return [name for name, *_ in row.outputs if name not in {"stdout", "stderr"}]


def piece_of_results(reader: Reader, number: BagId, since: int) -> list[Result]:
    return list(islice(reader.every_task(number, TaskId(since)), _PIECE))


def story(reader: Reader, number: BagId, task: TaskId, runner: Runner | None) -> Body:
    """Everything that is known of one task."""
    bag = bag_from(reader.bag(number))
    if task >= bag.sweep.count:
        raise UsageError(f"Bag {number} has tasks 0 to {bag.sweep.count - 1}, no {task}.")
    attempts = reader.story(number, task)
    told: Body = {
        "bag": number,
        "task": task,
        "parameters": bag.sweep.parameters(task),
        "command": bag.sweep.preview(task),
        "attempts": [task_row(row, bag) for row in attempts],
        "running": [],
    }
    if runner is not None:
        tasks, now = runner.engine.run.tasks, runner.clock()
        told["state"] = TaskState(tasks.states[task]).name.lower()
        if tasks.states[task] == TaskState.WAITING:
            told["waits"] = why_wait(runner.engine.run)
        told["failures"], told["losses"] = tasks.failures.get(task, 0), tasks.losses.get(task, 0)
        for attempt in list(tasks.running.get(task, ())):
            machine = runner.engine.run.machines[attempt.machine]
            active = task in machine.active
            told["running"].append(
                {
                    "attempt": attempt.attempt,
                    "machine": attempt.machine,
                    "cluster": machine.offering.name,
                    "state": "running" if active else "queued",
                    "seconds": now - attempt.since if active else None,
                    "sampling": attempt.sampling,
                }
            )
    else:
        told["state"] = "done" if any(r.outcome is Outcome.DONE for r in attempts) else "not done"
    return told


def output(
    reader: Reader, number: BagId, task: TaskId, attempt: int, stream: str, offset: int
) -> Body:
    """A piece of what a task wrote; `attempt` 0 is the one whose result counts."""
    bag = bag_from(reader.bag(number))
    attempts = reader.story(number, task)
    if not attempts:
        raise UsageError(
            f"Task {task} of bag {number} has not ended yet; there is no output of it."
        )
    counts = max(attempts, key=lambda row: (row.outcome is Outcome.DONE, row.attempt)).attempt
    attempt = attempt or counts
    path = Path(bag.output_folder, printed_path(task, attempt, stream))
    try:
        with path.open("rb") as file:
            total = file.seek(0, 2)
            file.seek(min(offset, total))
            data = file.read(_PIECE_BYTES)
        missing = False
    except FileNotFoundError:
        data, total = b"", 0
        sent = {name for row in attempts if row.attempt == attempt for name, *_ in row.outputs}
        missing = f"std{stream}" in sent
    return {
        "bag": number,
        "task": task,
        "attempt": attempt,
        "path": str(path),
        "data": data,
        "offset": offset,
        "total": total,
        "counts": attempt == counts,
        "missing": missing,  # it is on its way from the machine
    }


# --- export ---------------------------------------------------------------------------------------


def export(
    reader: Reader,
    number: BagId,
    form: str,
    put: Callable[[str], None],
    living: Mapping[MachineId, Money],
) -> None:
    """`form`: `jsonl` or `csv` for the tasks, `run` for all that is known."""
    bag = bag_from(reader.bag(number))
    out = _Pieces(put)
    sweep = bag.sweep
    if form == "jsonl":
        tasks_as_jsonl(reader.every_task(number), cast("TextIO", out), sweep.names, sweep.values)
    elif form == "csv":
        rates = cost_rates(reader, number, living)
        more: dict[str, Callable[[Result], object]] = {
            "cost_share": lambda row: f"{as_decimal(cost_share(row, rates)).normalize():f}",
            "outputs": lambda row: " ".join(output_files(row)),
        }
        rows = reader.every_task(number)
        tasks_as_csv(rows, cast("TextIO", out), sweep.names, sweep.values, more)
    elif form == "run":
        run_as_jsonl(reader, number, cast("TextIO", out))
    else:
        raise UsageError(f"`format` should be jsonl, csv or run, not {quoted(form)}.")
    out.flush()


class _Pieces:
    """Takes text like a file, and passes it on in pieces."""

    def __init__(self, put: Callable[[str], None]) -> None:
        self._put = put
        self._held: list[str] = []
        self._size = 0

    def write(self, text: str) -> int:
        self._held.append(text)
        self._size += len(text)
        if self._size >= _EXPORT_BYTES:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self._held:
            self._put("".join(self._held))
        self._held, self._size = [], 0
