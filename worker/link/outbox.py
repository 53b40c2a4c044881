"""Results that the master has not yet acknowledged, kept on disk through restarts of either side.

The file is not synced: it outlives the daemon, and what a machine that loses power had not
delivered runs again. It holds no more than the orders the master has given, and is emptied whenever
all is acknowledged. When the worker has ended its master reads it, where the folder stays.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import structlog

from bats.common.wire.outbox_file import HEAD, RECORD, Kept, head, read, record

_EMPTY_AT_BYTES: Final = 1 << 16  # below that, old records do no harm
_COMPACT_AT_BYTES: Final = 1 << 22

log = structlog.get_logger()


class Outbox:
    """`put` before sending, `settle` when the master says it is stored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: dict[int, Kept] = {}  # by serial
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.serial, self._size = self._load()
        self.results = sum(kept.results for kept in self._waiting.values())

    def put(self, frame: bytes, count: int) -> None:
        """Keep the message that carries serial `next_serial`, with so many results in it."""
        self.serial += 1
        self._waiting[self.serial] = kept = Kept(self.serial, frame, count)
        self.results += count
        self._append([kept])

    @property
    def next_serial(self) -> int:
        return self.serial + 1

    def settle(self, serial: int) -> None:
        """Everything up to here is durable at the master."""
        while self._waiting and (first := next(iter(self._waiting))) <= serial:
            self.results -= self._waiting.pop(first).results
        if (not self._waiting and self._size > _EMPTY_AT_BYTES) or (
            self._size > _COMPACT_AT_BYTES and self._size > 2 * self._live_bytes()
        ):
            self._rewrite()

    def unsettled(self) -> Iterator[bytes]:
        """Oldest first: what to say again on a new connection."""
        return iter([kept.frame for kept in self._waiting.values()])

    def close(self) -> None:
        if not self._waiting:
            self._rewrite()
        os.close(self._file)

    def _live_bytes(self) -> int:
        return sum(len(kept.frame) + RECORD.size for kept in self._waiting.values())

    def _rewrite(self) -> None:
        """Write the file anew with only what waits."""
        first = min(self._waiting, default=self.serial + 1)
        if not self._waiting:  # the usual case, many times a second: no second file
            os.pwrite(self._file, head(self.serial), 0)
            os.ftruncate(self._file, HEAD.size)
            self._size = HEAD.size
            return
        fresh = self._path.with_suffix(".new")
        file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.close(self._file)
        self._file, self._size = file, HEAD.size
        os.pwrite(file, head(first - 1), 0)
        self._append(self._waiting.values())
        fresh.replace(self._path)

    def _append(self, records: Iterable[Kept]) -> None:
        data = b"".join(map(record, records))
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
        found = read(data)
        if found is None:
            if data:
                log.warning("outbox not readable, set aside", file=str(self._path), bytes=len(data))
                self._path.with_suffix(".damaged").write_bytes(data)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, head(0), 0)
            return 0, HEAD.size
        self._waiting = {kept.serial: kept for kept in found.kept}
        if torn := len(data) - found.whole_bytes:
            log.warning("outbox has a torn tail", file=str(self._path), bytes=torn)
            os.ftruncate(self._file, found.whole_bytes)
        return found.serial, found.whole_bytes
