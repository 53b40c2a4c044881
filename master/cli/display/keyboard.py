"""Keys of the terminal, one at a time, without waiting for Enter."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable
from typing import Any


class Keys:
    """From `start` to `stop` each key is handed over.

    Ctrl-C stays what it is, but what is on its way to the screen arrives: to erase a picture that
    came in part is to erase other lines.

    In the background (`bats run ... &`) the terminal is another's: to touch it would stop us.
    """

    def __init__(self, pressed: Callable[[str], None]) -> None:
        self._pressed = pressed
        self._before: list[Any] | None = None

    def start(self) -> None:
        if self._before is not None or not sys.stdin.isatty() or not _in_front():
            return
        terminal = sys.stdin.fileno()
        self._before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSAFLUSH)
        mode = termios.tcgetattr(terminal)
        mode[3] |= termios.NOFLSH
        termios.tcsetattr(terminal, termios.TCSADRAIN, mode)
        asyncio.get_running_loop().add_reader(terminal, self._read)

    def stop(self) -> None:
        if self._before is None:
            return
        terminal = sys.stdin.fileno()
        asyncio.get_running_loop().remove_reader(terminal)
        if _in_front():
            termios.tcsetattr(terminal, termios.TCSADRAIN, self._before)
        self._before = None

    def _read(self) -> None:
        if not _in_front():
            self.stop()
            return
        try:
            typed = os.read(sys.stdin.fileno(), 64).decode(errors="replace")
        except OSError:  # the terminal is gone
            typed = ""
        if not typed:
            self.stop()
        elif typed.isprintable():  # an arrow comes as an escape and letters, which nobody typed
            for key in typed:
                self._pressed(key)


def _in_front() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # a terminal that is not ours, or none any more
        return False
