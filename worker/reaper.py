"""Tells when processes end: one epoll of their pidfds, itself watched by the event loop.

Adding each pidfd to the loop would cost more than all else that is done per task.
"""

import asyncio
import os
import select
from collections.abc import Callable
from typing import Any

Ended = Callable[[Any, int], None]
"""Called with what was given to `watch` and the process id, before the process is waited for."""


class Reaper:
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
        for file, _ in self._epoll.poll(0):
            # Closing is not enough: a child just started holds a copy until its exec is complete.
            self._epoll.unregister(file)
            what, pid = self._watched.pop(file)
            os.close(file)
            self._ended(what, pid)
