"""A keeper of workers that is started before it is known for which folder.

To load what workers need takes as long as all else between `bats run` and its first task, so it
begins first. Import nothing heavy here.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Final

MODULE: Final = "bats.deploy.host.keeper"
SPARE: Final = "--spare"
_READY_SECONDS: Final = 60.0


class SpareKeeper:
    """Of workers that this command starts. It ends by itself if nobody uses it."""

    def __init__(self, command: tuple[str, ...]) -> None:
        """Start it; at once, for it loads by itself."""
        self._command = command
        ours, theirs = socket.socketpair()
        self._ours: socket.socket | None = ours
        argv = [sys.executable, "-P", "-m", MODULE, SPARE, *command]
        with theirs:
            self.pid = os.posix_spawn(
                sys.executable,
                argv,
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), to) for to in (0, 1)],
                setsid=True,  # Ctrl-C is not for it
            )

    def become(self, arguments: Sequence[str], command: tuple[str, ...]) -> socket.socket | None:
        """Make it a keeper with these arguments; blocks. None if it cannot be that one."""
        if self._ours is None or command != self._command:
            return None
        ours, self._ours = self._ours, None
        try:
            ours.settimeout(_READY_SECONDS)
            ours.sendall(json.dumps([*arguments, "--", *command]).encode() + b"\n")
        except OSError:  # it was killed
            ours.close()
        _, status = os.waitpid(self.pid, 0)  # it goes on in a process of its own
        if status or ours.fileno() < 0:
            ours.close()
            return None
        return ours

    def close(self) -> None:
        """End it, unless it has become somebody's."""
        if self._ours is not None:
            self._ours.close()
            self._ours = None
            os.kill(self.pid, signal.SIGKILL)  # it would end by itself, once all is loaded
            os.waitpid(self.pid, 0)


_begun: Final[list[SpareKeeper]] = []


def begin(command: tuple[str, ...]) -> None:
    """Start one before it is known who will use it."""
    _begun.append(SpareKeeper(command))


def taken(command: tuple[str, ...]) -> SpareKeeper:
    """The one that was begun already, or else a new one."""
    return _begun.pop() if _begun else SpareKeeper(command)


def end_unused() -> None:
    while _begun:
        _begun.pop().close()
