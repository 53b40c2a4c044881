"""Files that tasks leave to others: what a task is brought, by content, from the store."""

from collections import defaultdict
from typing import Final

from bats.common.messages import BagId, TaskId
from bats.master.store.reader import Reader
from bats.master.sweep.sweep import Input
from bats.master.sweep.work import Work

_MODE: Final = 0o644
_STREAMS: Final = ("stdout", "stderr")


def inherited(reader: Reader, bag: BagId, work: Work, task: TaskId) -> tuple[Input, ...]:
    """The outputs of the tasks that it waits for, under their own names.

    Of a name that several tasks left, each lies in a folder by its task's step and number there.
    """
    left: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for whole, tasks in work.sources(task):
        for result in reader.left_by(bag, tasks):
            apart = f"{work.parameters(whole[0])['step']}/{result.task - whole.start}"
            for name, sha256, size in result.outputs:
                if name not in _STREAMS:
                    left[name].append((apart, sha256, size))
    return tuple(
        (name if len(found) == 1 else f"{apart}/{name}", sha256, size, _MODE)
        for name, found in left.items()
        for apart, sha256, size in found
    )
