"""Tasks of a bag: their results, what they cost, all that is known of one."""

from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import Money
from bats.master.bag import Bag, bag_from
from bats.master.plain_data import plain
from bats.master.queries.output import must_exist, whole_output
from bats.master.queries.question import Body, LiveBag, Question
from bats.master.store.reader import Reader, TaskQuery
from bats.master.store.results import told

_PIECE: Final = 2000  # results in a chunk
_OUTPUTS_CHARACTERS: Final = 4 << 20  # of whole outputs in a chunk, but for the last of them


async def tasks(question: Question) -> Body:
    number = await question.bag()
    query = task_query(question.body)
    bag = await question.read(lambda reader: with_parameters(reader, number))
    page = await question.read(lambda reader: reader.tasks(number, query))
    return {
        "bag": number,
        "total": page.total,
        "tasks": [task_row(row, bag) for row in page.rows],
    }


async def task(question: Question) -> Body:
    number, task = await question.bag(), TaskId(question.whole("task"))
    at_work = question.at_work(number)
    return await question.read(lambda reader: story(reader, number, task, at_work))


async def results(question: Question) -> Body:
    """All results in the order of the tasks, from task `since` on, in chunks.

    `types` of a chunk says what the parameters are; asked for `columns`, `value_types` likewise
    for the values told. Asked for `output`, each result has all of what it wrote to stdout.
    """
    number, since = await question.bag(), question.whole("since", 0)
    count = 0
    living = living_costs(question.at_work(number))
    rates = await question.read(lambda reader: cost_rates(reader, number, living))
    bag = await question.read(lambda reader: with_parameters(reader, number))
    columns = {"types": _named(bag.sweep.types())}
    if question.body.get("columns"):
        columns["value_types"] = _named(
            await question.read(lambda reader: reader.value_types(number))
        )
    whole = bool(question.body.get("output"))
    while True:
        look = partial(piece_of_results, number=number, since=since, bag=bag, whole=whole)
        rows = await question.read(look)
        if not rows:
            return {"bag": number, "count": count}
        count += len(rows)
        since = rows[-1][0].task + 1
        part = [
            {**task_row(row, bag), "cost_share": cost_share(row, rates), **more}
            for row, more in rows
        ]
        await question.part({"results": part, **columns})


def _named(types: Mapping[str, type]) -> dict[str, str]:
    """Types by the names that stand for them among facts: `int`, `float`, `bool`, `str`."""
    return {name: kind.__name__ for name, kind in types.items()}


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


def living_costs(at_work: LiveBag | None) -> dict[MachineId, Money]:
    """The bills so far of machines that live."""
    if at_work is None:
        return {}
    living = at_work.engine.view(at_work.clock()).machines
    return {MachineId(one.id): one.cost for one in living}


def cost_rates(reader: Reader, number: BagId, living: Mapping[MachineId, Money]) -> Rates:
    """Each machine's bill, spread over what its tasks took: its idle time is theirs too."""
    costs = {**{row.id: row.cost for row in reader.machines(number)}, **living}
    busy = reader.busy_seconds(number)
    return {machine: costs.get(machine, 0) / busy[machine] for machine in busy if busy[machine]}


def cost_share(row: Result, rates: Rates) -> Money:
    return Money(int(rates.get(row.machine, 0.0) * row.wall_seconds))  # all never exceed the bill


def output_files(row: Result) -> list[str]:
    """The files fetched besides its output, as named in its folder."""
    return [name for name, *_ in row.outputs if name not in {"stdout", "stderr"}]


def piece_of_results(
    reader: Reader, number: BagId, since: int, bag: Bag, *, whole: bool
) -> list[tuple[Result, Body]]:
    """Some of the results from task `since` on, and what else is told of each."""
    rows = islice(reader.every_task(number, TaskId(since)), _PIECE)
    if not whole:
        return [(row, {}) for row in rows]
    found, size = [], 0
    for row in rows:
        output = whole_output(bag, row)
        found.append((row, {"output": output}))
        size += len(output)
        if size > _OUTPUTS_CHARACTERS:
            break
    return found


def story(reader: Reader, number: BagId, task: TaskId, at_work: LiveBag | None) -> Body:
    """Everything that is known of one task."""
    bag = bag_from(reader.bag(number))
    must_exist(bag, task)
    attempts = reader.story(number, task)
    told: Body = {
        "bag": number,
        "task": task,
        "parameters": bag.sweep.parameters(task),
        "command": bag.sweep.preview(task),
        "attempts": [task_row(row, bag) for row in attempts],
        "running": [],
    }
    if at_work is not None:
        facts = at_work.engine.task(task, at_work.clock())
        told |= plain(facts)
        told["state"] = facts.state.name.lower()
        if not facts.waits:
            del told["waits"]
    else:
        told["state"] = "done" if any(r.outcome is Outcome.DONE for r in attempts) else "not done"
    return told
