"""Captured output, put where master and worker share a file system; only if there is any."""

import os
from collections.abc import Iterable
from pathlib import Path

from bats.common.folders import output_folder_of, printed_path
from bats.common.messages import AttemptId


class SharedOutput:
    """A bag's output folder, if this machine can write there."""

    def __init__(self, folder: str, mark: str) -> None:
        self._folder = Path(folder)
        self._mark = mark  # of this daemon: two that run one attempt do not meet in a file
        self._made: set[str] = set()
        self._unsynced: list[Path] = []

    def usable(self) -> bool:
        """Made by the master beforehand: a folder of that name here means a shared file system."""
        return self._folder.is_dir() and os.access(self._folder, os.W_OK | os.X_OK)

    def put(self, attempt: AttemptId, end: str, pieces: Iterable[bytes]) -> None:
        """Whole or not at all. Raises OSError."""
        shard = output_folder_of(attempt.task)
        if shard not in self._made:
            (self._folder / shard).mkdir(exist_ok=True)
            self._made.add(shard)
            self._unsynced.append(self._folder / shard)
        path = self._folder / printed_path(attempt.task, attempt.attempt, end)
        partial = path.with_name(f".{path.name}.{self._mark}")
        try:
            with partial.open("wb") as file:
                file.writelines(pieces)
            partial.replace(path)
            self._unsynced.append(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise

    def take_unsynced(self) -> list[Path]:
        """The files put since, for whoever sees to it that they are on the disk."""
        files, self._unsynced = self._unsynced, []
        return files
