"""The outputs of tasks in the order of tasks, whichever ends first: what `bats run -k` prints."""

import sys

from bats.common.errors import UsageError
from bats.master.client import Client, follow_log


async def print_in_order(client: Client, bag: int, tasks: int) -> None:
    """Print each task's output as soon as all before it are printed; ends with the last."""
    for task in range(tasks):
        attempt = 0
        pieces: list[bytes] = []
        try:
            async for piece in follow_log(client, bag, task):
                if piece.attempt != attempt:  # it is tried again: what it wrote before is no result
                    attempt, pieces = piece.attempt, []
                pieces.append(piece.data)
        except UsageError:  # it was never begun: the bag was cancelled
            continue
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
