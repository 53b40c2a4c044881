"""Captured output where master and worker share a file system: it is put in its place at once.

`FOLDER/<task // 1000>/<task>.out` and `.err`, only if there is any; later attempts carry their
number, `<task>.2.out`, so that a replica never overwrites what the winner wrote.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bats.common.messages import AttemptId

TASKS_PER_FOLDER: Final = 1000


def output_name(task: int, attempt: int, end: str) -> str:
    """Relative to the bag's output folder; `end` is "out" or "err"."""
    number = f".{attempt}" if attempt > 1 else ""
    return f"{task // TASKS_PER_FOLDER}/{task}{number}.{end}"


class Shelf:
    """A bag's output folder, if this machine can write there."""

    def __init__(self, folder: str, mark: str) -> None:
        self._folder = Path(folder)
        self._mark = mark  # of this daemon: two that run one attempt do not meet in a file
        self._made: set[int] = set()

    def usable(self) -> bool:
        """Made by the master beforehand: a folder of that name here means a shared file system."""
        return self._folder.is_dir() and os.access(self._folder, os.W_OK | os.X_OK)

    def put(self, attempt: AttemptId, end: str, pieces: Iterable[bytes]) -> None:
        """Whole or not at all. Raises OSError."""
        shard = attempt.task // TASKS_PER_FOLDER
        if shard not in self._made:
            (self._folder / str(shard)).mkdir(exist_ok=True)
            self._made.add(shard)
        path = self._folder / output_name(attempt.task, attempt.attempt, end)
        partial = path.with_name(f".{path.name}.{self._mark}")
        try:
            with partial.open("wb") as file:
                file.writelines(pieces)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
