"""Output of a task: its size, the lines that explain a failure, its head and tail for keeping."""

import ctypes
import os
import stat
from collections.abc import Iterator
from typing import Final

from bats.common.outcomes import values
from bats.worker.tasks.slot import Slot

EXCERPT_BYTES: Final = 2000
EXCERPT_LINES: Final = 20
VALUES_BYTES: Final = 4096  # of the end of an output, where values are looked for
FILE_BYTES: Final = 64 << 10  # of a file in which they are
_HOLE_AT_BYTES: Final = 32 << 20  # a running task's output beyond its cap is let go above that
_PUNCH_HOLE_KEEP_SIZE: Final = 0x03
_BLOCK: Final = 4096


def sizes(slot: Slot) -> tuple[int, int]:
    """Bytes on stdout and stderr."""
    return os.lseek(slot.stdout, 0, os.SEEK_END), os.lseek(slot.stderr, 0, os.SEEK_END)


def empty(slot: Slot) -> None:
    os.ftruncate(slot.stdout, 0)
    os.ftruncate(slot.stderr, 0)


def excerpt(slot: Slot, out_bytes: int, err_bytes: int) -> str:
    """The last lines of stderr, or of stdout if there is nothing on stderr."""
    file, size = (slot.stderr, err_bytes) if err_bytes else (slot.stdout, out_bytes)
    if not size:
        return ""
    start = max(0, size - EXCERPT_BYTES)
    text = os.pread(file, size - start, start).decode(errors="replace")
    lines = text.splitlines()
    if start and len(lines) > 1:
        del lines[0]  # cut in the middle
    return "\n".join(lines[-EXCERPT_LINES:]).rstrip()


def last_words(slot: Slot, out_bytes: int, err_bytes: int) -> str:
    """The last line of a success and the values it told before, on stdout if it wrote there."""
    file, size = (slot.stdout, out_bytes) if out_bytes else (slot.stderr, err_bytes)
    start = max(0, size - VALUES_BYTES)
    text = os.pread(file, size - start, start).decode(errors="replace")
    if start:
        text = text.partition("\n")[2].strip() or text  # a line cut in the middle tells no value
    return values.kept(text)


def text_of(path: str) -> str:
    """The content of a small file that a task wrote. Raises OSError, ValueError."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe has no end
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ValueError("is no file")
        content = os.read(file, FILE_BYTES + 1)
    finally:
        os.close(file)
    if len(content) > FILE_BYTES:
        raise ValueError(f"has more than {FILE_BYTES >> 10} KiB")
    return content.decode(errors="replace")


def kept(file: int, size: int, cap: int) -> Iterator[bytes]:
    """The content of a captured file in pieces; beyond the cap only its head and its tail."""
    if size <= cap:
        yield from _pieces(file, 0, size)
        return
    head = cap // 2
    tail = cap - head
    yield from _pieces(file, 0, head)
    yield b"\n[bats: %d bytes cut here; %d were written]\n" % (size - cap, size)
    yield from _pieces(file, size - tail, size)


def since(file: int, offset: int, most: int) -> tuple[bytes, int]:
    """The bytes that a running task has written from there on, and how many there are in all."""
    return os.pread(file, most, offset), os.lseek(file, 0, os.SEEK_END)


def let_go_of_middle(file: int, cap: int) -> None:
    """Give back the disk space of what will be cut anyway, while the task runs on.

    The file keeps its length, so nothing else changes. File systems that cannot do it keep it all.
    """
    size = os.lseek(file, 0, os.SEEK_END)
    if size - cap < _HOLE_AT_BYTES:
        return
    start = -(-(cap // 2) // _BLOCK) * _BLOCK
    end = (size - cap) // _BLOCK * _BLOCK  # more than the tail: it may still be growing
    if end > start:
        ctypes.CDLL(None).fallocate64(
            file,
            _PUNCH_HOLE_KEEP_SIZE,
            ctypes.c_int64(start),
            ctypes.c_int64(end - start),
        )


def _pieces(file: int, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        piece = os.pread(file, min(1 << 20, end - start), start)
        if not piece:
            return
        yield piece
        start += len(piece)
