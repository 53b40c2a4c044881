"""Results that the master has not yet acknowledged, kept on disk through restarts of either side.

A file of records: length, CRC and serial, then the encoded message. A torn tail, from a crash or a
full disk, ends the file there. It is not synced: it outlives the daemon, and what a machine that
loses power had not delivered runs again. It holds no more than the orders the master has given,
and is emptied whenever all is acknowledged.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import structlog

_MAGIC: Final = b"BATSOUT1"
_HEAD: Final = struct.Struct("<8sQI")  # magic, serials given out before the first record, crc
_RECORD: Final = struct.Struct("<IIQ")  # length, crc of serial and data, serial
_LARGEST: Final = 1 << 24
_EMPTY_AT_BYTES: Final = 1 << 16  # below that, old records do no harm
_COMPACT_AT_BYTES: Final = 1 << 22

log = structlog.get_logger()


class Outbox:
    """`put` before sending, `settle` when the master says it is stored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: dict[int, tuple[bytes, int]] = {}  # serial: frame, how many results
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.serial, self._size = self._load()
        self.results = sum(count for _, count in self._waiting.values())

    def put(self, frame: bytes, count: int) -> None:
        """Keep the message that carries serial `next_serial`, with so many results in it."""
        self.serial += 1
        self._waiting[self.serial] = frame, count
        self.results += count
        self._append([(self.serial, frame, count)])

    @property
    def next_serial(self) -> int:
        return self.serial + 1

    def settle(self, serial: int) -> None:
        """Everything up to here is durable at the master."""
        while self._waiting and (first := next(iter(self._waiting))) <= serial:
            self.results -= self._waiting.pop(first)[1]
        if (not self._waiting and self._size > _EMPTY_AT_BYTES) or (
            self._size > _COMPACT_AT_BYTES and self._size > 2 * self._live_bytes()
        ):
            self._rewrite()

    def unsettled(self) -> Iterator[bytes]:
        """Oldest first: what to say again on a new connection."""
        return iter([frame for frame, _ in self._waiting.values()])

    def close(self) -> None:
        if not self._waiting:
            self._rewrite()
        os.close(self._file)

    def _live_bytes(self) -> int:
        return sum(len(frame) + _RECORD.size for frame, _ in self._waiting.values())

    def _rewrite(self) -> None:
        """Write the file anew with only what waits."""
        first = min(self._waiting, default=self.serial + 1)
        if not self._waiting:  # the usual case, many times a second: no second file
            os.pwrite(self._file, _head(self.serial), 0)
            os.ftruncate(self._file, _HEAD.size)
            self._size = _HEAD.size
            return
        fresh = self._path.with_suffix(".new")
        file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.close(self._file)
        self._file, self._size = file, _HEAD.size
        os.pwrite(file, _head(first - 1), 0)
        self._append((serial, *waiting) for serial, waiting in self._waiting.items())
        fresh.replace(self._path)

    def _append(self, records: Iterable[tuple[int, bytes, int]]) -> None:
        data = b"".join(_record(*one) for one in records)
        try:
            written = os.pwrite(self._file, data, self._size)
        except OSError as error:
            written, reason = 0, error.strerror
        else:
            reason = "disk full"
        if written == len(data):
            self._size += written
            return
        # Still in memory and sent: only a crash of this daemon before the master's answer loses it.
        log.warning("outbox not written", file=str(self._path), reason=reason)
        os.ftruncate(self._file, self._size)

    def _load(self) -> tuple[int, int]:
        data = self._path.read_bytes()
        serial = _HEAD.unpack_from(data)[1] if len(data) >= _HEAD.size else 0
        if not data.startswith(_head(serial)):
            if data:
                log.warning("outbox not readable, set aside", file=str(self._path), bytes=len(data))
                self._path.with_suffix(".damaged").write_bytes(data)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, _head(0), 0)
            return 0, _HEAD.size
        end = _HEAD.size
        while end + _RECORD.size <= len(data):
            length, crc, number = _RECORD.unpack_from(data, end)
            body = data[end + _RECORD.size : end + _RECORD.size + length]
            if length > _LARGEST or len(body) < length or _crc(number, body) != crc:
                break
            (count,) = struct.unpack_from("<I", body)
            self._waiting[number] = body[4:], count
            serial = max(serial, number)
            end += _RECORD.size + length
        if end < len(data):
            log.warning("outbox has a torn tail", file=str(self._path), bytes=len(data) - end)
            os.ftruncate(self._file, end)
        return serial, end


def _head(serial: int) -> bytes:
    return _HEAD.pack(_MAGIC, serial, _crc(serial, _MAGIC))


def _record(serial: int, frame: bytes, count: int) -> bytes:
    body = struct.pack("<I", count) + frame
    return _RECORD.pack(len(body), _crc(serial, body), serial) + body


def _crc(serial: int, body: bytes) -> int:
    return zlib.crc32(body, serial & 0xFFFFFFFF)
