"""Bags: all of them, how one stands, news of one."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from bats.common.messages import BagId, Outcome
from bats.master.bag import OPEN, PAUSED, Bag, bag_from, ways_out
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.plain_data import plain
from bats.master.queries.question import Body, LiveBag, Question
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow

_LONGEST_WAIT_SECONDS: Final = 60.0


async def bags(question: Question) -> Body:
    running = question.running
    rows = await question.read(partial(_rows, running=running.id if running else None))
    return {"bags": [_told(row, last, running) for row, last in rows]}


async def status(question: Question) -> Body:
    number = await question.bag()
    if at_work := question.at_work(number):
        return status_at_work(at_work)
    bag = question.known(number)
    if bag is not None and bag.state != PAUSED:
        return _status_unbegun(bag, question.running)
    return await question.read(lambda reader: _status_ended(reader, number))


async def wait(question: Question) -> Body:
    """Answers when something of the bag is new to one who has `seen` that much, or in time."""
    number = await question.bag()
    seen = question.whole("seen", 0)
    loop = asyncio.get_running_loop()
    ends = loop.time() + min(question.seconds("seconds", 30.0), _LONGEST_WAIT_SECONDS)
    bags = question.master().bags
    while loop.time() < ends:
        at_work = bags.loaded.get(number)
        if at_work is None and number not in bags.known:
            break  # ended
        if at_work is not None and (at_work.revision > seen or at_work.engine.over):
            break
        news = bags.changed if at_work is None else at_work.changed
        try:
            async with asyncio.timeout_at(ends):
                await news.wait()
        except TimeoutError:
            break
    answer = await status(question)
    at_work = bags.loaded.get(number)
    return {**answer, "seen": at_work.revision if at_work else seen}


def _rows(reader: Reader, running: BagId | None) -> list[tuple[BagRow, Body]]:
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


def _told(row: BagRow, last: Body, running: LiveBag | None) -> Body:
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
        run = running.engine.headline()
        facts |= {
            "phase": run.phase.value,
            "done": run.done,
            "failed": run.counts[TaskState.FAILED],
            "paused": _paused(row.id, plain(run.pause)),
        }
    else:
        facts |= {key: last[key] for key in ("done", "failed", "spent") if key in last}
        if row.state == PAUSED:
            facts["paused"] = _paused(row.id, last.get("paused"))
    return facts


def status_at_work(at_work: LiveBag) -> Body:
    bag = at_work.bag
    facts = plain(at_work.engine.view(at_work.clock() if not at_work.engine.over else 0.0))
    facts["paused"] = _paused(bag.id, facts["paused"])
    return {**_of_bag(bag), **facts, "over": at_work.engine.over or bag.state not in OPEN}


def _status_unbegun(bag: Bag, running: LiveBag | None) -> Body:
    behind = ""
    if running is not None:
        behind = f"waits for bag {running.id}"
        if running.engine.headline().phase is Phase.CHOOSING:
            number = running.id
            behind += f", which waits for `bats choose --bag {number}` or `bats cancel {number}`"
    return {**_of_bag(bag), "total": bag.sweep.count, "words": behind, "over": False}


def _status_ended(reader: Reader, number: BagId) -> Body:
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
