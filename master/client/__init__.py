"""The Python client: submit a sweep, choose a schedule, take results as they come.

    from bats import connect

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

from typing import TYPE_CHECKING, Any

from bats.common.errors import (
    BatsError,
    CannotBeMetError,
    PausedError,
    UnreachableError,
    UsageError,
)
from bats.master.api.replies import Schedule, TaskResult
from bats.master.client.bag_handle import Bag
from bats.master.client.client import Client, sweep
from bats.master.client.connecting import connect
from bats.master.client.log_following import Output, follow_log
from bats.master.client.without_asyncio import SyncBag, SyncClient

if TYPE_CHECKING:  # these take a while, and whoever only looks needs none of them
    from bats.master.sweep.sweep import Sweep
    from bats.master.sweep.workflow.workflow import Workflow

__all__ = [
    "Bag",
    "BatsError",
    "CannotBeMetError",
    "Client",
    "Output",
    "PausedError",
    "Schedule",
    "Sweep",
    "SyncBag",
    "SyncClient",
    "TaskResult",
    "UnreachableError",
    "UsageError",
    "Workflow",
    "connect",
    "follow_log",
    "sweep",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "Sweep":
        from bats.master.sweep.sweep import Sweep

        return Sweep
    if name == "Workflow":
        from bats.master.sweep.workflow.workflow import Workflow

        return Workflow
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
