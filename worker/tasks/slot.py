"""A slot's own files, kept open from task to task: captured output, standard input, scratch folder.

Creating files would cost more than starting a process does; so each slot has one file for stdout
and one for stderr, emptied after each task. Tasks append to them, so their length is what was
written. If anything of a task may live on, the slot gets fresh files, lest it writes into the next
task's output.

A task also inherits the slot's `Tether`, by which the kernel kills it when the daemon is no more,
and is put into the slot's control group, if there is one.
"""

import os
import shutil
import time
from pathlib import Path
from typing import Final

from bats.worker.control_groups import Group
from bats.worker.tasks.tether import Tether

_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
_TICK_NS: Final = 10_000_000  # of a kernel's clock: a finer one of files goes on so often
_FINE_SECONDS: Final = 0.05  # between two times that such a file system tells apart
_COARSE_SECONDS: Final = 3.0  # and any other

Actions = list[tuple[int, int, int]]


class Slot:
    def __init__(
        self, folder: Path, number: int, null: int, news: int, group: Group | None
    ) -> None:
        self.number = number
        self._base = folder / str(number)
        self._null = null
        self._trash = 0
        self.scratch = f"{self._base}.scratch"
        self.scratch_bytes = os.fsencode(self.scratch)
        self._scratch_folder = Path(self.scratch)
        self._scratch_folder.mkdir(mode=0o700)
        self._changed = -1  # the folder's time of change, when it was first seen to be empty
        self._seen = 0.0  # and when that was, on our clock
        self._trusted = False  # any change since would bear another time
        self.tether = Tether(news)
        self.group = group
        self.stdin = -1
        self._open()

    def fresh(self) -> None:
        """New files instead of those that a left-over process may still hold."""
        os.close(self.stdout)
        os.close(self.stderr)
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1
        for end in ("out", "err", "in"):
            Path(f"{self._base}.{end}").unlink(missing_ok=True)
        self._open()

    def with_stdin(self, text: str) -> Actions:
        """File actions for a task that reads this text."""
        if self.stdin < 0:
            self.stdin = os.open(f"{self._base}.in", _OPEN & ~os.O_APPEND, 0o600)
        data = text.encode(errors="surrogateescape")
        os.ftruncate(self.stdin, 0)
        written = 0
        while written < len(data):  # a disk that becomes full takes a part
            written += os.pwrite(self.stdin, data[written:], written)
        os.lseek(self.stdin, 0, os.SEEK_SET)
        return [(os.POSIX_SPAWN_DUP2, self.stdin, 0), *self.actions[1:]]

    def clear_scratch(self) -> str | None:
        """An empty scratch folder again. Returns where the old content went, to be deleted."""
        try:
            changed = os.stat(self.scratch).st_mtime_ns  # noqa: PTH116
            if changed == self._changed and self._trusted:
                return None  # the usual case, told with one system call instead of six
            with os.scandir(self.scratch) as content:
                if next(content, None) is None:
                    self._note(changed)
                    return None
            self._trash += 1
            trash = f"{self._base}.trash{self._trash}"
            self._scratch_folder.rename(trash)
        except FileNotFoundError:  # the task deleted it
            trash = None
        self._scratch_folder.mkdir(mode=0o700)
        return trash

    def _note(self, changed: int) -> None:
        """Note that the folder is empty. What changes it now may yet bear the same time."""
        now = time.monotonic()
        if changed != self._changed:
            self._changed, self._seen = changed, now
        apart = _FINE_SECONDS if changed % _TICK_NS else _COARSE_SECONDS
        self._trusted = now - self._seen > apart

    def close(self) -> None:
        for file in (self.stdout, self.stderr, self.stdin):
            if file >= 0:
                os.close(file)
        for end in ("out", "err", "in"):
            Path(f"{self._base}.{end}").unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.tether.close()
        if self.group:
            self.group.close()

    def _open(self) -> None:
        self.stdout = os.open(f"{self._base}.out", _OPEN, 0o600)
        self.stderr = os.open(f"{self._base}.err", _OPEN, 0o600)
        self.actions: Actions = [
            (os.POSIX_SPAWN_DUP2, self._null, 0),
            (os.POSIX_SPAWN_DUP2, self.stdout, 1),
            (os.POSIX_SPAWN_DUP2, self.stderr, 2),
            self.tether.handed_on,
        ]
