"""A master's store in a process of its own: tells facts as fast as it can until it is killed.

Says on stdout, in one write each, what has been acknowledged: `bag events results`.
"""

import asyncio
import os
import sys
from pathlib import Path

from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.master.store.rows import BagRow
from bats.master.store.store import Store


async def tell(folder: Path) -> None:
    store = Store(folder, "1.0", pace_seconds=0.0)
    bag = store.new_bag()
    store.bag(BagRow(bag, "killed", b"", b"", 0, 0.0, "running"))
    task = 0
    while True:
        for _ in range(1 + task % 5):
            number = store.journal(bag, float(task), b"event %d" % task)
            store.results([finished(bag, task)])
            task += 1
        store.then(lambda events=number + 1, results=task: say(bag, events, results))
        if store.backlog > 1000:
            await store.committed()
        await asyncio.sleep(0)


def finished(bag: BagId, task: int) -> Result:
    return Result(
        bag, TaskId(task), 1, Outcome.DONE, 0, 1.0, 0.0, 0.0, task, 0, "x" * task, 0,
        machine=MachineId(1_000_001), cluster="c",
    )  # fmt: skip


def say(bag: int, events: int, results: int) -> None:
    os.write(sys.stdout.fileno(), b"%d %d %d\n" % (bag, events, results))


if __name__ == "__main__":
    asyncio.run(tell(Path(sys.argv[1])))
