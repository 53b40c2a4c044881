"""Closing what was opened, in the opposite order; a failure is told, and the rest is closed too."""

from collections.abc import Callable
from typing import Any

import structlog

from bats.common.errors import StoreDamagedError

log = structlog.get_logger()


class Closing:
    def __init__(self) -> None:
        self._closers: list[Callable[[], Any]] = []

    def then(self, *closers: Callable[[], Any]) -> None:
        """These are called, and waited for if need be, before all that was named earlier."""
        self._closers += closers

    async def close(self) -> None:
        while self._closers:
            close = self._closers.pop()
            try:
                waiting = close()
                if waiting is not None:
                    await waiting
            except StoreDamagedError as error:
                log.warning("store not closed in order", reason=str(error))
            except Exception:
                log.exception("not closed in order")
