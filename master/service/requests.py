"""What clients may ask: a handler per verb, each small; what goes wrong is said in one sentence.

Handlers that change something answer only when it is durable. `bag` in a body is a number, a
name, or "last".
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import structlog

from bats.common.codec import encode
from bats.common.errors import BatsError, CannotBeMetError, UsageError, quoted
from bats.common.messages import BagId, Chunk, Reply, Request, TaskId
from bats.common.money import Money
from bats.master.brain.events import Cancelled, Chosen, Retried
from bats.master.brain.planning import why_not
from bats.master.brain.state import Phase
from bats.master.brain.taskbook import TaskState
from bats.master.service import reading
from bats.master.service.bag import HELD, QUEUED
from bats.master.service.bags import Bags
from bats.master.service.fleet import Fleet
from bats.master.service.options import Options
from bats.master.service.plain import plain
from bats.master.service.router import Router
from bats.master.service.runner import Runner
from bats.master.service.submission import bag_from_body, is_rule, make_output_folder
from bats.master.store.blobs import Blobs
from bats.master.store.reader import Reader
from bats.master.store.store import Store

log = structlog.get_logger()

_LONGEST_WAIT_SECONDS: Final = 60.0
_MOST_OPEN: Final = 200  # requests of one connection being worked on
_ROOM_BYTES: Final = 8 << 20  # a long answer waits while so much has not been taken
_BUG: Final = 70  # exit code of what is our fault

T = TypeVar("T")
Body = dict[str, Any]


class Service(Protocol):
    """The master, as far as handlers need it."""

    options: Options
    store: Store
    bags: Bags
    fleet: Fleet
    blobs: Blobs

    def snapshot(self) -> Body: ...

    def shut_down(self, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, and the way to answer it in parts."""

    service: Service
    body: Mapping[str, Any]
    part: Callable[[Body], Awaitable[None]]

    # --- what a body may hold ---

    def text(self, key: str, otherwise: str | None = None) -> str:
        return self._value(key, str, "a text", otherwise)

    def whole(self, key: str, otherwise: int | None = None, *, low: int = 0) -> int:
        value = self._value(key, int, "a whole number", otherwise)
        if value < low:
            raise UsageError(f"`{key}` should be {low} or more, not {value}.")
        return value

    def seconds(self, key: str, otherwise: float) -> float:
        value = self.body.get(key)
        if value is None:
            return otherwise
        if type(value) not in {int, float} or not 0 <= value < 1e9:
            raise UsageError(f"`{key}` should be a number of seconds, not {quoted(value)}.")
        return float(value)

    def _value(self, key: str, kind: type[T], called: str, otherwise: T | None) -> T:
        value = self.body.get(key)
        if value is None:
            value = otherwise
        if type(value) is not kind:
            raise UsageError(f"`{key}` should be {called}, not {quoted(self.body.get(key))}.")
        return value

    # --- where to find it ---

    async def read(self, look: Callable[[Reader], T]) -> T:
        """Ask the store, beside the event loop."""

        def run() -> T:
            with self.service.store.reader() as reader:
                return look(reader)

        return await asyncio.get_running_loop().run_in_executor(None, run)

    async def bag(self) -> BagId:
        """The bag meant; one that was submitted a moment ago counts too."""
        wanted = self.body.get("bag", "last")
        if type(wanted) is int and wanted in self.service.bags.known:
            return BagId(wanted)
        return await self.read(lambda reader: reading.find_bag(reader, wanted))

    async def runner(self) -> Runner:
        return await self.service.bags.load(await self.bag())


# --- changing something ---------------------------------------------------------------------------


async def _submit(asked: Asked) -> Body:
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


async def _release(asked: Asked) -> Body:
    bag = asked.service.bags.known.get(await asked.bag())
    if bag is None or bag.state != HELD:
        raise UsageError("Only a bag that was submitted to be held can be released.")
    asked.service.bags.release(bag)
    await asked.service.store.committed()
    return {"bag": bag.id, "state": bag.state}


async def _choose(asked: Asked) -> Body:
    rule = asked.text("rule", "fastest")
    if not is_rule(rule):
        raise UsageError(f"`rule` cannot be {quoted(rule)}; name a schedule, or how to choose one.")
    budget = None if asked.body.get("budget") is None else Money(asked.whole("budget"))
    cushion = None if asked.body.get("cushion") is None else Money(asked.whole("cushion"))
    deadline = asked.seconds("deadline_seconds", 0.0) or None
    runner = await asked.runner()
    if runner.engine.run.phase is Phase.SAMPLING:
        raise UsageError(f"Bag {runner.id} is still sampling; there is nothing to choose from yet.")
    chosen = Chosen(rule, budget, deadline, cushion)
    if refusal := why_not(runner.engine.run, chosen):
        raise CannotBeMetError(refusal)
    return await _tell(asked, runner, chosen)


async def _retry(asked: Asked) -> Body:
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
        raise UsageError(f"Bag {runner.id} has no failed task to try again.")
    asked.service.store.reopen(runner.id, tasks)
    return {**await _tell(asked, runner, Retried(tuple(tasks))), "tasks": len(tasks)}


async def _cancel(asked: Asked) -> Body:
    reason = asked.text("reason", "cancelled by the user")
    number = await asked.bag()
    bag = asked.service.bags.known.get(number)
    if bag is not None and bag.state in (HELD, QUEUED) and bag.began is None:
        asked.service.bags.cancel_unbegun(bag, reason)
        await asked.service.store.committed()
        return {"bag": number, "state": bag.state}
    runner = await asked.runner()
    if runner.bag.state not in ("running", QUEUED):
        raise UsageError(f"Bag {number} has ended already: {runner.bag.state}.")
    return await _tell(asked, runner, Cancelled(reason))


async def _tell(asked: Asked, runner: Runner, event: Chosen | Cancelled | Retried) -> Body:
    """Let it happen to the bag. One that has ended, and is to go on, waits for its turn."""
    asked.service.bags.happen(runner, event)
    await asked.service.store.committed()
    return {"bag": runner.id, "state": runner.bag.state, "phase": runner.engine.run.phase.value}


async def _prune(asked: Asked) -> Body:
    number = await asked.bag()
    if number in asked.service.bags.known:
        raise UsageError(f"Bag {number} has not ended; cancel it first.")
    blobs = await asked.service.store.prune(number)
    asked.service.bags.forget(number)
    await asyncio.get_running_loop().run_in_executor(None, asked.service.blobs.forget, blobs)
    return {"bag": number, "files": len(blobs)}


async def _shutdown(asked: Asked) -> Body:
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, asked.service.shut_down, asked.text("reason", "asked to by a client"))
    return {}


# --- looking --------------------------------------------------------------------------------------


async def _bags(asked: Asked) -> Body:
    rows = await asked.read(lambda reader: reader.bags())
    running = asked.service.bags.running
    return {"bags": [reading.bag_row(row, running) for row in rows]}


async def _status(asked: Asked) -> Body:
    number = await asked.bag()
    if runner := asked.service.bags.loaded.get(number):
        return reading.status(runner)
    if (bag := asked.service.bags.known.get(number)) is not None:
        return reading.status_unbegun(bag, asked.service.bags.running)
    return await asked.read(lambda reader: reading.status_ended(reader, number))


async def _wait(asked: Asked) -> Body:
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
    answer = await _status(asked)
    runner = bags.loaded.get(number)
    return {**answer, "seen": runner.revision if runner else seen}


async def _schedules(asked: Asked) -> Body:
    return reading.schedules(await asked.runner())


async def _explain(asked: Asked) -> Body:
    return reading.explain(await asked.runner())


async def _machines(asked: Asked) -> Body:
    number = await asked.bag()
    rows = await asked.read(lambda reader: reader.machines(number))
    runner = asked.service.bags.loaded.get(number)
    return {"bag": number, "machines": reading.machines(rows, runner)}


async def _orphans(asked: Asked) -> Body:
    """Machines at the back ends that are in no bag's books; `stop` ends them."""
    found = await asked.service.fleet.orphans(
        asked.service.bags.offerings(), stop=bool(asked.body.get("stop"))
    )
    return {"orphans": plain(found)}


async def _decisions(asked: Asked) -> Body:
    number, since = await asked.bag(), asked.whole("since", 0)
    rows = await asked.read(lambda reader: reader.decisions(number))
    found = [{"number": k, "time": row.time, "words": row.words} for k, row in enumerate(rows)]
    return {"bag": number, "decisions": found[since:]}


async def _tasks(asked: Asked) -> Body:
    number = await asked.bag()
    query = reading.task_query(asked.body)
    bag = await asked.read(lambda reader: reading.with_parameters(reader, number))
    page = await asked.read(lambda reader: reader.tasks(number, query))
    return {
        "bag": number,
        "total": page.total,
        "tasks": [reading.task_row(row, bag) for row in page.rows],
    }


async def _task(asked: Asked) -> Body:
    number, task = await asked.bag(), TaskId(asked.whole("task"))
    runner = asked.service.bags.loaded.get(number)
    return await asked.read(lambda reader: reading.story(reader, number, task, runner))


async def _results(asked: Asked) -> Body:
    """All results in the order of the tasks, from task `since` on, in chunks."""
    number, since = await asked.bag(), asked.whole("since", 0)
    count = 0
    bag = await asked.read(lambda reader: reading.with_parameters(reader, number))
    while True:
        look = partial(reading.piece_of_results, number=number, since=since)
        rows = await asked.read(look)
        if not rows:
            return {"bag": number, "count": count}
        count += len(rows)
        since = rows[-1].task + 1
        await asked.part({"results": [reading.task_row(row, bag) for row in rows]})


async def _log(asked: Asked) -> Body:
    number, task = await asked.bag(), TaskId(asked.whole("task"))
    stream = asked.text("stream", "out")
    if stream not in ("out", "err"):
        raise UsageError(f'`stream` should be "out" or "err", not {quoted(stream)}.')
    attempt, offset = asked.whole("attempt", 0), asked.whole("offset", 0)
    return await asked.read(
        lambda reader: reading.output(reader, number, task, attempt, stream, offset)
    )


async def _export(asked: Asked) -> Body:
    """The bag as text, JSONL or CSV, in chunks of lines."""
    number, form = await asked.bag(), asked.text("format", "jsonl")
    parts: asyncio.Queue[str | None] = asyncio.Queue(4)
    loop = asyncio.get_running_loop()

    def put(text: str | None) -> None:
        asyncio.run_coroutine_threadsafe(parts.put(text), loop).result()

    def write(reader: Reader) -> None:
        try:
            reading.export(reader, number, form, put)
        finally:
            put(None)

    writing = asyncio.ensure_future(asked.read(write))
    while (text := await parts.get()) is not None:
        await asked.part({"text": text})
    await writing
    return {"bag": number}


async def _snapshot(asked: Asked) -> Body:
    return asked.service.snapshot()


async def _unknown(_: Asked) -> Body:
    raise UsageError(f"This master can be asked for {', '.join(sorted(VERBS))}, and nothing else.")


VERBS: Final[Mapping[str, Callable[[Asked], Awaitable[Body]]]] = {
    "submit": _submit,
    "release": _release,
    "choose": _choose,
    "retry": _retry,
    "cancel": _cancel,
    "prune": _prune,
    "shutdown": _shutdown,
    "bags": _bags,
    "status": _status,
    "wait": _wait,
    "schedules": _schedules,
    "explain": _explain,
    "machines": _machines,
    "orphans": _orphans,
    "decisions": _decisions,
    "tasks": _tasks,
    "task": _task,
    "results": _results,
    "log": _log,
    "export": _export,
    "snapshot": _snapshot,
}


class Requests:
    """Works on requests beside each other, each as a task of its own."""

    def __init__(self, service: Service, router: Router) -> None:
        self._service = service
        self._router = router
        self._open: dict[bytes, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, route: bytes, request: Request) -> None:
        count = self._open.get(route, 0)
        if count >= _MOST_OPEN:
            self._reply(route, request, {}, f"{count} requests are open; wait for some answers.", 4)
            return
        self._open[route] = count + 1
        task = asyncio.get_running_loop().create_task(self._work(route, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, route: bytes, request: Request) -> None:
        async def part(body: Body) -> None:
            self._router.send(route, encode(Chunk(request.id, body)))
            await self._router.room(route, _ROOM_BYTES)

        try:
            handler = VERBS.get(request.verb, _unknown)
            body = await handler(Asked(self._service, request.body, part))
            self._reply(route, request, body)
        except BatsError as error:
            self._reply(route, request, {}, str(error), error.exit_code)
        except Exception as error:
            log.exception("request failed", verb=request.verb)
            words = f"The master failed at `{request.verb}`: {type(error).__name__}: {error}."
            self._reply(route, request, {}, words, _BUG)
        finally:
            left = self._open[route] - 1
            if left:
                self._open[route] = left
            else:
                del self._open[route]

    def _reply(
        self, route: bytes, request: Request, body: Body, error: str = "", exit_code: int = 0
    ) -> None:
        self._router.send(route, encode(Reply(request.id, body, error, exit_code)))
