"""Results on their way to the master: gathered into batches, kept until it has stored them."""

import asyncio
from collections.abc import Callable
from typing import Final

from bats.common.messages import AttemptId, Result, Results
from bats.common.wire.codec import decode, encode
from bats.worker.link.outbox import Outbox

_BATCH: Final = 64  # results per message at most
_BATCH_SECONDS: Final = 0.02  # and how long the first of them waits for company


class Reports:
    def __init__(self, outbox: Outbox, send: Callable[[bytes], object]) -> None:
        self._outbox = outbox
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._batch: list[Result] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Results that the master has not stored yet, as far as we know."""
        return self._outbox.results + len(self._batch)

    def attempts(self) -> list[AttemptId]:
        """The attempts whose results wait."""
        results = list(self._batch)
        for frame in self._outbox.unsettled():
            message = decode(frame)
            assert isinstance(message, Results)
            results += message.results
        return [AttemptId(*result[:3]) for result in results]

    def add(self, result: Result, *, more_soon: bool) -> None:
        self._batch.append(result)
        if len(self._batch) >= _BATCH or not more_soon:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(_BATCH_SECONDS, self.flush)

    def flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._batch:
            part, self._batch = self._batch[:_BATCH], self._batch[_BATCH:]
            frame = encode(Results(self._outbox.next_serial, tuple(part)))
            self._outbox.put(frame, len(part))
            self._send(frame)

    def say_again(self) -> None:
        """Say again on a new connection what waits, oldest first."""
        for frame in self._outbox.unsettled():
            self._send(frame)
        self.flush()

    def stored(self, serial: int) -> None:
        self._outbox.settle(serial)

    def close(self) -> None:
        self.flush()
        self._outbox.close()
