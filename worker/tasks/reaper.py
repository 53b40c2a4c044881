"""Tells when processes end, each just before it is waited for."""

import asyncio
import contextlib
import os
import select
import signal
from collections.abc import Callable
from typing import Any, Final, Protocol

_AT_ONCE: Final = 16  # looks, so that the master is not kept waiting

Ended = Callable[[Any, int], None]
"""A callback: it gets what `watch` was given and the process id, which still is the zombie's."""


class Reaper(Protocol):
    def watch(self, pid: int, what: Any) -> None: ...

    def close(self) -> None: ...


def reaper(loop: asyncio.AbstractEventLoop, ended: Ended) -> Reaper:
    """The best that this kernel has."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # before Linux 5.3, as on clusters with Enterprise Linux 8
        return SignalReaper(loop, ended)
    return PidfdReaper(loop, ended)


class PidfdReaper:
    """One epoll of pidfds, itself watched by the event loop.

    Adding each pidfd to the loop would cost more than all else that is done per task.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Ended) -> None:
        self._loop = loop
        self._ended = ended
        self._epoll = select.epoll()
        self._watched: dict[int, tuple[Any, int]] = {}
        loop.add_reader(self._epoll.fileno(), self._look)

    def watch(self, pid: int, what: Any) -> None:
        file = os.pidfd_open(pid)
        self._watched[file] = what, pid
        self._epoll.register(file, select.EPOLLIN)

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        for file in self._watched:
            os.close(file)

    def _look(self) -> None:
        """Take in what ends meanwhile, too: starting another task takes as long as a task may."""
        for _ in range(_AT_ONCE):
            if not (ready := self._epoll.poll(0)):
                return
            for file, _ in ready:
                # Closing is not enough: a child just started holds a copy until its exec is
                # complete.
                self._epoll.unregister(file)
                what, pid = self._watched.pop(file)
                os.close(file)
                self._ended(what, pid)


class SignalReaper:
    """SIGCHLD, which does not say whose end it is about: all are asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Ended) -> None:
        self._loop = loop
        self._ended = ended
        self._watched: dict[int, Any] = {}
        loop.add_signal_handler(signal.SIGCHLD, self._look)

    def watch(self, pid: int, what: Any) -> None:
        self._watched[pid] = what
        self._loop.call_soon(self._look)  # it may have ended before

    def close(self) -> None:
        self._loop.remove_signal_handler(signal.SIGCHLD)

    def _look(self) -> None:
        for pid in list(self._watched):
            with contextlib.suppress(ChildProcessError):
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    self._ended(self._watched.pop(pid), pid)
