"""A program on a terminal: a pseudo-terminal, and of what it draws as much as we draw with."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from typing import Self

from helpers.user import BATS, User

_CONTROL = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")


class Screen:
    """A screen: lines of text, a cursor, and what has scrolled out at the top."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[list[str]] = [[]]  # from the first one ever written
        self.row = self.column = 0

    @property
    def text(self) -> str:
        """The text that can be seen."""
        return "\n".join("".join(line).rstrip() for line in self.lines[-self.rows :])

    @property
    def everything(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines)

    def feed(self, said: str) -> None:
        while said:
            if found := _CONTROL.match(said):
                self._control(found[1], found[2])
                said = said[found.end() :]
                continue
            sign, said = said[0], said[1:]
            assert sign != "\x1b", f"what is {said[:8]!r}?"
            if sign == "\r":
                self.column = 0
            elif sign == "\n":
                self._down()
            else:
                self._put(sign)

    def _put(self, sign: str) -> None:
        if self.column == self.columns:
            self._down()
            self.column = 0
        line = self.lines[self.row]
        line.extend(" " * (self.column + 1 - len(line)))
        line[self.column] = sign
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def _control(self, number: str, letter: str) -> None:
        if letter == "A":
            top = max(0, len(self.lines) - self.rows)
            self.row = max(top, self.row - int(number or 1))
        elif letter == "K":
            assert number == "2"
            self.lines[self.row] = []
        else:
            assert letter in "mhl", f"what is {number}{letter}?"


class Terminal:
    """`bats` on it; `press` keys, look `until` something stands on the screen."""

    def __init__(
        self, user: User, *words: str, columns: int = 80, rows: int = 24, shell: str = ""
    ) -> None:
        program = ["bash", "-mc", shell] if shell else [str(BATS), *words]
        self.screen = Screen(columns, rows)
        self._ours, theirs = pty.openpty()
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *program],  # so that Ctrl-C comes from the terminal
            cwd=user.folder,
            env={**user.environment, "TERM": "xterm", "COLUMNS": "", "LINES": ""},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        self._theirs = theirs
        self._half = b""
        self.colours: set[str] = set()  # the codes that were sent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.ends()
            except AssertionError:
                self.process.kill()
                self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, true: Callable[[str], object] | str, seconds: float = 60.0) -> str:
        """The text on the screen once it holds this, or is so."""
        if isinstance(true, str):
            wanted = true
            return self.until(lambda text: wanted in text, seconds)
        ends = time.monotonic() + seconds
        while not true(self.screen.text):
            assert time.monotonic() < ends, self.screen.text
            assert self._read(0.2) or self.process.poll() is None, self.screen.text
        return self.screen.text

    def ends(self, seconds: float = 60.0) -> int:
        """Its exit code, once everything it wrote is on the screen."""
        ends = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < ends, self.screen.text
            self._read(0.05)
        while self._read(0.0):
            pass
        return self.process.returncode

    @property
    def echoes(self) -> bool:
        """True if the terminal is as a shell left it."""
        return bool(termios.tcgetattr(self._theirs)[3] & termios.ECHO)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        said = self._half + os.read(self._ours, 65536)
        text = said.decode(errors="ignore")
        whole = len(text.encode())
        escape = text.rfind("\x1b")
        if escape >= 0 and not _CONTROL.match(text[escape:]):  # its rest is still to come
            whole = len(text[:escape].encode())
            text = text[:escape]
        self._half = said[whole:]
        for codes, letter in _CONTROL.findall(text):
            if letter == "m":
                self.colours |= {code for code in codes.split(";") if 30 <= int(code or 0) < 50}
        self.screen.feed(text)
        return True
