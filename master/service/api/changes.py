"""Requests to a running master; what changes a bag is answered once the change is durable."""

import asyncio
from difflib import get_close_matches

import structlog

from bats.common.errors import CannotBeMetError, UsageError, quoted
from bats.common.money import Money
from bats.master.bag import HELD, PAUSED, QUEUED, RUNNING
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.events import Cancelled, Chosen, Event, Resumed, Retried
from bats.master.plain_data import plain
from bats.master.queries.question import Body
from bats.master.service.api.call import Call
from bats.master.service.api.submission import RULES, bag_from_body, is_rule, make_output_folder
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.orphans import Handling
from bats.master.service.machines.unattended import places

log = structlog.get_logger()


async def submit(call: Call) -> Body:
    service = call.service
    loop = asyncio.get_running_loop()
    number = service.store.new_bag()
    bag = await loop.run_in_executor(None, bag_from_body, call.body, number, service.options)
    await loop.run_in_executor(None, make_output_folder, bag)
    if missing := [name for name, sha, *_ in bag.inputs if not service.blobs.has(sha)]:
        raise UsageError(f"The input {missing[0]} has not been sent to the master.")
    service.bags.submit(bag)
    await service.store.committed()
    log.info("bag submitted", bag=bag.id, name=bag.name, tasks=bag.sweep.count)
    return {"bag": bag.id, "name": bag.name, "tasks": bag.sweep.count, "state": bag.state}


async def release(call: Call) -> Body:
    bag = call.service.bags.known.get(await call.bag())
    if bag is None or bag.state != HELD:
        raise UsageError("Only a bag that was submitted to be held can be released.")
    call.service.bags.release(bag)
    await call.service.store.committed()
    return {"bag": bag.id, "state": bag.state}


async def choose(call: Call) -> Body:
    rule = call.text("rule", "fastest").lower()
    if not is_rule(rule):
        near = get_close_matches(rule, RULES[1:], 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"No schedule is called {quoted(rule)}; {meant}There are {', '.join(RULES[1:])}."
        )
    budget = None if call.body.get("budget") is None else Money(call.whole("budget"))
    cushion = None if call.body.get("cushion") is None else Money(call.whole("cushion"))
    deadline = call.seconds("deadline_seconds", 0.0) or None
    runner = await call.runner()
    if runner.engine.headline().phase is Phase.SAMPLING:
        raise UsageError(f"Bag {runner.id} is still sampling; there is nothing to choose from yet.")
    chosen = Chosen(rule, budget, deadline, cushion)
    if refusal := runner.engine.refusal(chosen):
        raise CannotBeMetError(refusal)
    told = await _tell(call, runner, chosen)
    run = runner.engine.headline()
    return {
        **told,
        "chosen": run.chosen,
        "budget": run.budget,
        "limit": run.limit,
        "currency": runner.bag.settings.currency,
        "paused": runner.paused,
    }


async def retry(call: Call) -> Body:
    runner = await call.runner()
    failed, dropped = (runner.engine.tasks(s) for s in (TaskState.FAILED, TaskState.DROPPED))
    again = [*failed, *dropped]
    count = runner.bag.sweep.count
    wanted = call.body.get("tasks", "failed")
    if wanted == "failed":
        tasks = failed
    elif isinstance(wanted, list) and all(type(t) is int and 0 <= t < count for t in wanted):
        tasks = sorted(set(again).intersection(wanted))
    else:
        raise UsageError(f'`tasks` should be "failed" or a list of tasks, not {quoted(wanted)}.')
    if not tasks:
        left = "it" if runner.paused else f"the {len(dropped):,} that were not done"
        goes_on = runner.paused or dropped
        more = f" `bats resume {runner.id}` goes on with {left}." if goes_on else ""
        raise UsageError(f"Bag {runner.id} has no failed task to try again.{more}")
    tasks = sorted({*tasks, *runner.engine.tried_again()})
    call.service.store.reopen(runner.id, tasks)
    return {**await _tell(call, runner, Retried(tuple(tasks))), "tasks": len(tasks)}


async def resume(call: Call) -> Body:
    """Go on with a bag that stands still: paused, or ended with tasks that were not done."""
    number = await call.bag()
    bag = call.service.bags.known.get(number)
    if bag is not None and bag.state == HELD:
        raise UsageError(f"Bag {number} is held and has not begun; release it.")
    if bag is not None and bag.state == QUEUED:
        raise UsageError(f"Bag {number} waits for its turn; there is nothing to resume.")
    runner = await call.service.bags.load(number)
    if not runner.paused:
        what = runner.engine.headline().phase.value
        if runner.engine.over and (dropped := runner.engine.tasks(TaskState.DROPPED)):
            return await _tell(call, runner, Retried(tuple(dropped)))
        if bag is None:
            failed = runner.engine.tasks(TaskState.FAILED)
            left = f"`bats retry {number}` tries again what failed" if failed else "all is done"
            raise UsageError(f"Bag {number} has ended: {runner.bag.state}; {left}.")
        raise UsageError(f"Bag {number} is not paused; it is {what}.")
    call.service.store.reopen(number, runner.engine.tried_again())
    return await _tell(call, runner, Resumed())


async def cancel(call: Call) -> Body:
    reason = call.text("reason", "cancelled by the user")
    number = await call.bag()
    bag = call.service.bags.known.get(number)
    if bag is not None and bag.state in (HELD, QUEUED) and bag.began is None:
        call.service.bags.cancel_unbegun(bag, reason)
        await call.service.store.committed()
        return {"bag": number, "state": bag.state}
    runner = await call.runner()
    if runner.bag.state not in (RUNNING, PAUSED, QUEUED):
        raise UsageError(f"Bag {number} has ended already: {runner.bag.state}.")
    return await _tell(call, runner, Cancelled(reason))


async def _tell(call: Call, runner: Runner, event: Event) -> Body:
    """Let it happen to the bag. One that has ended, and is to go on, waits for its turn."""
    call.service.bags.happen(runner, event)
    await call.service.store.committed()
    return {
        "bag": runner.id,
        "state": runner.bag.state,
        "phase": runner.engine.headline().phase.value,
    }


async def prune(call: Call) -> Body:
    number = await call.bag()
    if number in call.service.bags.known:
        raise UsageError(f"Bag {number} has not ended; cancel it first.")
    blobs = await call.service.store.prune(number)
    call.service.bags.forget(number)
    await asyncio.get_running_loop().run_in_executor(None, call.service.blobs.forget, blobs)
    return {"bag": number, "files": len(blobs)}


async def shutdown(call: Call) -> Body:
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, call.service.shut_down, call.text("reason", "asked to by a client"))
    return {}


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


async def snapshot(call: Call) -> Body:
    return call.service.snapshot()
