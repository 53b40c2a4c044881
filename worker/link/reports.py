"""Results on their way to the master: gathered into batches, kept until it has stored them."""

import asyncio
from collections.abc import Callable
from typing import Final

from bats.common.messages import AttemptId, Outcome, Result, Results
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

    @property
    def serial(self) -> int:
        """The last batch's."""
        return self._outbox.serial

    def attempts(self) -> list[AttemptId]:
        """The attempts whose results wait."""
        return [AttemptId(*result[:3]) for result in self._waiting()]

    def outputs(self) -> set[str]:
        """The contents that belong to results that wait."""
        return {sha256 for result in self._waiting() for _, sha256, _ in result.outputs}

    def _waiting(self) -> list[Result]:
        results = list(self._batch)
        for frame in self._outbox.unsettled():
            message = decode(frame)
            assert isinstance(message, Results)
            results += message.results
        return results

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
            part = tuple(self._batch[:_BATCH])
            frame = self._encoded(part)
            self._outbox.put(frame, len(part))
            del self._batch[:_BATCH]
            self._send(frame)

    def _encoded(self, part: tuple[Result, ...]) -> bytes:
        """A result that no message can carry does not take the others of its batch along."""
        serial = self._outbox.next_serial
        try:
            return encode(Results(serial, part))
        except (ValueError, TypeError, OverflowError):
            return encode(Results(serial, tuple(_sendable(result) for result in part)))

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


def _sendable(result: Result) -> Result:
    try:
        encode(Results(0, (result,)))
    except (ValueError, TypeError, OverflowError) as error:
        why = f"its result cannot be sent: {error!r}".encode(errors="replace").decode()
        return Result(*result[:3], Outcome.FAILED, 0, 0.0, 0.0, 0.0, 0, 0, why, 0)
    return result
