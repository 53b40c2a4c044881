"""Bags: all of them, how one stands, news of one."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from bats.common.messages import BagId, MachineId, Outcome
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import AwaitNews, GetBags, GetStatus
from bats.master.bag import Bag, read_bag, ways_out
from bats.master.bag_states import OPEN, PAUSED
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.numbering import serves_all
from bats.master.brain.views.told.view import RunView
from bats.master.plain_data import plain
from bats.master.queries.machine_history import by_owner
from bats.master.queries.pools.pool_facts import lines
from bats.master.queries.question import KnownBag, LiveBag, Question
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow

_LONGEST_WAIT_SECONDS: Final = 60.0


@takes(GetBags)
async def bags(question: Question, _: GetBags) -> replies.Bags:
    running = question.running
    rows = await question.read(partial(_rows, running=frozenset(running)))
    views = {bag: one.engine.view(one.clock()) for bag, one in running.items()}
    told = [_told(row, last, running.get(row.id), views.get(row.id)) for row, last in rows]
    if question.live is None:
        return {"bags": told}
    shares = question.live.bags.shares()
    by_bag = {share.bag: share for share in shares.bags}
    for line in told:
        if share := by_bag.get(BagId(line["bag"])):
            line["slots"] = share.slots
            line["weight"], line["priority"] = share.weight, share.priority
    return {
        "bags": told,
        "caps": question.live.bags.caps_told(),
        "machines": by_owner(running, views, shares),
        "pools": lines(question.live.bags.pools.kept()),
    }


@takes(GetStatus)
async def status(question: Question, want: GetStatus) -> replies.Status:
    return await status_of(question, await question.bag(want.bag))


async def status_of(question: Question, number: BagId) -> replies.Status:
    """Its status, by a master that has it in memory, or as the store was last told."""
    if at_work := question.at_work(number):
        trouble = question.live.trouble if question.live else ""
        return {**status_at_work(at_work), "trouble": trouble}
    bag = question.known(number)
    if bag is not None and bag.state != PAUSED:
        return _status_unbegun(bag, question.master().bags.waits_for(bag))
    return await question.read(lambda reader: _status_ended(reader, number))


@takes(AwaitNews)
async def wait(question: Question, want: AwaitNews) -> replies.News:
    number, seen = await question.bag(want.bag), want.seen
    loop = asyncio.get_running_loop()
    ends = loop.time() + min(want.seconds, _LONGEST_WAIT_SECONDS)
    bags = question.master().bags
    while loop.time() < ends:
        at_work = bags.loaded.get(number)
        if at_work is None and number not in bags.known:
            break  # ended
        if at_work is not None and (at_work.revision > seen or _is_over(at_work)):
            break
        news = bags.changed if at_work is None else at_work.changed
        try:
            async with asyncio.timeout_at(ends):
                await news.wait()
        except TimeoutError:
            break
    answer = await status_of(question, number)
    at_work = bags.loaded.get(number)
    return {**answer, "seen": at_work.revision if at_work else seen}


def _rows(reader: Reader, running: frozenset[BagId]) -> list[tuple[BagRow, replies.RunStatus]]:
    """Every bag, with what was last to be seen of it; of one that runs, its engine knows better."""
    return [(row, {} if row.id in running else _last_seen(reader, row)) for row in reader.bags()]


def _last_seen(reader: Reader, row: BagRow) -> replies.RunStatus:
    """The last view, as told at the bag's end; after a kill of the master, results are counted."""
    summary = json.loads(row.summary) if row.summary else {}
    if summary.get("view") or not summary.get("began"):
        return cast("replies.RunStatus", summary.get("view") or {})
    outcomes = reader.outcomes(row.id)
    done = outcomes.pop(Outcome.DONE, 0)
    return {"done": done, "failed": sum(outcomes.values())}


def _told(
    row: BagRow, last: replies.RunStatus, running: LiveBag | None, view: RunView | None
) -> replies.BagLine:
    summary = json.loads(row.summary) if row.summary else {}
    facts: replies.BagLine = {
        "bag": row.id,
        "name": row.name,
        "tasks": row.tasks,
        "state": row.state,
        "created": row.created,
        "began": summary.get("began"),
        "ended": row.ended,
        "words": summary.get("words", ""),
        "user": summary.get("user", ""),
    }
    if running is not None and view is not None:
        run = running.engine.headline()
        facts["state"] = _outcome_of_lender(running) or row.state
        facts["phase"] = run.phase.value
        facts["done"] = run.done
        facts["failed"] = run.counts[TaskState.FAILED]
        facts["failing"], facts["running"] = view.failing, view.running
        facts["spent"], facts["reserved"] = view.spent, view.reserved
        of_the_sample = view.budget is None and not view.chosen  # no limit that anybody set
        facts["limit"] = None if of_the_sample else view.limit
        facts["currency"] = running.bag.settings.currency
        facts["eta_seconds"] = view.eta_seconds
        facts["machines"] = sum(not serves_all(MachineId(one.id)) for one in view.machines)
        facts["open"] = run.open
        facts["paused"] = _paused(row.id, plain(run.pause))
        facts["held_by_cap"] = run.held_by_cap
        facts["words"] = facts["words"] or running.engine.waits_for_others
        return facts
    if "done" in last:
        facts["done"], facts["failed"] = last["done"], last["failed"]
        facts["failing"] = last.get("failing", 0)
    if "spent" in last:
        facts["spent"] = last["spent"]
    if row.state == PAUSED:
        facts["paused"] = _paused(row.id, last.get("paused"))
    return facts


def status_at_work(at_work: KnownBag) -> replies.Status:
    bag = at_work.bag
    now = 0.0 if at_work.engine.over else at_work.clock()
    facts: replies.RunStatus = plain(at_work.engine.view(now))
    facts["paused"] = _paused(bag.id, facts["paused"], bag.settings.currency)
    told: replies.Status = {**_of_bag(bag), **facts}
    told["over"] = _is_over(at_work) or bag.state not in OPEN
    if outcome := _outcome_of_lender(at_work):
        told["state"] = outcome
    told["words"] = told["words"] or at_work.engine.waits_for_others
    return told


def _is_over(at_work: KnownBag) -> bool:
    """True of one, too, that has ended and keeps machines for what others use of them."""
    return at_work.engine.over or at_work.engine.keeps_for_others


def _outcome_of_lender(at_work: KnownBag) -> str:
    if not at_work.engine.keeps_for_others:
        return ""
    outcome = at_work.engine.headline().outcome
    return outcome.value if outcome else ""


def _status_unbegun(bag: Bag, waits_for: Sequence[BagId]) -> replies.Status:
    words = f"waits for {', '.join(f'bag {one}' for one in waits_for)}" if waits_for else bag.words
    return {**_of_bag(bag), "total": bag.sweep.count, "words": words}


def _status_ended(reader: Reader, number: BagId) -> replies.Status:
    row, bag = reader.bag(number), read_bag(reader, number)
    last = _last_seen(reader, row)
    if bag.state == PAUSED:
        last["paused"] = _paused(number, last.get("paused"), bag.settings.currency)
    return {**_of_bag(bag), "total": bag.sweep.count, **last}


def _paused(
    bag: BagId, pause: Mapping[str, Any] | None, currency: str = "$"
) -> replies.Paused | None:
    """The reason why a bag is paused, and what its user may do."""
    if pause is None:
        return None
    budget = pause.get("budget")
    ways = ways_out(bag, pause["task"], again=pause["again"], budget=budget, currency=currency)
    return {
        "reason": pause["reason"],
        "since": pause["since"],
        "task": pause["task"],
        "again": pause["again"],
        "budget": budget,
        "ways": ways,
    }


def _of_bag(bag: Bag) -> replies.Status:
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
        "over": bag.state not in OPEN,
        "open": bag.is_open and bag.state in OPEN,
        "parameters": list(bag.sweep.names),
    }
