"""Output of a task, told as it comes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from bats.master.api.asking import Asks, ask
from bats.master.api.requests import GetLog

_LOOK_SECONDS: Final = 0.3  # between two looks at a task that writes nothing
_FETCH_SECONDS: Final = 15.0  # for the output of an ended task to arrive from its machine


class Output(NamedTuple):
    """A piece of what an attempt wrote."""

    attempt: int
    data: bytes


async def follow_log(
    client: Asks, bag: int | str, task: int, *, err: bool = False, attempt: int = 0
) -> AsyncIterator[Output]:
    """Waits for the task to begin, and for a further attempt after one that failed."""
    only, offset, patience = attempt, 0, _FETCH_SECONDS
    stream = "err" if err else "out"
    while True:
        want = GetLog(bag, task=task, stream=stream, attempt=attempt, offset=offset, live=True)
        piece = await ask(client, want)
        data = bytes(piece["data"])
        if not only and piece["attempt"] != attempt:
            attempt, offset = piece["attempt"], 0
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
