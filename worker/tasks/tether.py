"""The kernel ends tasks with the daemon, should nobody be left to: a pipe tells it to.

A pipe is written to by nobody. Its end for reading is handed to each task of a slot, and tells the
kernel to kill the task's group on news; the other end is the daemon's alone, so that its closing,
which is the daemon's end, is the only news. A signal at a parent's death (`PR_SET_PDEATHSIG`) would
have to be asked for by the child itself, so `posix_spawn` cannot; and it spares grandchildren.
"""

import fcntl
import os
import signal
from typing import Final

_HANDED_ON_AS: Final = 63  # of no use to shells and scripts, and no table must grow for it


class Tether:
    """Not reached is a task that closes all files it was given, or what left its group.

    Nor is one that was started in the instant of the daemon's death.
    """

    def __init__(self, news: int) -> None:
        """`news` is the pipe's end for reading, of which this one is a reader of its own."""
        self._end = os.open(f"/proc/self/fd/{news}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        flags = fcntl.fcntl(self._end, fcntl.F_GETFL)
        fcntl.fcntl(self._end, fcntl.F_SETFL, flags | os.O_ASYNC)
        fcntl.fcntl(self._end, fcntl.F_SETSIG, signal.SIGKILL)
        self.handed_on = (os.POSIX_SPAWN_DUP2, self._end, _HANDED_ON_AS)

    def hold(self, group: int) -> None:
        """Let this group of processes end with the daemon, and no group from before."""
        fcntl.fcntl(self._end, fcntl.F_SETOWN, -group)

    def close(self) -> None:
        os.close(self._end)
