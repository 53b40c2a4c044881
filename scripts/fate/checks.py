"""What must be so when all is over, by the world's own knowledge."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgpack

from bats.common.billing import charge
from bats.common.folders import output_path
from bats.common.messages import BagId, Outcome, Result, TaskId
from bats.common.money import Money
from bats.master.bag import read_bag
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.numbering import bag_of
from bats.master.queries.replay import Recorded, Replayed
from bats.master.store.reader import Reader
from fate.kernel import Execution, left, printed
from fate.loans import plain
from fate.provider import GUARDIAN_SECONDS
from fate.stories import Errand
from fate.world import World

_NEVER_LET_IN: int = 8  # times that a machine was denied
_LATE_END_SECONDS = 1.0  # in which a machine that was told to stop, or stops itself, is gone
_SLACK_SECONDS = 0.05  # between what a provider charges and what the master saw of it
_WORD_IS_LATE = {
    "links_break", "links_down", "links_slow", "links_drop", "links_reorder", "last_words_late",
    "master_killed", "killed_midway", "disk_slow", "power_cut", "master_frozen", "machine_frozen",
    "disk_full", "disk_broken", "one_lies",
}  # fmt: skip
_UNTOLD_SECONDS = 3.0  # the same where its lists are of a while ago, and it tells no last bill


def judge(world: World, ended_at: float) -> list[str]:
    """The violations, in words."""
    return list(_all(world, ended_at))


def _all(world: World, ended_at: float) -> Iterator[str]:
    for error in world.loop.errors:
        yield f"nobody caught: {error}"
    for refusal in world.user.refusals:
        yield f"a bag was not taken: {refusal}"
    for number in world.held_on_to:
        yield f"bag {number} has ended, and the master waits for it"
    yield from world.begun_wrong
    yield from world.user.unanswered(ended_at)
    yield from _executions(world)
    with Reader(world.state) as reader:
        bags = list(reader.bags())
        for errand in world.story.errands:
            known = [bag for bag in bags if bag.name == errand.name]
            if len(known) != 1:
                yield f"{errand.name} is {len(known)} times in the store"
            for bag in known:
                if bag.state == "complete" and bag.tasks != errand.tasks:
                    yield f"{errand.name} is complete with {bag.tasks} of {errand.tasks} tasks"
                rows = list(reader.every_task(bag.id))
                yield from _bag(world, errand, bag.id, bag.state, rows, ended_at)
        machines = {row.id: row for row in reader.machines()}
        yield from _loans(world, reader)
    for machine in world.provider.machines.values():
        if machine.gone_at is None:
            yield f"machine {machine.number} still lives"
        elif machine.gone_at > machine.may_live_until + GUARDIAN_SECONDS + _SLACK_SECONDS:
            yield (f"machine {machine.number} lived until {machine.gone_at:.2f} s, "
                   f"by its leases until {machine.may_live_until:.2f} s")  # fmt: skip
        link = machine.session and machine.session.session._link
        if link and link.denied_in_all >= _NEVER_LET_IN and not link.was_up:
            yield f"machine {machine.number} was paid and never let in"
    yield from _cap(world)
    yield from _money(world, {number: row.cost for number, row in machines.items()})


def _executions(world: World) -> Iterator[str]:
    """No attempt runs twice, unless its order came twice: its results could not be told apart."""
    if any(what == "links_double" for _, what, _ in world.story.befalls):
        return
    ran = Counter((one.attempt, one.machine) for one in world.kernel.executions.values())
    for (attempt, machine), times in ran.items():
        if times > 1:
            yield f"{attempt} ran {times} times on {machine}"


def _bag(
    world: World, errand: Errand, bag: BagId, state: str, rows: list[Result], ended_at: float
) -> Iterator[str]:
    if state in {"running", "queued", "paused", "broken"}:
        yield f"{errand.name} is {state} after {ended_at:.0f} s"
    done = {row.task for row in rows if row.outcome is Outcome.DONE}
    left_out = {task for of, task in world.left_out if of == bag}
    missing = set(range(errand.tasks)) - done - left_out
    if state == "complete" and missing:
        yield f"{errand.name} is complete, and {len(missing)} tasks are not done"
    for row in rows:
        if row.outcome is Outcome.DONE:
            yield from _result(world, row)
        else:
            yield from _failure(world, errand, row)


def _result(world: World, row: Result) -> Iterator[str]:
    what = f"task {row.task} of bag {row.bag}, attempt {row.attempt} on {row.machine}"
    machine = world.provider.machines.get(row.machine)
    lies = machine is not None and machine.liar
    true = [
        one
        for one in world.kernel.executions.values()
        if (*one.attempt, one.machine) == (row.bag, row.task, row.attempt, row.machine)
    ]
    if not true:
        yield f"{what}: it was never run"
        return
    if not lies and not any(one.ended is not None and one.status == 0 for one in true):
        yield f"{what}: done by the books, it did not end well"
    if row.wall_seconds > world.loop.now:
        yield f"{what}: it is said to have run for {row.wall_seconds:g} s"
    cap = world.story.cap_bytes
    if cap is not None and sum(size for _, _, size in row.outputs) > cap:
        yield f"{what}: it left more than {cap} bytes"
    folder = world.state / "output" / str(row.bag)
    for name, sha256, size in row.outputs:
        path = output_path(row.task, row.attempt, name)
        assert path is not None
        place = folder / path
        if not place.exists():
            yield f"{what}: {name} is not there"
        elif hashlib.sha256(place.read_bytes()).hexdigest() != sha256 and size:
            yield f"{what}: {name} is another than was told"
    if not lies:
        yield from _contents(folder, row, true[-1], what)


def _contents(folder: Path, row: Result, true: Execution, what: str) -> Iterator[str]:
    """The files that this attempt really left."""
    wanted = [("left", left(true), true.work.left >= 0)]
    wanted.append(("stdout", printed(true), true.work.printed > 0))
    for name, content, there in wanted:
        path = output_path(row.task, row.attempt, name)
        assert path is not None
        place = folder / path
        if there and (not place.exists() or place.read_bytes() != content):
            yield f"{what}: what it wrote to {name} is not there"


def _failure(world: World, errand: Errand, row: Result) -> Iterator[str]:
    """A task that fails in the books failed in truth, or was made to."""
    befell = {what for _, what, _ in world.story.befalls}
    excuses = {
        "one_lies", "worker_disk_full", "disk_full", "disk_broken", "outputs_full", "power_cut",
        "machine_vanishes", "provider_short", "links_down", "lists_stale", "answers_lost",
        "links_drop", "links_reorder", "links_slow", "last_words_late",
    }  # fmt: skip
    work = errand.works[row.task]
    too_large = work.left + work.printed > (world.story.cap_bytes or math.inf)
    if not befell & excuses and not too_large and work.fails <= errand.retries:
        yield f"task {row.task} of {errand.name} failed for no reason: {row.excerpt}"


def _cap(world: World) -> Iterator[str]:
    """All machines that were asked for under the cap cost no more than it, but for late ends."""
    cap, lifted_at = world.story.cap, world.user.lifted_at
    until = world.loop.now if lifted_at is None else lifted_at
    if cap is None:
        return
    up = [one.up_seconds(until) for one in world.provider.machines.values()
          if one.asked_at <= until]  # fmt: skip
    least = sum(charge(world.story.offering, max(0.0, one - _LATE_END_SECONDS)) for one in up)
    if least > cap:
        yield f"{len(up)} machines cost at least {least}, under a cap of {cap}"


def _loans(world: World, reader: Reader) -> Iterator[str]:
    """Who lends pays as if alone, who borrows pays nothing; each journal tells of it alone."""
    for number in world.bags:
        bag = read_bag(reader, number)
        again = Replayed(bag, Recorded.of(bag, reader))
        for heard, (_, now, written) in enumerate(reader.events(number), 1):
            event = event_from(msgpack.unpackb(written), number)
            commands = [*map(plain, again.engine.handle(event, now))]
            did = world.loans.did.get((number, heard, now), commands)
            if commands != did:
                yield f"{bag.name} at {now:.2f} s, {event}: it did {did}, replayed {commands}"
                break
        paid = sum(row.cost for row in reader.machines(number))
        if paid != (settled := again.engine.headline().settled):
            yield f"{bag.name} paid {settled}, its machines cost {paid}"
    yield from _ran_elsewhere(world)


def _ran_elsewhere(world: World) -> Iterator[str]:
    """Tasks of others run on a machine in an ATU that is billed anyway, while it is lent."""
    befell = {what for _, what, _ in world.story.befalls}
    for number, at, until in world.loans.begun:
        if math.isinf(until):
            if not world.story.offering.free:
                yield f"machine {number} is paid for, and lent without an end"
            continue
        since = world.provider.machines[number].asked_at
        billed, then = (charge(world.story.offering, one - since) for one in (at, until))
        if billed != then and not (befell & _WORD_IS_LATE or "lists_stale" in befell):
            yield f"machine {number} is lent at {at:.2f} s until {until:.2f} s, in another ATU"
    for one in world.kernel.executions.values():
        bag, machine = one.attempt.bag, one.machine
        if bag_of(machine) == bag:
            continue
        until = world.loans.until.get((bag, machine))
        what = f"{one.attempt} on {machine}, paid by another bag,"
        if until is None:
            yield f"{what} ran there without a loan"
        elif not befell & _WORD_IS_LATE:
            gone = world.provider.machines[machine].gone_at or math.inf
            ended = min(math.inf if one.ended is None else one.ended, gone)
            if ended > until + _LATE_END_SECONDS:
                yield f"{what} ran until {ended:.2f} s, lent until {until:.2f} s"
    if befell:
        return
    ends: dict[tuple[BagId, TaskId], float] = {}
    for one in sorted(world.kernel.executions.values(), key=lambda one: one.began):
        of = one.attempt.bag, one.attempt.task
        if of in ends and one.began > ends[of] + _LATE_END_SECONDS:
            yield f"{one.attempt} began on {one.machine} though it had ended well"
        too_large = one.work.left + one.work.printed > (world.story.cap_bytes or math.inf)
        well = one.status == 0 and not one.called_off and not too_large
        if one.ended is not None and well:
            ends[of] = min(one.ended, ends.get(of, math.inf))


def _money(world: World, told: dict[int, Money]) -> Iterator[str]:
    offering = world.story.offering
    stale = any(what == "lists_stale" for _, what, _ in world.story.befalls)
    slack = _UNTOLD_SECONDS if stale else _SLACK_SECONDS
    true = {}
    for machine in world.provider.machines.values():
        seconds = machine.up_seconds(world.loop.now)
        true[machine.number] = charge(offering, seconds)
        near = charge(offering, seconds + slack) - charge(offering, seconds - slack)
        cost = told.get(machine.number)
        if cost is None:
            yield f"machine {machine.number} is in no books"
        elif abs(cost - true[machine.number]) > near:
            yield f"machine {machine.number} cost {true[machine.number]}, the books say {cost}"
    for bag, errand in world.bags.items():
        spent = sum(cost for number, cost in true.items() if bag_of(number) == bag)
        if errand.budget is not None and spent > errand.budget:
            yield f"{spent} was spent of {errand.budget} for {errand.name}"
