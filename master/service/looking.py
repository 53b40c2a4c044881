"""Requests that only look: at the engine in memory, at the store beside the event loop."""

import asyncio
from functools import partial
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId, TaskId
from bats.master.service import reading
from bats.master.service.asked import Asked, Body
from bats.master.service.bag import PAUSED
from bats.master.service.deserted import places
from bats.master.service.plain import plain
from bats.master.service.strays import Handling
from bats.master.store.reader import Reader

_LONGEST_WAIT_SECONDS: Final = 60.0


async def bags(asked: Asked) -> Body:
    running = asked.service.bags.running
    rows = await asked.read(partial(reading.bag_rows, running=running.id if running else None))
    return {"bags": [reading.bag_row(row, last, running) for row, last in rows]}


async def status(asked: Asked) -> Body:
    number = await asked.bag()
    if runner := asked.service.bags.loaded.get(number):
        return reading.status(runner)
    bag = asked.service.bags.known.get(number)
    if bag is not None and bag.state != PAUSED:
        return reading.status_unbegun(bag, asked.service.bags.running)
    return await asked.read(lambda reader: reading.status_ended(reader, number))


async def wait(asked: Asked) -> Body:
    """Answers when something of the bag is new to one who has `seen` that much, or in time."""
    number = await asked.bag()
    seen = asked.whole("seen", 0)
    loop = asyncio.get_running_loop()
    ends = loop.time() + min(asked.seconds("seconds", 30.0), _LONGEST_WAIT_SECONDS)
    bags = asked.service.bags
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
    answer = await status(asked)
    runner = bags.loaded.get(number)
    return {**answer, "seen": runner.revision if runner else seen}


async def schedules(asked: Asked) -> Body:
    runner = await asked.runner()
    return reading.schedules(runner, await runner.foresight.bounded(runner.engine.run))


async def explain(asked: Asked) -> Body:
    return reading.explain(await asked.runner())


async def machines(asked: Asked) -> Body:
    number = await asked.bag()
    rows = await asked.read(lambda reader: reader.machines(number))
    runner = asked.service.bags.loaded.get(number)
    told = reading.machines(rows, runner)
    if runner is not None:
        for one in told:
            if one["state"] in {"requested", "starting"}:
                state, address, why = asked.service.fleet.waiting(one["number"])
                one["state"], one["address"] = state or one["state"], one["address"] or address
                one["reason"] = one["reason"] or why
    return {"bag": number, "machines": told}


async def orphans(asked: Asked) -> Body:
    """Machines at the back ends that are in no bag's books; `do`: "stop" them, or "adopt" them."""
    words = {"": Handling.LOOK, "stop": Handling.STOP, "adopt": Handling.TAKE_BACK}
    do = asked.text("do", "")
    if do not in words:
        raise UsageError(f'`do` should be "stop" or "adopt", not {quoted(do)}.')
    bags = asked.service.bags
    earlier = await asked.read(places) if do else []  # looking is often, so it asks few
    asking = asked.service.fleet.strays([*earlier, *bags.offerings()], bags.loaded, words[do])
    found, mute = await asking
    return {"orphans": [plain(one) for one in found], "mute": mute}


async def decisions(asked: Asked) -> Body:
    number, since = await asked.bag(), asked.whole("since", 0)
    rows = await asked.read(lambda reader: reader.decisions(number))
    found = [{"number": k, "time": row.time, "words": row.words} for k, row in enumerate(rows)]
    return {"bag": number, "decisions": found[since:]}


async def tasks(asked: Asked) -> Body:
    number = await asked.bag()
    query = reading.task_query(asked.body)
    bag = await asked.read(lambda reader: reading.with_parameters(reader, number))
    page = await asked.read(lambda reader: reader.tasks(number, query))
    return {
        "bag": number,
        "total": page.total,
        "tasks": [reading.task_row(row, bag) for row in page.rows],
    }


async def task(asked: Asked) -> Body:
    number, task = await asked.bag(), TaskId(asked.whole("task"))
    runner = asked.service.bags.loaded.get(number)
    return await asked.read(lambda reader: reading.story(reader, number, task, runner))


async def results(asked: Asked) -> Body:
    """All results in the order of the tasks, from task `since` on, in chunks."""
    number, since = await asked.bag(), asked.whole("since", 0)
    count = 0
    living = reading.living_costs(asked.service.bags.loaded.get(number))
    rates = await asked.read(lambda reader: reading.cost_rates(reader, number, living))
    bag = await asked.read(lambda reader: reading.with_parameters(reader, number))
    while True:
        look = partial(reading.piece_of_results, number=number, since=since)
        rows = await asked.read(look)
        if not rows:
            return {"bag": number, "count": count}
        count += len(rows)
        since = rows[-1].task + 1
        part = [
            {**reading.task_row(row, bag), "cost_share": reading.cost_share(row, rates)}
            for row in rows
        ]
        await asked.part({"results": part})


async def log(asked: Asked) -> Body:
    number, task = await asked.bag(), TaskId(asked.whole("task"))
    stream = asked.text("stream", "out")
    if stream not in ("out", "err"):
        raise UsageError(f'`stream` should be "out" or "err", not {quoted(stream)}.')
    attempt, offset = asked.whole("attempt", 0), asked.whole("offset", 0)
    if asked.body.get("live"):
        return await _live(asked, number, task, attempt, stream, offset)
    return await asked.read(
        lambda reader: reading.output(reader, number, task, attempt, stream, offset)
    )


async def _live(
    asked: Asked, number: BagId, task: TaskId, attempt: int, stream: str, offset: int
) -> Body:
    """Also what a task that still runs has written. `over`: no attempt after this one counts."""
    runner = asked.service.bags.loaded.get(number)
    facts: Body = {"bag": number, "task": task, "offset": offset, "over": False}
    if runner is not None and task < runner.bag.sweep.count:
        if seen := await runner.glimpse(task, attempt, stream, offset):
            return facts | dict(zip(("attempt", "data", "total"), seen, strict=True))
        if not attempt and not runner.settled(task):
            return facts | {"attempt": 0, "data": b"", "total": 0}
    elif number in asked.service.bags.known:  # it waits for its turn
        return facts | {"attempt": 0, "data": b"", "total": 0}
    settled = runner is None or runner.settled(task)  # not after: it may end while we read
    found = await asked.read(
        lambda reader: reading.output(reader, number, task, attempt, stream, offset)
    )
    return {**found, "over": found["counts"] and settled}


async def export(asked: Asked) -> Body:
    """The bag as text, JSONL or CSV, in chunks of lines."""
    number, form = await asked.bag(), asked.text("format", "jsonl")
    living = reading.living_costs(asked.service.bags.loaded.get(number))
    parts: asyncio.Queue[str | None] = asyncio.Queue(4)
    loop = asyncio.get_running_loop()

    def put(text: str | None) -> None:
        asyncio.run_coroutine_threadsafe(parts.put(text), loop).result()

    def write(reader: Reader) -> None:
        try:
            reading.export(reader, number, form, put, living)
        finally:
            put(None)

    writing = asyncio.ensure_future(asked.read(write))
    while (text := await parts.get()) is not None:
        await asked.part({"text": text})
    await writing
    return {"bag": number}


async def snapshot(asked: Asked) -> Body:
    return asked.service.snapshot()
