"""Requests that change something; answered only when the change is durable."""

import asyncio
from difflib import get_close_matches

import structlog

from bats.common.errors import CannotBeMetError, UsageError, quoted
from bats.common.messages import TaskId
from bats.common.money import Money
from bats.master.brain.books.state import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.events import Cancelled, Chosen, Event, Resumed, Retried
from bats.master.brain.rules.pausing import tried_again
from bats.master.brain.views.refusals import why_not
from bats.master.service.asked import Asked, Body
from bats.master.service.bag import HELD, PAUSED, QUEUED, RUNNING
from bats.master.service.runner import Runner
from bats.master.service.submission import RULES, bag_from_body, is_rule, make_output_folder

log = structlog.get_logger()


async def submit(asked: Asked) -> Body:
    service = asked.service
    loop = asyncio.get_running_loop()
    number = service.store.new_bag()
    bag = await loop.run_in_executor(None, bag_from_body, asked.body, number, service.options)
    await loop.run_in_executor(None, make_output_folder, bag)
    if missing := [name for name, sha, *_ in bag.inputs if not service.blobs.has(sha)]:
        raise UsageError(f"The input {missing[0]} has not been sent to the master.")
    service.bags.submit(bag)
    await service.store.committed()
    log.info("bag submitted", bag=bag.id, name=bag.name, tasks=bag.sweep.count)
    return {"bag": bag.id, "name": bag.name, "tasks": bag.sweep.count, "state": bag.state}


async def release(asked: Asked) -> Body:
    bag = asked.service.bags.known.get(await asked.bag())
    if bag is None or bag.state != HELD:
        raise UsageError("Only a bag that was submitted to be held can be released.")
    asked.service.bags.release(bag)
    await asked.service.store.committed()
    return {"bag": bag.id, "state": bag.state}


async def choose(asked: Asked) -> Body:
    rule = asked.text("rule", "fastest")
    if not is_rule(rule):
        near = get_close_matches(rule.lower(), RULES, 1)
        what = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(RULES[1:])}."
        raise UsageError(f"No schedule is called {quoted(rule)}; {what}")
    budget = None if asked.body.get("budget") is None else Money(asked.whole("budget"))
    cushion = None if asked.body.get("cushion") is None else Money(asked.whole("cushion"))
    deadline = asked.seconds("deadline_seconds", 0.0) or None
    runner = await asked.runner()
    if runner.engine.run.phase is Phase.SAMPLING:
        raise UsageError(f"Bag {runner.id} is still sampling; there is nothing to choose from yet.")
    chosen = Chosen(rule, budget, deadline, cushion)
    if refusal := why_not(runner.engine.run, chosen):
        raise CannotBeMetError(refusal)
    told = await _tell(asked, runner, chosen)
    run = runner.engine.run
    return {
        **told,
        "chosen": run.chosen,
        "budget": run.budget,
        "limit": run.ledger.limit,
        "currency": runner.bag.settings.currency,
        "paused": runner.paused,
    }


async def retry(asked: Asked) -> Body:
    runner = await asked.runner()
    states = runner.engine.run.tasks.states
    again = (TaskState.FAILED, TaskState.DROPPED)
    wanted = asked.body.get("tasks", "failed")
    if wanted == "failed":
        tasks = [TaskId(task) for task, state in enumerate(states) if state in again]
    elif isinstance(wanted, list) and all(type(t) is int and 0 <= t < len(states) for t in wanted):
        tasks = [task for task in wanted if states[task] in again]
    else:
        raise UsageError(f'`tasks` should be "failed" or a list of tasks, not {quoted(wanted)}.')
    if not tasks:
        more = f" `bats resume {runner.id}` goes on with it." if runner.paused else ""
        raise UsageError(f"Bag {runner.id} has no failed task to try again.{more}")
    tasks = sorted({*tasks, *tried_again(runner.engine.run)})
    asked.service.store.reopen(runner.id, tasks)
    return {**await _tell(asked, runner, Retried(tuple(tasks))), "tasks": len(tasks)}


async def resume(asked: Asked) -> Body:
    """Only a paused bag; others are told what goes on with them."""
    number = await asked.bag()
    bag = asked.service.bags.known.get(number)
    if bag is not None and bag.state == HELD:
        raise UsageError(f"Bag {number} is held and has not begun; release it.")
    if bag is not None and bag.state == QUEUED:
        raise UsageError(f"Bag {number} waits for its turn; there is nothing to resume.")
    runner = await asked.service.bags.load(number)
    if not runner.paused:
        what = runner.engine.run.phase.value
        if bag is None:
            left = "`bats retry` tries again what failed or was not done"
            raise UsageError(f"Bag {number} has ended: {runner.bag.state}; {left}.")
        raise UsageError(f"Bag {number} is not paused; it is {what}.")
    asked.service.store.reopen(number, tried_again(runner.engine.run))
    return await _tell(asked, runner, Resumed())


async def cancel(asked: Asked) -> Body:
    reason = asked.text("reason", "cancelled by the user")
    number = await asked.bag()
    bag = asked.service.bags.known.get(number)
    if bag is not None and bag.state in (HELD, QUEUED) and bag.began is None:
        asked.service.bags.cancel_unbegun(bag, reason)
        await asked.service.store.committed()
        return {"bag": number, "state": bag.state}
    runner = await asked.runner()
    if runner.bag.state not in (RUNNING, PAUSED, QUEUED):
        raise UsageError(f"Bag {number} has ended already: {runner.bag.state}.")
    return await _tell(asked, runner, Cancelled(reason))


async def _tell(asked: Asked, runner: Runner, event: Event) -> Body:
    """Let it happen to the bag. One that has ended, and is to go on, waits for its turn."""
    asked.service.bags.happen(runner, event)
    await asked.service.store.committed()
    return {"bag": runner.id, "state": runner.bag.state, "phase": runner.engine.run.phase.value}


async def prune(asked: Asked) -> Body:
    number = await asked.bag()
    if number in asked.service.bags.known:
        raise UsageError(f"Bag {number} has not ended; cancel it first.")
    blobs = await asked.service.store.prune(number)
    asked.service.bags.forget(number)
    await asyncio.get_running_loop().run_in_executor(None, asked.service.blobs.forget, blobs)
    return {"bag": number, "files": len(blobs)}


async def shutdown(asked: Asked) -> Body:
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, asked.service.shut_down, asked.text("reason", "asked to by a client"))
    return {}
