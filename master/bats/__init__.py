"""Bags of tasks (parameter sweeps) on machines that cost money, within a budget or by a deadline.

    from bats import connect

    with connect() as master:  # the one that `bats master` started on this computer
        bag = master.submit("sweep.toml", budget="5")
        for result in bag.results():  # as they come
            print(result["parameters"], result["values"])

    connect     the way to a master; what it gives submits bags and asks after them
    sweep       a sweep of a file's keys, without a file
    Flow        tasks that wait for one another, put together one by one; each is a future
    clouds      what a clouds file offers: `submit(..., offerings=clouds("mine.toml").offerings)`

With `async with connect()` each question takes an `await`. Whatever goes wrong is a `BatsError`
with the sentence that the command line prints. Money is a whole number of billionths in what is
told, and a text or a number ("5", 0.25) where it is given.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bats.common.errors import (
        BatsError,
        CannotBeMetError,
        PausedError,
        UnreachableError,
        UsageError,
    )
    from bats.common.offering import Offering
    from bats.master.client import (
        Bag,
        Client,
        Schedule,
        SyncBag,
        SyncClient,
        TaskResult,
        connect,
        sweep,
    )
    from bats.master.clouds.clouds_reading import clouds
    from bats.master.flow import Flow, NotRunError, TaskFailedError
    from bats.master.sweep.sweep import Sweep

__all__ = [
    "Bag",
    "BatsError",
    "CannotBeMetError",
    "Client",
    "Flow",
    "NotRunError",
    "Offering",
    "PausedError",
    "Schedule",
    "Sweep",
    "SyncBag",
    "SyncClient",
    "TaskFailedError",
    "TaskResult",
    "UnreachableError",
    "UsageError",
    "clouds",
    "connect",
    "sweep",
]  # fmt: skip

_ELSEWHERE: Final = {
    "Offering": "bats.common.offering",
    "clouds": "bats.master.clouds.clouds_reading",
    **dict.fromkeys(("Flow", "NotRunError", "TaskFailedError"), "bats.master.flow"),
}


def __getattr__(name: str) -> Any:
    """Load what is named first when it is named: a worker imports `bats` too, and stays light."""
    if name == "__version__":
        return import_module("bats.common.release").release()
    if name not in __all__:
        raise AttributeError(f"module 'bats' has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "bats.master.client")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
