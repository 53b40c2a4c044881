"""The handle of a bag at a master: what it is asked, and what it is told to do."""

import asyncio
import math
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from bats.common.errors import PausedError, UnreachableError, UsageError
from bats.common.money import Money, money
from bats.common.outcomes.values import TYPES, as_typed
from bats.common.units import seconds
from bats.master.api import replies
from bats.master.api.asking import Asks, Streams, ask, parts
from bats.master.api.replies import Schedule, TaskResult
from bats.master.api.requests import (
    Add,
    Allow,
    AwaitNews,
    Cancel,
    Choose,
    Close,
    GetElasticity,
    GetFrontier,
    GetLog,
    GetResults,
    GetSchedules,
    GetStatus,
    LeaveOut,
    Pause,
    Resume,
    Retry,
    Weigh,
)
from bats.master.client.log_following import Output, follow_log

if TYPE_CHECKING:  # it takes a while, and whoever only looks needs none of it
    from bats.master.sweep.space import Space

_NEWS_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 60.0  # of who adds tasks, for the next master
_AGAIN_SECONDS: Final = 0.5
_CALM: Final = 10  # looking at all results is given at most one in so many seconds


class Answers(Asks, Streams, Protocol):
    """A master, however it is reached."""


class Bag:
    """A bag at the master; `SyncBag` is the same without `await`.

    bag = await master.submit("sweep.toml")
    """

    def __init__(self, client: Answers, number: int) -> None:
        self._client = client
        self.number = number

    def __repr__(self) -> str:
        return f"<bag {self.number}>"

    async def status(self) -> replies.Status:
        """The state as facts: `bag.status()["done"]`."""
        return await ask(self._client, GetStatus(self.number))

    async def schedules(self) -> list[Schedule]:
        """The schedules on offer; empty before the sample is complete.

        for offer in bag.schedules():
            print(offer["name"], offer["cost"] / 1e9, offer["makespan_seconds"])
        """
        return (await ask(self._client, GetSchedules(self.number)))["schedules"]

    async def frontier(
        self,
        pick: str = "product",
        *,
        budget: str | float | None = None,
        deadline: str | float | None = None,
    ) -> replies.Frontier:
        """The strategies for unreliable machines that no other beats in both time and price.

        bag.frontier(deadline="2h")["chosen"]
        """
        at_most, within = limits_of(budget, deadline)
        return await ask(self._client, GetFrontier(self.number, pick, at_most, within))

    async def elasticity(
        self,
        since: str | float = 0.0,
        until: str | float | None = None,
        *,
        most: int | None = None,
    ) -> replies.Elasticity:
        """Measures of autoscalers, of a span from its beginning: how near supply came to demand.

        bag.elasticity("10m", "2h")["a_u"]
        """
        end = None if until is None else seconds(until)
        return await ask(self._client, GetElasticity(self.number, seconds(since), end, most))

    async def choose(
        self,
        rule: str = "fastest",
        *,
        budget: str | float | None = None,
        deadline: str | float | None = None,
        strategy: str = "",
    ) -> replies.Chosen:
        """Take the schedule of that name, or what a limit allows: `bag.choose(budget="2.50")`.

        `strategy` is one of `frontier`, for unreliable machines, instead of a schedule.
        """
        at_most, within = limits_of(budget, deadline)
        want = Choose(self.number, rule, at_most, deadline_seconds=within, strategy=strategy)
        return await ask(self._client, want)

    async def wait(self, phase: str = "") -> replies.Status:
        """The status once the bag is over, or paused, or has come to that phase.

        bag.wait("choosing")
        bag.choose("fastest")
        print(bag.wait()["done"])
        """
        seen = 0
        while True:
            status = await ask(self._client, AwaitNews(self.number, seen, _NEWS_SECONDS))
            seen = status["seen"]
            if status["over"] or status.get("paused"):
                return status
            if phase and status.get("phase") == phase:
                return status

    async def results(self) -> AsyncIterator[TaskResult]:
        """Each task's result, as it comes, until the bag is over.

            for result in bag.results():
                print(result["parameters"], result["outcome"], result["values"])

        Raises PausedError when no more come until the bag is resumed.
        """
        told: set[int] = set()
        seen, pause = 0, 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(pause)
            status = await ask(self._client, AwaitNews(self.number, seen, 1.0))
            began = loop.time()
            seen = status["seen"]
            if status.get("done", 0) + status.get("failed", 0) > len(told) or status["over"]:
                async for part in parts(self._client, GetResults(self.number)):
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

            bag.frame().groupby("alpha")["loss"].mean()

        Where a name is taken, they are called `param.NAME` and `value.NAME`. Needs pandas.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ModuleNotFoundError:
            raise UsageError(
                "`frame()` needs pandas (`pip install pandas`); `rows()` has the same without it."
            ) from None
        return pd.DataFrame(await self.rows())

    async def rows(self) -> list[dict[str, Any]]:
        """All results so far, flat: parameters and values told stand beside the other facts.

        losses = {row["alpha"]: row["loss"] for row in bag.rows()}
        """
        rows: list[dict[str, Any]] = []
        async for part in parts(self._client, GetResults(self.number, columns=True)):
            for row in part["results"]:
                told = _type(row.pop("values"), part["value_types"])
                for kind, more in (("param", _type(row.pop("parameters"), part["types"])),
                                   ("value", told)):  # fmt: skip
                    for name, value in more.items():
                        row[f"{kind}.{name}" if name in row else name] = value
                rows.append(row)
        return rows

    async def log(self, task: int, *, err: bool = False) -> bytes:
        """The output of the task, once it has ended: `bag.log(17, err=True).decode()`."""
        data: bytes = b""
        while True:
            stream = "err" if err else "out"
            want = GetLog(self.number, task=task, stream=stream, offset=len(data))
            piece = await ask(self._client, want)
            data += bytes(piece["data"])
            if not piece["data"] or len(data) >= piece["total"]:
                return data

    def follow_log(self, task: int, *, err: bool = False) -> AsyncIterator[Output]:
        """The output of the task as it comes; ends when the task will not run (again).

        async for piece in bag.follow_log(17):
            sys.stdout.buffer.write(piece.data)
        """
        return follow_log(self._client, self.number, task, err=err)

    async def cancel(self, reason: str = "cancelled by the user") -> replies.BagState:
        """End it: what runs is killed, results are kept. `bag.cancel("found it")`."""
        return await ask(self._client, Cancel(self.number, reason))

    async def allow(
        self, *, budget: str | float | None = None, deadline: str | float | None = None
    ) -> replies.Allowed:
        """Let it cost so much in all, or take so long: `bag.allow(budget=12)`; it goes on then."""
        at_most, within = limits_of(budget, deadline)
        return await ask(self._client, Allow(self.number, at_most, within))

    async def pause(self, reason: str = "paused by the user") -> replies.Told:
        """Let it stand still until it is resumed: `bag.pause()`; what runs may end."""
        return await ask(self._client, Pause(self.number, reason))

    async def weigh(
        self, weight: int | None = None, *, priority: int | None = None
    ) -> replies.Weighed:
        """Give it another part of what bags share: `bag.weigh(2)` is twice as much as usual."""
        return await ask(self._client, Weigh(self.number, weight, priority))

    async def drop(self, tasks: Sequence[int]) -> replies.LeftOut:
        """Do without these tasks, waiting or running: `bag.drop(range(900, 1000))`."""
        return await ask(self._client, LeaveOut(self.number, tasks=list(tasks)))

    async def add(
        self, tasks: "Iterable[Mapping[str, object]] | Space", *, key: str = ""
    ) -> replies.Added:
        """Add tasks to an open bag: `bag.add([{"x": 1}, {"x": 2}])["first"]` is the first's number.

        They are durable when this returns. Many at a time go much faster than one by one. With the
        same key nothing is added twice: where an answer is lost it is asked again for a minute.
        """
        from bats.master.sweep.space import space_to_plain

        key = key or secrets.token_hex(16)
        want = Add(self.number, space=space_to_plain(_space_of(tasks)), key=key)
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE_SECONDS
        while True:
            try:
                return await ask(self._client, want)
            except UnreachableError as error:
                if loop.time() > until:
                    raise UnreachableError(
                        f"{error} Perhaps the tasks were added: add them again with "
                        f"the key {key}, and they are not added twice."
                    ) from None
            await asyncio.sleep(_AGAIN_SECONDS)

    async def close(self) -> replies.BagState:
        """Add no more tasks to it: `bag.close()`; it ends when those that it has have ended."""
        return await ask(self._client, Close(self.number))

    async def resume(self) -> replies.Told:
        """Go on with it, be it paused, cancelled or left by its master: `bag.resume()`."""
        return await ask(self._client, Resume(self.number))

    async def retry(self, tasks: Sequence[int] | None = None) -> replies.Retried:
        """Try failed tasks again: `bag.retry([3, 17])`, or all: `bag.retry()`."""
        wanted = "failed" if tasks is None else list(tasks)
        return await ask(self._client, Retry(self.number, wanted))


def limits_of(
    budget: str | float | None, deadline: str | float | None
) -> tuple[Money | None, float | None]:
    """The money and the seconds meant."""
    for name, limit in (("budget", budget), ("deadline", deadline)):
        if isinstance(limit, int | float) and not 0 <= limit < math.inf:
            raise UsageError(f"`{name}` should be a number, 0 or more, not {limit}.")
    try:
        return (
            None if budget is None else money(str(budget)),  # 0.1 means what is written
            None if deadline is None else seconds(deadline),
        )
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def _space_of(tasks: "Iterable[Mapping[str, object]] | Space") -> "Space":
    """The tasks as rows of their values. Raises UsageError."""
    from bats.master.sweep.columns import Listed
    from bats.master.sweep.space import Axis, Space

    if isinstance(tasks, Space):
        return tasks
    rows = list(tasks)
    if not rows:
        raise UsageError("There is nothing to add: give a mapping of values for each task.")
    names = tuple(rows[0])
    for number, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise UsageError(
                f"Task {number} of those to add has values for {', '.join(row)}, "
                f"the first for {', '.join(names)}."
            )
    return Space((Axis(names, tuple(Listed(_text(row[name]) for row in rows) for name in names)),))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(found: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    """In place: text becomes what its column holds."""
    found |= {name: as_typed(value, TYPES[types[name]]) for name, value in found.items()}
    return found
