"""Tasks of a bag: their results, what they cost, all that is known of one."""

from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Final, cast

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import Money
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetResults, GetTask, GetTasks
from bats.master.bag import Bag, read_bag
from bats.master.brain.books.precedence import Precedence
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.views.told.held_up import cut_off_by
from bats.master.plain_data import plain
from bats.master.queries.output import must_exist, whole_output
from bats.master.queries.question import LiveBag, Question
from bats.master.store.reader import Reader, TaskQuery
from bats.master.store.result_rows import told

_PIECE: Final = 2000  # results in a chunk
_LONGEST_PAGE: Final = 10_000
_OUTPUTS_CHARACTERS: Final = 4 << 20  # of whole outputs in a chunk, but for the last of them


@takes(GetTasks)
async def tasks(question: Question, want: GetTasks) -> replies.Tasks:
    number = await question.bag(want.bag)
    query = task_query(want)
    bag = await question.read(lambda reader: with_parameters(reader, number))
    page = await question.read(lambda reader: reader.tasks(number, query))
    return {
        "bag": number,
        "total": page.total,
        "tasks": [task_row(row, bag) for row in page.rows],
    }


@takes(GetTask)
async def task(question: Question, want: GetTask) -> replies.Task:
    number, task = await question.bag(want.bag), TaskId(want.task)
    at_work = question.at_work(number)
    return await question.read(lambda reader: story(reader, number, task, at_work))


@takes(GetResults)
async def results(question: Question, want: GetResults) -> replies.Results:
    """All results in the order of the tasks, from task `since` on, in chunks.

    `types` of a chunk says what the parameters are; asked for `columns`, `value_types` likewise
    for the values told. Asked for `output`, each result has all of what it wrote to stdout.
    """
    number, since = await question.bag(want.bag), want.since
    count = 0
    living = living_costs(question.at_work(number))
    rates = await question.read(lambda reader: cost_rates(reader, number, living))
    bag = await question.read(lambda reader: with_parameters(reader, number))
    types = _named(bag.sweep.types())
    value_types = await question.read(lambda r: r.value_types(number)) if want.columns else {}
    while True:
        look = partial(piece_of_results, number=number, since=since, bag=bag, whole=want.output)
        rows = await question.read(look)
        if not rows:
            return {"bag": number, "count": count}
        count += len(rows)
        since = rows[-1][0].task + 1
        part: replies.ResultsPart = {"results": [], "types": types}
        for row, whole in rows:
            result = cast("replies.TaskResult", task_row(row, bag))
            result["cost_share"] = cost_share(row, rates)
            if want.output:
                result["output"] = whole
            part["results"].append(result)
        if want.columns:
            part["value_types"] = _named(value_types)
        await question.part(part)


def _named(types: Mapping[str, type]) -> dict[str, str]:
    """Types by the names that stand for them among facts: `int`, `float`, `bool`, `str`."""
    return {name: kind.__name__ for name, kind in types.items()}


def with_parameters(reader: Reader, number: BagId) -> Bag:
    return read_bag(reader, number)


def task_query(want: GetTasks) -> TaskQuery:
    known = {one.name.lower(): one for one in Outcome}
    if any(one not in known for one in want.outcomes):
        raise UsageError(
            f"`outcomes` should be a list of {', '.join(known)}, not {quoted(want.outcomes)}."
        )
    return TaskQuery(
        text=want.filter,
        outcomes=tuple(known[one] for one in want.outcomes),
        cluster=want.cluster,
        machine=None if want.machine is None else MachineId(want.machine),
        sort=want.sort,
        descending=want.descending,
        offset=want.offset,
        limit=min(max(1, want.limit), _LONGEST_PAGE),
    )


def task_row(row: Result, bag: Bag) -> replies.TaskLine:
    parameters = bag.sweep.parameters(row.task) if row.task < bag.sweep.count else {}
    return cast("replies.TaskLine", {**told(row), "parameters": parameters})


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
) -> list[tuple[Result, str]]:
    """Some of the results from task `since` on, each with its `whole` output if that is wanted."""
    rows = islice(reader.every_task(number, TaskId(since)), _PIECE)
    if not whole:
        return [(row, "") for row in rows]
    found: list[tuple[Result, str]] = []
    size = 0
    for row in rows:
        output = whole_output(bag, row)
        found.append((row, output))
        size += len(output)
        if size > _OUTPUTS_CHARACTERS:
            break
    return found


def story(reader: Reader, number: BagId, task: TaskId, at_work: LiveBag | None) -> replies.Task:
    """Everything that is known of one task."""
    bag = read_bag(reader, number)
    must_exist(bag, task)
    attempts = reader.story(number, task)
    told: replies.Task = {
        "bag": number,
        "task": task,
        "parameters": {**bag.sweep.parameters(task)},
        "command": bag.sweep.preview(task),
        "attempts": [task_row(row, bag) for row in attempts],
        "running": [],
        "state": _state_at_the_end(bag, attempts),
    }
    if at_work is not None:
        facts = at_work.engine.task(task, at_work.clock())
        told["state"] = facts.state.name.lower()
        told["running"] = plain(facts.running)
        told["failures"], told["losses"] = facts.failures, facts.losses
        if facts.waits:
            told["waits"] = facts.waits
    elif told["state"] == "cut_off" and bag.sweep.graph is not None:
        failed = frozenset(reader.not_done(number))
        told["waits"] = cut_off_by(Precedence(bag.sweep.graph), task, failed.__contains__)
    return told


def _state_at_the_end(bag: Bag, attempts: list[Result]) -> str:
    if any(one.outcome is Outcome.DONE for one in attempts):
        return "done"
    if bag.state != BagOutcome.WITH_FAILURES.value:
        return "not done"
    return "failed" if attempts or bag.sweep.graph is None else "cut_off"
