"""The Python client: submit a sweep, choose a schedule, take results as they come.

    from bats.master.client import connect, sweep

    with connect() as master:
        bag = master.submit("sweep.toml", budget="5")
        for result in bag.results():
            print(result["parameters"], result["values"])

A sweep can be made without a file: `sweep(argv=["sim", "{x}"], grid={"x": "0:1:0.1"})`. Whatever
goes wrong is a `BatsError` with the sentence that the command line prints: `UsageError`,
`CannotBeMetError`, `UnreachableError`, `PausedError`.
`async with connect()` gives the same with `await` before each question and `async for` results.
Facts are dictionaries, as `--json` prints them, but for money, which is exact billionths.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypedDict, TypeVar

from bats.common.errors import (
    BatsError,
    CannotBeMetError,
    PausedError,
    UnreachableError,
    UsageError,
    quoted,
)
from bats.common.folders import default_state
from bats.common.money import Money, money
from bats.common.outcomes.values import TYPES, Value, as_typed
from bats.common.units import seconds
from bats.common.wire.keys import Access, read_access
from bats.master.link import ANSWER_SECONDS, CONNECT_SECONDS, Link, link

if TYPE_CHECKING:  # these take a while, and whoever only looks needs none of them
    from bats.common.offering import Offering
    from bats.master.sweep.sweep import Sweep

__all__ = [
    "Bag",
    "BatsError",
    "CannotBeMetError",
    "Client",
    "PausedError",
    "Schedule",
    "Sweep",
    "SyncBag",
    "SyncClient",
    "TaskResult",
    "UnreachableError",
    "UsageError",
    "connect",
    "sweep",
]  # fmt: skip

T = TypeVar("T")
Body = dict[str, Any]

_NEWS_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.3  # between two looks at a task that writes nothing
_FETCH_SECONDS: Final = 15.0  # for the output of an ended task to arrive from its machine
_CALM: Final = 10  # looking at all results is given at most one in so many seconds


class Schedule(TypedDict):
    """One of the offers after a sample; prices and times are for the rest of the bag."""

    name: str
    budget: int
    mix: list[int]
    makespan_seconds: float
    cost: int
    delta_n: int
    cushion: int


class TaskResult(TypedDict):
    """The result of one task."""

    bag: int
    task: int
    parameters: dict[str, Value]  # numbers, where all values of a parameter are numbers
    values: dict[str, Value]  # what it told in lines `name=number` or a JSON object
    machine: int
    cluster: str
    started: float  # seconds of the bag
    attempt: int
    outcome: str  # done, failed, ...
    exit_code: int
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_kib: int
    output_bytes: int  # of what it printed, before any cut
    excerpt: str  # the last line of its output; of a failure the last lines
    slot: int
    outputs: list[tuple[str, str, int]]  # files it left: name, sha256, bytes
    cost_share: int  # of its machine's bill, its idle time included


class Output(NamedTuple):
    """A piece of what an attempt wrote."""

    attempt: int
    data: bytes


class Asks(Protocol):
    async def ask(self, verb: str, **body: Any) -> Body: ...


def __getattr__(name: str) -> Any:
    if name == "Sweep":
        from bats.master.sweep.sweep import Sweep

        return Sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def sweep(file: str | Path = "", **keys: Any) -> "Sweep":
    """The sweep of a file, or of the keys that a sweep file has, or of both. Raises UsageError."""
    from bats.master.sweep.arguments import from_arguments

    return from_arguments(file=file, settings=keys)


class Bag:
    """A bag at the master."""

    def __init__(self, client: "Client", number: int) -> None:
        self._client = client
        self.number = number

    async def status(self) -> Body:
        """The state as facts: `bag.status()["done"]`."""
        return await self._client.ask("status", bag=self.number)

    async def schedules(self) -> list[Schedule]:
        """The schedules on offer; empty before the sample is complete."""
        facts = await self._client.ask("schedules", bag=self.number)
        found: list[Schedule] = facts["schedules"]
        return found

    async def choose(
        self,
        rule: str = "fastest",
        *,
        budget: str | float | None = None,
        deadline: str | float | None = None,
    ) -> Body:
        """Take the schedule of that name, or what a limit allows."""
        limits = _limits(budget, deadline)
        return await self._client.ask("choose", bag=self.number, rule=rule, **limits)

    async def wait(self, phase: str = "") -> Body:
        """The status once the bag is over, or paused, or has come to that phase: "choosing", ..."""
        status: Body = {}
        seen = 0
        while not status or not (
            status["over"] or status.get("paused") or (phase and status.get("phase") == phase)
        ):
            status = await self._client.ask(
                "wait", bag=self.number, seen=seen, seconds=_NEWS_SECONDS
            )
            seen = status["seen"]
        return status

    async def results(self) -> AsyncIterator[TaskResult]:
        """Each task's result, as it comes, until the bag is over.

        Raises PausedError when no more come until the bag is resumed.
        """
        told: set[int] = set()
        seen, pause = 0, 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(pause)
            status = await self._client.ask("wait", bag=self.number, seen=seen, seconds=1.0)
            began = loop.time()
            seen = status["seen"]
            if status.get("done", 0) + status.get("failed", 0) > len(told) or status["over"]:
                async for part in self._client.stream("results", bag=self.number):
                    for result in part["results"]:
                        if result["task"] not in told:
                            told.add(result["task"])
                            _type(result["parameters"], part["types"])
                            yield result
            if status["over"]:
                return
            if (paused := status.get("paused")) and not status["running"]:
                words = f"{paused['reason']}. {paused['ways']}"
                raise PausedError(f"Bag {self.number} is paused: {words}")
            pause = _CALM * (loop.time() - began)

    async def frame(self) -> Any:
        """All results as a pandas DataFrame; parameters and values told are columns.

        Where a name is taken, they are called `param.NAME` and `value.NAME`. Needs pandas.
        """
        import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pd.DataFrame(await self.rows())

    async def rows(self) -> list[dict[str, Any]]:
        """All results so far, flat: parameters and values told stand beside the other facts."""
        rows: list[dict[str, Any]] = []
        async for part in self._client.stream("results", bag=self.number, columns=True):
            for row in part["results"]:
                told = _type(row.pop("values"), part["value_types"])
                for kind, more in (("param", _type(row.pop("parameters"), part["types"])),
                                   ("value", told)):  # fmt: skip
                    for name, value in more.items():
                        row[f"{kind}.{name}" if name in row else name] = value
                rows.append(row)
        return rows

    async def log(self, task: int, *, err: bool = False) -> bytes:
        """The output of the task, once it has ended."""
        data: bytes = b""
        while True:
            piece = await self._client.ask(
                "log", bag=self.number, task=task, stream="err" if err else "out", offset=len(data)
            )
            data += bytes(piece["data"])
            if not piece["data"] or len(data) >= piece["total"]:
                return data

    def follow_log(self, task: int, *, err: bool = False) -> AsyncIterator[Output]:
        """The output of the task as it comes; ends when the task will not run (again)."""
        return follow_log(self._client, self.number, task, err=err)

    async def cancel(self, reason: str = "cancelled by the user") -> Body:
        """End it: what runs is killed, results are kept."""
        return await self._client.ask("cancel", bag=self.number, reason=reason)

    async def resume(self) -> Body:
        """Go on with it, be it paused, cancelled or left by its master."""
        return await self._client.ask("resume", bag=self.number)

    async def retry(self, tasks: Sequence[int] | None = None) -> Body:
        """Try failed tasks again: these, or all."""
        wanted = "failed" if tasks is None else list(tasks)
        return await self._client.ask("retry", bag=self.number, tasks=wanted)


async def follow_log(
    client: Asks, bag: int | str, task: int, *, err: bool = False, attempt: int = 0
) -> AsyncIterator[Output]:
    """Waits for the task to begin, and for a further attempt after one that failed."""
    only, offset, patience = attempt, 0, _FETCH_SECONDS
    stream = "err" if err else "out"
    while True:
        piece = await client.ask(
            "log", bag=bag, task=task, stream=stream, attempt=attempt, offset=offset, live=True
        )
        data = bytes(piece["data"])
        attempt = piece["attempt"]
        if data:
            yield Output(attempt, data)
            offset += len(data)
            continue
        if "path" in piece:  # this attempt has ended, and all of it is told
            if piece["missing"] and patience > 0:
                patience -= _LOOK_SECONDS
            elif piece["over"] or only:
                return
            else:
                attempt, offset = 0, 0
        await asyncio.sleep(_LOOK_SECONDS)


class Client:
    """A connection to a master; any number of questions at a time."""

    def __init__(self, wire: Link) -> None:
        self._link = wire
        self.address = wire.address

    async def ask(self, verb: str, *, timeout_seconds: float = ANSWER_SECONDS, **body: Any) -> Body:
        """The answer. Raises what the master says is wrong, UnreachableError if it says nothing."""
        return await self._link.ask(verb, timeout_seconds=timeout_seconds, **body)

    def stream(
        self, verb: str, *, timeout_seconds: float = ANSWER_SECONDS, **body: Any
    ) -> AsyncIterator[Body]:
        """The parts of a long answer; each may take so long."""
        return self._link.stream(verb, timeout_seconds=timeout_seconds, **body)

    async def send_file(self, path: Path) -> tuple[str, int]:
        """Put a file's content where tasks can have it; its SHA-256 and size."""
        return await self._link.send_file(path)

    async def submit(
        self,
        work: "Sweep | str | Path",
        *,
        offerings: "Sequence[Offering] | None" = None,
        rule: str = "",
        budget: str | float | None = None,
        deadline: str | float | None = None,
        **settings: Any,
    ) -> Bag:
        """Submit a sweep, or a sweep file by its name; the bag it becomes.

            bag = master.submit("sweep.toml", budget="5")

        Without a rule or a limit it waits for `choose` after its sample.

        `offerings` may come from `bats.master.clouds.reading.clouds`; None means the master's.
        `settings` are further keys of a submission: `name`, or policies such as `tail`, which win
        over those of the sweep.
        """
        limits = _limits(budget, deadline)
        work = _sweep_of(work)
        limited = limits or work.budget is not None or work.deadline_seconds is not None
        settings["rule"] = rule or work.pick or ("fastest" if limited else "ask")
        from bats.master.submission import submit

        answer = await submit(self, work, offerings, **limits, **settings)
        return Bag(self, answer["bag"])

    async def bag(self, which: int | str = "last") -> Bag:
        """A bag by number, by name, or the newest."""
        return Bag(self, (await self.ask("status", bag=which))["bag"])

    async def bags(self) -> list[Body]:
        """All bags, the newest last: `[one["name"] for one in master.bags()]`."""
        found: list[Body] = (await self.ask("bags"))["bags"]
        return found


class SyncBag:
    """A `Bag` for programs without asyncio."""

    def __init__(self, client: "SyncClient", bag: Bag) -> None:
        self._run = client.run
        self._bag = bag
        self.number = bag.number

    def status(self) -> Body:
        return self._run(self._bag.status())

    def schedules(self) -> list[Schedule]:
        return self._run(self._bag.schedules())

    def choose(
        self,
        rule: str = "fastest",
        *,
        budget: str | float | None = None,
        deadline: str | float | None = None,
    ) -> Body:
        return self._run(self._bag.choose(rule, budget=budget, deadline=deadline))

    def wait(self, phase: str = "") -> Body:
        return self._run(self._bag.wait(phase))

    def results(self) -> Iterator[TaskResult]:
        coming = self._bag.results()

        async def following() -> TaskResult | None:
            return await anext(coming, None)

        while (result := self._run(following())) is not None:
            yield result

    def resume(self) -> Body:
        return self._run(self._bag.resume())

    def frame(self) -> Any:
        return self._run(self._bag.frame())

    def rows(self) -> list[dict[str, Any]]:
        return self._run(self._bag.rows())

    def log(self, task: int, *, err: bool = False) -> bytes:
        return self._run(self._bag.log(task, err=err))

    def cancel(self, reason: str = "cancelled by the user") -> Body:
        return self._run(self._bag.cancel(reason))

    def retry(self, tasks: Sequence[int] | None = None) -> Body:
        return self._run(self._bag.retry(tasks))


class SyncClient:
    """A `Client` for programs without asyncio; its loop runs in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bats", daemon=True)
        self._thread.start()
        self.client: Client | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of something to be awaited."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End the thread; `with connect()` does so."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, verb: str, **body: Any) -> Body:
        return self.run(self._known.ask(verb, **body))

    def submit(self, work: "Sweep", **how: Any) -> SyncBag:
        """Submit as `Client.submit` does."""
        return SyncBag(self, self.run(self._known.submit(work, **how)))

    def bag(self, which: int | str = "last") -> SyncBag:
        return SyncBag(self, self.run(self._known.bag(which)))

    def bags(self) -> list[Body]:
        return self.run(self._known.bags())

    @property
    def _known(self) -> Client:
        assert self.client is not None
        return self.client


def _told_alike(sync: type, of: type) -> None:
    """Describe once what both have."""
    for name, there in vars(sync).items():
        if callable(there) and not name.startswith("_") and not there.__doc__:
            there.__doc__ = getattr(getattr(of, name, None), "__doc__", None)


_told_alike(SyncBag, Bag)
_told_alike(SyncClient, Client)


class _Connecting:
    """The connection that `connect` returns: opened by `with` or by `async with`."""

    def __init__(self, access: Access, timeout_seconds: float) -> None:
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._open: AbstractAsyncContextManager[Link] | None = None
        self._sync: SyncClient | None = None

    async def __aenter__(self) -> Client:
        self._open = link(self._access, timeout_seconds=self._timeout_seconds)
        return Client(await self._open.__aenter__())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._open is not None
        await self._open.__aexit__(kind, error, trace)

    def __enter__(self) -> SyncClient:
        self._sync = SyncClient()
        try:
            self._sync.client = self._sync.run(self.__aenter__())
        except BaseException:
            self._sync.close()
            raise
        return self._sync

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._sync is not None
        self._sync.run(self.__aexit__(kind, error, trace))
        self._sync.close()


def connect(
    access: Access | str | Path | None = None, *, timeout_seconds: float = CONNECT_SECONDS
) -> _Connecting:
    """The way to a master, by its access file; None means this computer's, in the state folder."""
    if access is None:
        access = default_state() / "access.json"
    if not isinstance(access, Access):
        access = read_access(Path(access).expanduser(), "client")
    return _Connecting(access, timeout_seconds)


def _type(found: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    """In place: text becomes what its column holds."""
    found |= {name: as_typed(value, TYPES[types[name]]) for name, value in found.items()}
    return found


def _sweep_of(work: "Sweep | str | Path") -> "Sweep":
    """Raises UsageError for what is neither a sweep nor the name of a file."""
    from bats.master.sweep.sweep import Sweep

    if isinstance(work, Sweep):
        return work
    if isinstance(work, str | Path):
        return sweep(work)
    raise UsageError(
        f"What is submitted is a sweep file's name or a sweep, not {quoted(work)}; "
        'make one with sweep(argv=["sim", "{x}"], grid={"x": "0:1:0.1"}).'
    )


def _limits(budget: str | float | None, deadline: str | float | None) -> dict[str, Money | float]:
    limits: dict[str, Money | float] = {}
    try:
        if budget is not None:
            limits["budget"] = money(str(budget))  # 0.1 means what is written
        if deadline is not None:
            limits["deadline_seconds"] = seconds(deadline)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    return limits
