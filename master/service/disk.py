"""Room on the master's disks: a reserve below which it only finishes what it has begun.

Half of the reserve is for results alone: no file is taken that would leave less, so that what was
done and what it cost can be written down whatever tasks leave.
"""

import errno
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bats.common.units import show_octets

_MOST_BYTES: Final = 1 << 30
_SHARE: Final = 0.05  # of a small disk
_ENOUGH: Final = 1.25  # times the reserve, until it is no more said to be low

Usage = Callable[[Path], tuple[int, int]]


def usage(folder: Path) -> tuple[int, int]:
    """Bytes in all and free, of the disk where a folder is or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    seen = shutil.disk_usage(folder)
    return seen.total, seen.free


class Disks:
    """The disks of these folders; each keeps `reserve_bytes`, by itself a twentieth."""

    def __init__(
        self, folders: Sequence[Path], reserve_bytes: int | None = None, usage: Usage = usage
    ) -> None:
        self._folders = folders
        self._reserve_bytes = reserve_bytes
        self._usage = usage
        self.low = ""  # why nothing new is begun, in a sentence

    def look(self) -> bool:
        """Look at them; True if something is to be said anew."""
        before, self.low = bool(self.low), self._low(_ENOUGH if self.low else 1.0)
        return before != bool(self.low)

    def check_room(self, folder: Path, size: int) -> None:
        """Raise the error of a full disk for a file that would take what results need."""
        total, free = self._usage(folder)
        if free - size < self._reserve(total) / 2:
            words = f"{show_octets(size)} more would leave no room for results"
            raise OSError(errno.ENOSPC, words, str(folder))

    def _low(self, times: float) -> str:
        for folder in self._folders:
            total, free = self._usage(folder)
            if free < (reserve := self._reserve(total)) * times:
                return (
                    f"The disk of {folder} has {show_octets(free)} left; the master keeps "
                    f"{show_octets(reserve)} for results and begins nothing new. Make room there."
                )
        return ""

    def _reserve(self, total: int) -> int:
        if self._reserve_bytes is not None:
            return self._reserve_bytes
        return min(_MOST_BYTES, int(total * _SHARE))
