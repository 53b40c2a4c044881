"""The standard output of a command, which may be a terminal: what it prints does not steer it."""

import codecs
import sys
from typing import Any, Final, TextIO

from bats.common.escapes import harmless

_Decoder: Final = codecs.getincrementaldecoder("utf-8")


class Shown:
    """A text stream that passes on what is harmless, and writes out the rest."""

    def __init__(self, stream: TextIO) -> None:
        self.exact = stream  # for what programs read, and for who asked for it
        self._decoder = _Decoder("backslashreplace")

    def write(self, text: str) -> int:
        self.exact.write(harmless(text))
        return len(text)

    def put(self, data: bytes) -> None:
        """Write bytes of a task: on a terminal as text that is harmless, elsewhere as they are."""
        if self.exact.isatty():
            self.write(self._decoder.decode(data))
        else:
            self.exact.buffer.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exact, name)


def put(data: bytes) -> None:
    """Bytes that a task wrote, to standard output."""
    if isinstance(sys.stdout, Shown):
        sys.stdout.put(data)
    else:
        sys.stdout.buffer.write(data)


def exact() -> TextIO:
    """Standard output for tables that programs read; for people if it is a terminal."""
    shown = sys.stdout
    return shown.exact if isinstance(shown, Shown) and not shown.isatty() else shown


def drawn_on() -> TextIO:
    """Standard output for pictures, which steer the terminal; what they show must be harmless."""
    return sys.stdout.exact if isinstance(sys.stdout, Shown) else sys.stdout
