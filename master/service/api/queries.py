"""Requests that only look: at the engine in memory, at the store beside the event loop."""

import asyncio
from functools import partial
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId, TaskId
from bats.master.service.api import answers
from bats.master.service.api.call import Body, Call
from bats.master.service.api.plain_data import plain
from bats.master.service.bags.bag import PAUSED
from bats.master.service.machines.orphans import Handling
from bats.master.service.machines.unattended import places
from bats.master.store.reader import Reader

_LONGEST_WAIT_SECONDS: Final = 60.0


async def bags(call: Call) -> Body:
    running = call.service.bags.running
    rows = await call.read(partial(answers.bag_rows, running=running.id if running else None))
    return {"bags": [answers.bag_row(row, last, running) for row, last in rows]}


async def status(call: Call) -> Body:
    number = await call.bag()
    if runner := call.service.bags.loaded.get(number):
        return answers.status(runner)
    bag = call.service.bags.known.get(number)
    if bag is not None and bag.state != PAUSED:
        return answers.status_unbegun(bag, call.service.bags.running)
    return await call.read(lambda reader: answers.status_ended(reader, number))


async def wait(call: Call) -> Body:
    """Answers when something of the bag is new to one who has `seen` that much, or in time."""
    number = await call.bag()
    seen = call.whole("seen", 0)
    loop = asyncio.get_running_loop()
    ends = loop.time() + min(call.seconds("seconds", 30.0), _LONGEST_WAIT_SECONDS)
    bags = call.service.bags
    while loop.time() < ends:
        runner = bags.loaded.get(number)
        if runner is None and number not in bags.known:
            break  # ended
        if runner is not None and (runner.revision > seen or runner.engine.over):
            break
        news = bags.changed if runner is None else runner.changed
        try:
            async with asyncio.timeout_at(ends):
                await news.wait()
        except TimeoutError:
            break
    answer = await status(call)
    runner = bags.loaded.get(number)
    return {**answer, "seen": runner.revision if runner else seen}


async def schedules(call: Call) -> Body:
    runner = await call.runner()
    return answers.schedules(runner, await runner.predictions.bounded())


async def explain(call: Call) -> Body:
    return answers.explain(await call.runner())


async def machines(call: Call) -> Body:
    number = await call.bag()
    rows = await call.read(lambda reader: reader.machines(number))
    runner = call.service.bags.loaded.get(number)
    told = answers.machines(rows, runner)
    if runner is not None:
        for one in told:
            if one["state"] in {"requested", "starting"}:
                state, address, why = call.service.fleet.waiting(one["number"])
                one["state"], one["address"] = state or one["state"], one["address"] or address
                one["reason"] = one["reason"] or why
    return {"bag": number, "machines": told}


async def orphans(call: Call) -> Body:
    """Machines at the back ends that are in no bag's books; `do`: "stop" them, or "adopt" them."""
    words = {"": Handling.LOOK, "stop": Handling.STOP, "adopt": Handling.TAKE_BACK}
    do = call.text("do", "")
    if do not in words:
        raise UsageError(f'`do` should be "stop" or "adopt", not {quoted(do)}.')
    bags = call.service.bags
    earlier = await call.read(places) if do else []  # looking is often, so it asks few
    asking = call.service.fleet.orphans([*earlier, *bags.offerings()], bags.loaded, words[do])
    found, mute = await asking
    return {"orphans": [plain(one) for one in found], "mute": mute}


async def decisions(call: Call) -> Body:
    number, since = await call.bag(), call.whole("since", 0)
    rows = await call.read(lambda reader: reader.decisions(number))
    found = [{"number": k, "time": row.time, "words": row.words} for k, row in enumerate(rows)]
    return {"bag": number, "decisions": found[since:]}


async def tasks(call: Call) -> Body:
    number = await call.bag()
    query = answers.task_query(call.body)
    bag = await call.read(lambda reader: answers.with_parameters(reader, number))
    page = await call.read(lambda reader: reader.tasks(number, query))
    return {
        "bag": number,
        "total": page.total,
        "tasks": [answers.task_row(row, bag) for row in page.rows],
    }


async def task(call: Call) -> Body:
    number, task = await call.bag(), TaskId(call.whole("task"))
    runner = call.service.bags.loaded.get(number)
    return await call.read(lambda reader: answers.story(reader, number, task, runner))


async def results(call: Call) -> Body:
    """All results in the order of the tasks, from task `since` on, in chunks."""
    number, since = await call.bag(), call.whole("since", 0)
    count = 0
    living = answers.living_costs(call.service.bags.loaded.get(number))
    rates = await call.read(lambda reader: answers.cost_rates(reader, number, living))
    bag = await call.read(lambda reader: answers.with_parameters(reader, number))
    while True:
        look = partial(answers.piece_of_results, number=number, since=since)
        rows = await call.read(look)
        if not rows:
            return {"bag": number, "count": count}
        count += len(rows)
        since = rows[-1].task + 1
        part = [
            {**answers.task_row(row, bag), "cost_share": answers.cost_share(row, rates)}
            for row in rows
        ]
        await call.part({"results": part})


async def log(call: Call) -> Body:
    number, task = await call.bag(), TaskId(call.whole("task"))
    stream = call.text("stream", "out")
    if stream not in ("out", "err"):
        raise UsageError(f'`stream` should be "out" or "err", not {quoted(stream)}.')
    attempt, offset = call.whole("attempt", 0), call.whole("offset", 0)
    if call.body.get("live"):
        return await _live(call, number, task, attempt, stream, offset)
    return await call.read(
        lambda reader: answers.output(reader, number, task, attempt, stream, offset)
    )


async def _live(
    call: Call, number: BagId, task: TaskId, attempt: int, stream: str, offset: int
) -> Body:
    """Output with that of a task that still runs. `over`: no attempt after this one counts."""
    runner = call.service.bags.loaded.get(number)
    facts: Body = {"bag": number, "task": task, "offset": offset, "over": False}
    if runner is not None and task < runner.bag.sweep.count:
        if seen := await runner.glimpse(task, attempt, stream, offset):
            return facts | dict(zip(("attempt", "data", "total"), seen, strict=True))
        if not attempt and not runner.settled(task):
            return facts | {"attempt": 0, "data": b"", "total": 0}
    elif number in call.service.bags.known:  # it waits for its turn
        return facts | {"attempt": 0, "data": b"", "total": 0}
    settled = runner is None or runner.settled(task)  # not after: it may end while we read
    found = await call.read(
        lambda reader: answers.output(reader, number, task, attempt, stream, offset)
    )
    return {**found, "over": found["counts"] and settled}


async def export(call: Call) -> Body:
    """The bag as text, JSONL or CSV, in chunks of lines."""
    number, form = await call.bag(), call.text("format", "jsonl")
    living = answers.living_costs(call.service.bags.loaded.get(number))
    parts: asyncio.Queue[str | None] = asyncio.Queue(4)
    loop = asyncio.get_running_loop()

    def put(text: str | None) -> None:
        asyncio.run_coroutine_threadsafe(parts.put(text), loop).result()

    def write(reader: Reader) -> None:
        try:
            answers.export(reader, number, form, put, living)
        finally:
            put(None)

    writing = asyncio.ensure_future(call.read(write))
    while (text := await parts.get()) is not None:
        await call.part({"text": text})
    await writing
    return {"bag": number}


async def snapshot(call: Call) -> Body:
    return call.service.snapshot()
