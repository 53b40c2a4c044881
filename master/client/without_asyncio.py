"""The client and its bags for programs without asyncio: a loop runs in a thread beside them."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bats.common.errors import UnreachableError
from bats.master.api import replies
from bats.master.api.replies import Schedule, TaskResult
from bats.master.client.bag_handle import Bag
from bats.master.client.client import Body, Client

if TYPE_CHECKING:  # these take a while, and whoever only looks needs none of them
    from bats.master.flow import Flow
    from bats.master.sweep.space import Space
    from bats.master.sweep.work import Work

T = TypeVar("T")


class SyncBag:
    """A `Bag` for programs without asyncio.

    bag = master.submit("sweep.toml", budget="5")
    print(bag.wait()["state"])
    """

    def __init__(self, client: "SyncClient", bag: Bag) -> None:
        self._run = client.run
        self._bag = bag
        self.number = bag.number

    def __repr__(self) -> str:
        return repr(self._bag)

    def status(self) -> replies.Status:
        return self._run(self._bag.status())

    def schedules(self) -> list[Schedule]:
        return self._run(self._bag.schedules())

    def frontier(
        self,
        pick: str = "product",
        *,
        budget: str | float | None = None,
        deadline: str | float | None = None,
    ) -> replies.Frontier:
        return self._run(self._bag.frontier(pick, budget=budget, deadline=deadline))

    def elasticity(
        self,
        since: str | float = 0.0,
        until: str | float | None = None,
        *,
        most: int | None = None,
    ) -> replies.Elasticity:
        return self._run(self._bag.elasticity(since, until, most=most))

    def choose(
        self,
        rule: str = "fastest",
        *,
        budget: str | float | None = None,
        deadline: str | float | None = None,
        strategy: str = "",
    ) -> replies.Chosen:
        return self._run(
            self._bag.choose(rule, budget=budget, deadline=deadline, strategy=strategy)
        )

    def wait(self, phase: str = "") -> replies.Status:
        return self._run(self._bag.wait(phase))

    def results(self) -> Iterator[TaskResult]:
        coming = self._bag.results()

        async def following() -> TaskResult | None:
            return await anext(coming, None)

        while (result := self._run(following())) is not None:
            yield result

    def allow(
        self, *, budget: str | float | None = None, deadline: str | float | None = None
    ) -> replies.Allowed:
        return self._run(self._bag.allow(budget=budget, deadline=deadline))

    def pause(self, reason: str = "paused by the user") -> replies.Told:
        return self._run(self._bag.pause(reason))

    def weigh(self, weight: int | None = None, *, priority: int | None = None) -> replies.Weighed:
        return self._run(self._bag.weigh(weight, priority=priority))

    def drop(self, tasks: Sequence[int]) -> replies.LeftOut:
        return self._run(self._bag.drop(tasks))

    def add(
        self, tasks: "Iterable[Mapping[str, object]] | Space", *, key: str = ""
    ) -> replies.Added:
        return self._run(self._bag.add(tasks, key=key))

    def close(self) -> replies.BagState:
        return self._run(self._bag.close())

    def resume(self) -> replies.Told:
        return self._run(self._bag.resume())

    def frame(self) -> Any:
        return self._run(self._bag.frame())

    def rows(self) -> list[dict[str, Any]]:
        return self._run(self._bag.rows())

    def log(self, task: int, *, err: bool = False) -> bytes:
        return self._run(self._bag.log(task, err=err))

    def cancel(self, reason: str = "cancelled by the user") -> replies.BagState:
        return self._run(self._bag.cancel(reason))

    def retry(self, tasks: Sequence[int] | None = None) -> replies.Retried:
        return self._run(self._bag.retry(tasks))


class LoopThread:
    """An event loop that runs in a thread of its own until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bats", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of something to be awaited. Raises UnreachableError once it is closed."""
        if self._loop.is_closed():
            work.close()
            raise UnreachableError(
                "This connection to the master is closed; ask within `with connect() as master:`."
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SyncClient:
    """A `Client` for programs without asyncio; its loop runs in a thread of its own.

    with connect() as master:
        print([one["name"] for one in master.bags()])
    """

    def __init__(self, client: Client, thread: LoopThread) -> None:
        self.client = client
        self.run = thread.run

    def __repr__(self) -> str:
        return repr(self.client)

    def ask(self, verb: str, **body: Any) -> Body:
        return self.run(self.client.ask(verb, **body))

    def submit(self, work: "Work | Flow | str | Path", **how: Any) -> SyncBag:
        """Submit as `Client.submit` does: `master.submit("sweep.toml", budget="5")`."""
        return SyncBag(self, self.run(self.client.submit(work, **how)))

    def bag(self, which: int | str = "last") -> SyncBag:
        return SyncBag(self, self.run(self.client.bag(which)))

    def bags(self) -> list[replies.BagLine]:
        return self.run(self.client.bags())

    def elasticity(
        self, since: str | float = "1h", until: str | float = 0.0, *, most: int | None = None
    ) -> replies.MasterElasticity:
        return self.run(self.client.elasticity(since, until, most=most))

    def pools(self) -> list[replies.PoolLine]:
        return self.run(self.client.pools())


def _told_alike(sync: type, of: type) -> None:
    """Describe once what both have."""
    for name, there in vars(sync).items():
        if callable(there) and not name.startswith("_") and not there.__doc__:
            there.__doc__ = getattr(getattr(of, name, None), "__doc__", None)


_told_alike(SyncBag, Bag)
_told_alike(SyncClient, Client)
