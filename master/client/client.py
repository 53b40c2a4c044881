"""The client of a master: bags are submitted with it, and found."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bats.common.errors import UsageError, quoted
from bats.common.units import seconds
from bats.master.api import replies
from bats.master.api.asking import ask
from bats.master.api.requests import GetBags, GetMasterElasticity, GetPools, GetStatus
from bats.master.client.bag_handle import Bag, limits_of
from bats.master.link import ANSWER_SECONDS, Link

if TYPE_CHECKING:  # these take a while, and whoever only looks needs none of them
    from bats.common.offering import Offering
    from bats.master.flow import Flow
    from bats.master.sweep.work import Work

Body = dict[str, Any]


def sweep(file: str | Path = "", *, to_be_open: bool = False, **keys: Any) -> "Work":
    """The sweep of a file, or of the keys that a sweep file has, or of both. Raises UsageError.

    work = sweep(argv=["sim", "{x}"], grid={"x": "0:1:0.1"}, retries=2)

    With steps it is a workflow. One `to_be_open` gets tasks later, by `Bag.add`.
    """
    from bats.master.sweep.arguments import from_arguments

    return from_arguments(file=file, settings=keys, to_be_open=to_be_open, in_python=True)


class Client:
    """A connection to a master; any number of questions at a time.

    async with connect() as master:
        bag = await master.submit("sweep.toml", budget="5")
        async for result in bag.results():
            print(result["parameters"], result["values"])
    """

    def __init__(self, wire: Link) -> None:
        self._link = wire
        self.address = wire.address

    def __repr__(self) -> str:
        return f"<master at {self.address}>"

    async def ask(self, verb: str, *, timeout_seconds: float = ANSWER_SECONDS, **body: Any) -> Body:
        """The answer to a question in the words of the wire: `master.ask("machines", bag=1)`.

        Raises what the master says is wrong, UnreachableError if it says nothing.
        """
        return await self._link.ask(verb, timeout_seconds=timeout_seconds, **body)

    def stream(
        self, verb: str, *, timeout_seconds: float = ANSWER_SECONDS, **body: Any
    ) -> AsyncIterator[Body]:
        """The parts of a long answer; each may take so long.

        async for part in master.stream("export", bag=1, format="csv"):
            print(part["text"], end="")
        """
        return self._link.stream(verb, timeout_seconds=timeout_seconds, **body)

    async def send_file(self, path: Path) -> tuple[str, int]:
        """Put a file's content where tasks can have it; its SHA-256 and size.

        sha256, size = await master.send_file(Path("data.csv"))
        """
        return await self._link.send_file(path)

    async def submit(
        self,
        work: "Work | Flow | str | Path",
        *,
        to_be_open: bool = False,
        offerings: "Sequence[Offering] | None" = None,
        rule: str = "",
        budget: str | float | None = None,
        deadline: str | float | None = None,
        **settings: Any,
    ) -> Bag:
        """Submit a sweep, or a sweep file by its name; the bag it becomes.

            bag = master.submit("sweep.toml", budget="5")

        Without a rule or a limit it waits for `choose` after its sample. The sweep file of a bag
        `to_be_open` need not have values: tasks are added by `Bag.add`.

        `offerings` may come from `bats.master.clouds.clouds_reading.clouds`; None means the
        master's. `settings` are further keys of a submission: `name`, or policies such as `tail`,
        which win over those of the sweep.
        """
        at_most, within = limits_of(budget, deadline)
        work = _sweep_of(work, to_be_open=to_be_open)
        limits = (at_most, within, work.budget, work.deadline_seconds)
        limited = any(one is not None for one in limits)
        settings |= {"budget": at_most, "deadline_seconds": within}
        settings["rule"] = rule or work.pick or ("fastest" if limited else "ask")
        from bats.master.submitting import submit

        answer = await submit(self, work, offerings, **settings)
        return Bag(self, answer["bag"])

    async def bag(self, which: int | str = "last") -> Bag:
        """A bag by number, by name, or the newest: `master.bag("sweep")`, `master.bag()`."""
        return Bag(self, (await ask(self, GetStatus(which)))["bag"])

    async def bags(self) -> list[replies.BagLine]:
        """All bags, the newest last: `[one["name"] for one in master.bags()]`."""
        return (await ask(self, GetBags()))["bags"]

    async def elasticity(
        self, since: str | float = "1h", until: str | float = 0.0, *, most: int | None = None
    ) -> replies.MasterElasticity:
        """Measures of autoscalers of all bags and pools, from so long ago until so long ago.

        master.elasticity("2d", "1d")["a_u"]
        """
        return await ask(self, GetMasterElasticity(seconds(since), seconds(until), most))

    async def pools(self) -> list[replies.PoolLine]:
        """The pools of the master: `[one["why"] for one in master.pools()]`."""
        return (await ask(self, GetPools()))["pools"]


def _sweep_of(work: "Work | Flow | str | Path", *, to_be_open: bool) -> "Work":
    """Raises UsageError for what is neither a sweep nor the name of a file."""
    from bats.master.flow import Flow
    from bats.master.sweep.work import Work

    if to_be_open and not (isinstance(work, str | Path) or getattr(work, "open", False)):
        raise UsageError("A sweep is made to be open: sweep(..., to_be_open=True).")
    if isinstance(work, Work):
        return work
    if isinstance(work, Flow):
        return work.workflow()
    if isinstance(work, str | Path):
        return sweep(work, to_be_open=to_be_open)
    raise UsageError(
        f"What is submitted is a sweep file's name or a sweep, not {quoted(work)}; "
        'make one with sweep(argv=["sim", "{x}"], grid={"x": "0:1:0.1"}).'
    )
