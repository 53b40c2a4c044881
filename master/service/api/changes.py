"""Requests to a running master; what changes a bag is answered once the change is durable."""

import asyncio
from difflib import get_close_matches
from functools import partial

import structlog

from bats.common.errors import BatsError, CannotBeMetError, UsageError, quoted
from bats.common.messages import BagId, TaskId
from bats.common.money import Money, show
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import (
    Allow,
    Cancel,
    Choose,
    FindOrphans,
    Forget,
    GetSnapshot,
    LeaveOut,
    Pause,
    Prune,
    Release,
    Resume,
    Retry,
    ShutDown,
    Submit,
    Weigh,
)
from bats.master.bag import Bag
from bats.master.bag_states import HELD, PAUSED, QUEUED, RUNNING
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.learning.machine_speeds import PARTS
from bats.master.brain.protocol.events import (
    Allowed,
    Cancelled,
    Chosen,
    Event,
    LeftOut,
    Preferred,
    Resumed,
    Retried,
    Suspended,
)
from bats.master.brain.unreliable.notation import read
from bats.master.plain_data import plain
from bats.master.queries.output import must_exist
from bats.master.service.api.call import Call
from bats.master.service.api.submission import (
    MOST_WEIGHT,
    RULES,
    bag_of,
    is_rule,
    make_output_folder,
)
from bats.master.service.bags.earlier_bags import experienced
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.orphans import Handling
from bats.master.service.machines.unattended import places
from bats.master.sweep.sweep import Sweep

log = structlog.get_logger()


@takes(Submit)
async def submit(call: Call, want: Submit) -> replies.Submitted:
    service = call.service
    if service.trouble:
        raise UsageError(service.trouble)
    number = service.store.new_bag()
    try:
        bag = await _accepted(call, want, number)
    except BaseException:
        service.store.give_back(number)
        raise
    waits = service.bags.caps.delay(bag)
    service.bags.submit(bag)
    await service.committed()
    log.info("bag submitted", bag=bag.id, name=bag.name, tasks=bag.sweep.count)
    return {
        "bag": bag.id,
        "name": bag.name,
        "tasks": bag.sweep.count,
        "state": bag.state,
        "waits": waits,
    }


async def _accepted(call: Call, want: Submit, number: BagId) -> Bag:
    """The bag that is asked for. Raises what refuses it."""
    service, loop = call.service, asyncio.get_running_loop()
    after = [await call.bag(one) for one in want.after or ()]
    bag = await loop.run_in_executor(None, bag_of, want, number, service.options, after)
    bag = await call.read(partial(experienced, bag))
    bag.user = call.user
    if refusal := service.bags.caps.refusal(bag):
        raise CannotBeMetError(refusal)
    await loop.run_in_executor(None, make_output_folder, bag)
    if missing := [name for name, sha, *_ in bag.inputs if not service.blobs.has(sha)]:
        raise UsageError(f"The input {missing[0]} has not been sent to the master.")
    return bag


@takes(Release)
async def release(call: Call, want: Release) -> replies.BagState:
    bag = call.service.bags.known.get(await call.bag(want.bag))
    if bag is None or bag.state != HELD:
        raise UsageError("Only a bag that was submitted to be held can be released.")
    call.service.bags.release(bag)
    await call.service.committed()
    return {"bag": bag.id, "state": bag.state}


@takes(Choose)
async def choose(call: Call, want: Choose) -> replies.Chosen:
    if want.strategy:
        return await _prefer(call, want)
    rule = want.rule.lower()
    if not is_rule(rule):
        near = get_close_matches(rule, RULES[1:], 1)
        meant = f"did you mean {near[0]}? There" if near else "there"
        raise UsageError(
            f"No schedule is called {quoted(rule)}; {meant} are {', '.join(RULES[1:])}."
        )
    runner = await call.runner(want.bag)
    if runner.engine.over and not runner.engine.tasks(TaskState.DROPPED):
        raise UsageError(
            f"Bag {runner.id} has ended: {runner.bag.state}; there is nothing to choose."
        )
    if runner.engine.headline().phase is Phase.SAMPLING:
        raise UsageError(f"Bag {runner.id} is still sampling; there is nothing to choose from yet.")
    chosen = Chosen(rule, want.budget, want.deadline_seconds or None, want.cushion)
    if refusal := runner.engine.refusal(chosen):
        raise CannotBeMetError(refusal)
    told = await _tell(call, runner, chosen)
    return _chosen(runner, told, runner.engine.headline().chosen)


async def _prefer(call: Call, want: Choose) -> replies.Chosen:
    if want.budget is not None or want.deadline_seconds is not None:
        raise UsageError("A strategy has no limits of its own; `bats allow` changes the bag's.")
    try:
        read(want.strategy)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    runner = await call.runner(want.bag)
    if runner.engine.over:
        raise UsageError(
            f"Bag {runner.id} has ended: {runner.bag.state}; there is nothing to choose."
        )
    if not runner.engine.strategy():
        raise UsageError(
            f"Bag {runner.id} goes by no strategy for unreliable machines: that takes the tail "
            "ntdmr and an offering that is not reliable."
        )
    told = await _tell(call, runner, Preferred(want.strategy))
    return _chosen(runner, told, want.strategy)


def _chosen(runner: Runner, told: replies.Told, chosen: str) -> replies.Chosen:
    run = runner.engine.headline()
    return {
        **told,
        "chosen": chosen,
        "budget": run.budget,
        "limit": run.limit,
        "currency": runner.bag.settings.currency,
        "paused": runner.paused,
    }


@takes(Allow)
async def allow(call: Call, want: Allow) -> replies.Allowed:
    """More money or more time for a bag that has begun; what was chosen stays."""
    if want.budget is None and want.deadline_seconds is None:
        raise UsageError("Nothing is allowed: give `budget` or `deadline_seconds`.")
    runner = await call.runner(want.bag)
    run, currency = runner.engine.headline(), runner.bag.settings.currency
    if runner.engine.over and not runner.engine.tasks(TaskState.DROPPED):
        raise UsageError(f"Bag {runner.id} has ended: {runner.bag.state}; it needs nothing more.")
    if want.budget is not None and want.budget < run.committed:
        raise CannotBeMetError(
            f"Bag {runner.id} has spent {show(run.settled, currency)} and has promised machines "
            f"{show(Money(run.committed - run.settled), currency)} more: allow it "
            f"{show(run.committed, currency)} or more, or cancel it."
        )
    told = await _tell(call, runner, Allowed(want.budget, want.deadline_seconds))
    run = runner.engine.headline()
    return {**told, "budget": run.budget, "limit": run.limit, "currency": currency}


@takes(LeaveOut)
async def drop(call: Call, want: LeaveOut) -> replies.LeftOut:
    runner = await call.runner(want.bag)
    if not isinstance(runner.bag.sweep, Sweep):
        raise UsageError("Steps of a workflow wait for each other: none of its tasks is left out.")
    if not runner.busy:
        raise UsageError(f"Bag {runner.id} has ended: {runner.bag.state}.")
    for one in want.tasks:
        must_exist(runner.bag, TaskId(one))
    open_ones = set(runner.engine.tasks(TaskState.WAITING, TaskState.RUNNING))
    tasks = tuple(TaskId(one) for one in sorted(open_ones.intersection(want.tasks)))
    if not tasks:
        raise UsageError("None of these tasks waits or runs; there is nothing to leave out.")
    return {**await _tell(call, runner, LeftOut(tasks)), "tasks": len(tasks)}


@takes(Retry)
async def retry(call: Call, want: Retry) -> replies.Retried:
    runner = await call.runner(want.bag)
    failed, dropped = (runner.engine.tasks(s) for s in (TaskState.FAILED, TaskState.DROPPED))
    again = [*failed, *dropped]
    wanted = want.tasks
    if wanted == "failed":
        tasks = failed
    elif isinstance(wanted, list) and all(type(t) is int and t >= 0 for t in wanted):
        for one in wanted:
            must_exist(runner.bag, TaskId(one))
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


@takes(Pause)
async def pause(call: Call, want: Pause) -> replies.Told:
    number = await call.bag(want.bag)
    bag = call.service.bags.known.get(number)
    if bag is None or bag.began is None or bag.state not in (RUNNING, PAUSED):
        state = "has ended" if bag is None else f"is {bag.state}"
        raise UsageError(f"Only a bag that runs can be paused; bag {number} {state}.")
    runner = await call.service.bags.load(number)
    if runner.paused:
        raise UsageError(f"Bag {number} is paused already; `bats resume {number}` goes on.")
    return await _tell(call, runner, Suspended(want.reason))


@takes(Weigh)
async def weigh(call: Call, want: Weigh) -> replies.Weighed:
    number = await call.bag(want.bag)
    bag = call.service.bags.known.get(number)
    if bag is None:
        raise UsageError(f"Bag {number} has ended: it shares nothing any more.")
    if want.weight is not None and not 1 <= want.weight <= MOST_WEIGHT:
        raise UsageError(f"A weight is from 1 to {MOST_WEIGHT}, not {want.weight}.")
    weight = bag.standing.weight if want.weight is None else want.weight
    priority = bag.standing.priority if want.priority is None else want.priority
    call.service.bags.weigh(bag, weight, priority)
    await call.service.committed()
    return {"bag": number, "state": bag.state, "weight": weight, "priority": priority}


@takes(Resume)
async def resume(call: Call, want: Resume) -> replies.Told:
    """Go on with a bag that stands still: paused, or ended with tasks that were not done."""
    number = await call.bag(want.bag)
    bag = call.service.bags.known.get(number)
    if bag is not None and bag.state == HELD:
        raise UsageError(f"Bag {number} is held and has not begun; release it.")
    if bag is not None and bag.state == QUEUED:
        if bag.began is not None:  # resumed already: it goes on in a moment
            return {"bag": number, "state": bag.state, "phase": ""}
        waits = ", ".join(f"bag {one}" for one in call.service.bags.waits_for(bag))
        why = f"waits for {waits}" if waits else "begins in a moment"
        raise UsageError(f"Bag {number} has not begun: it {why}; there is nothing to resume.")
    runner = await call.service.bags.load(number)
    if not runner.paused:
        what = runner.engine.headline().phase.value
        if runner.engine.over and (dropped := runner.engine.tasks(TaskState.DROPPED)):
            return await _tell(call, runner, Retried(tuple(dropped)))
        if runner.engine.over:
            failed = runner.engine.tasks(TaskState.FAILED)
            left = f"`bats retry {number}` tries again what failed" if failed else "all is done"
            raise UsageError(f"Bag {number} has ended: {runner.bag.state}; {left}.")
        raise UsageError(f"Bag {number} is not paused; it is {what}.")
    call.service.store.reopen(number, runner.engine.tried_again())
    return await _tell(call, runner, Resumed())


@takes(Cancel)
async def cancel(call: Call, want: Cancel) -> replies.BagState:
    number = await call.bag(want.bag)
    bag = call.service.bags.known.get(number)
    if bag is not None and bag.state in (HELD, QUEUED) and bag.began is None:
        call.service.bags.cancel_unbegun(bag, want.reason)
        await call.service.committed()
        return {"bag": number, "state": bag.state}
    runner = await call.runner(want.bag)
    if runner.bag.state not in (RUNNING, PAUSED, QUEUED):
        raise UsageError(f"Bag {number} has ended already: {runner.bag.state}.")
    return await _tell(call, runner, Cancelled(want.reason))


async def _tell(call: Call, runner: Runner, event: Event) -> replies.Told:
    """Let it happen to the bag. One that has ended, and is to go on, waits for its turn."""
    call.service.bags.happen(runner, event)
    await call.service.committed()
    return {
        "bag": runner.id,
        "state": runner.bag.state,
        "phase": runner.engine.headline().phase.value,
    }


@takes(Prune)
async def prune(call: Call, want: Prune) -> replies.Pruned:
    number = await call.bag(want.bag)
    if number in call.service.bags.known:
        raise UsageError(f"Bag {number} has not ended; cancel it first.")
    try:
        await call.service.committed()  # what it cost, too: caps go on counting that
    except BatsError as error:
        why = "The store cannot be written now"
        raise BatsError(f"{why}: bag {number} is kept; prune it again later.") from error
    await call.service.bags.caps.prune(number, call.read)
    blobs = await call.service.store.prune(number)
    call.service.bags.forget(number)
    await asyncio.get_running_loop().run_in_executor(None, call.service.blobs.forget, blobs)
    return {"bag": number, "files": len(blobs)}


@takes(ShutDown)
async def shutdown(call: Call, want: ShutDown) -> replies.Nothing:
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, call.service.shut_down, want.reason)
    return {}


@takes(FindOrphans)
async def orphans(call: Call, want: FindOrphans) -> replies.Orphans:
    """Machines at the back ends that are in no bag's books; `do`: "stop" them, or "adopt" them."""
    words = {"": Handling.LOOK, "stop": Handling.STOP, "adopt": Handling.TAKE_BACK}
    if want.do not in words:
        raise UsageError(f'`do` should be "stop" or "adopt", not {quoted(want.do)}.')
    bags = call.service.bags
    earlier = await call.read(places) if want.do else []  # looking is often, so it asks few
    asking = call.service.fleet.orphans([*earlier, *bags.offerings()], bags.owners, words[want.do])
    found, mute = await asking
    return {"orphans": [plain(one) for one in found], "mute": mute}


@takes(GetSnapshot)
async def snapshot(call: Call, _: GetSnapshot) -> replies.Snapshot:
    return call.service.snapshot()


@takes(Forget)
async def forget(call: Call, want: Forget) -> replies.Forgotten:
    rows = await call.read(lambda reader: reader.learned(want.command))
    commands = sorted({row.template for row in rows})
    if want.command is not None and not commands:
        raise UsageError(f"Nothing was learned of {quoted(want.command)}.")
    call.service.store.forget_learned(commands)
    await call.service.committed()
    return {"commands": len(set(commands) - PARTS.keys())}
