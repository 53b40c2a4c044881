"""Group commit: facts gather while the last batch is being written, and go to the disk together.

Facts told between two awaits are committed together or not at all. The slower the disk, the
larger the batches.
"""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bats.common.errors import StoreDamagedError
from bats.common.records import dataclass
from bats.master.store.writing.writer import Batch, may_pass

PACE_SECONDS: Final = 0.03
"""Between the starts of two commits that nobody is in a hurry for. A commit costs 0.2 to 0.5 ms of
processor and a sync; at 2,000 tasks/s this shares it among 60 of them. A fact told in a quiet
moment does not wait."""

RETRY_SECONDS: Final = 1.0

_Waiting = Callable[[], None] | asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Facts cannot be written now. `passing`: they are kept, and tried again every second."""

    sentence: str
    passing: bool


class GroupCommit:
    """All of it runs in the event loop, but for `write`, which has a thread of its own."""

    def __init__(
        self,
        write: Callable[[Batch], None],
        sentence: Callable[[BaseException], str],
        on_trouble: Callable[[Trouble | None], None],
        *,
        pace_seconds: float = PACE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """`write` makes a batch durable, or raises; `sentence` says to a user why it raised."""
        self._write = write
        self._sentence = sentence
        self._on_trouble = on_trouble
        self._pace_seconds = pace_seconds
        self._retry_seconds = retry_seconds
        self.thread: Final = ThreadPoolExecutor(1, "store")
        self.batch = Batch()  # gathers; whoever adds to it calls `touch`
        self._waiting: list[_Waiting] = []  # for it
        self._scheduled: asyncio.Handle | None = None  # its writing
        self._hurried = False  # somebody waits for it
        self._writing: Batch | None = None
        self._waiting_for_writing: list[_Waiting] = []
        self._started = -math.inf  # the last commit, by the loop's clock
        self._trouble: Trouble | None = None
        self._failure: StoreDamagedError | None = None
        self._closing = False

    def touch(self) -> None:
        """See to it that the batch is written: soon, or when the one being written is."""
        if self._failure:
            raise self._failure
        if self._scheduled or self._writing is not None:
            return
        loop = asyncio.get_running_loop()
        wait = 0.0 if self._hurried else self._started + self._pace_seconds - loop.time()
        if wait > 0:
            self._scheduled = loop.call_later(wait, self._flush)
        else:
            self._scheduled = loop.call_soon(self._flush)

    def then(self, waiting: _Waiting, *, patient: bool = False) -> None:
        """Call this, or set its result, as soon as all that was added so far is durable.

        Who is patient waits for the next commit that somebody needs, or that is due.
        """
        if self._failure:
            raise self._failure
        if self.batch:
            self._waiting.append(waiting)
            if not (patient or self._hurried):
                self._hurry()
        elif self._writing is not None:
            self._waiting_for_writing.append(waiting)
        else:
            _release([waiting])

    def committed(self) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self.then(future)
        return future

    @property
    def backlog(self) -> int:
        """The number of facts that are not durable yet."""
        return len(self.batch) + (len(self._writing) if self._writing else 0)

    async def close(self) -> None:
        """Write what is left. Raises StoreDamagedError if that cannot be done now."""
        self._closing = True
        try:
            await self.committed()
        finally:
            self.thread.shutdown()

    def _hurry(self) -> None:
        self._hurried = True
        if self._scheduled:
            self._scheduled.cancel()
            self._scheduled = None
            self.touch()

    def _flush(self) -> None:
        self._scheduled, self._hurried = None, False
        self._writing, self.batch = self.batch, Batch()
        self._waiting_for_writing, self._waiting = self._waiting, []
        self._start(self._writing)

    def _start(self, batch: Batch) -> None:
        loop = asyncio.get_running_loop()
        self._started = loop.time()
        loop.run_in_executor(self.thread, self._write, batch).add_done_callback(self._written)

    def _written(self, written: asyncio.Future[None]) -> None:
        error = written.exception()
        if error is None:
            self._writing = None
            waiting, self._waiting_for_writing = self._waiting_for_writing, []
            if self.batch:
                self.touch()
            _release(waiting)
            self._say(None)
        elif self._writing is not None and may_pass(error) and not self._closing:
            loop = asyncio.get_running_loop()
            loop.call_later(self._retry_seconds, self._start, self._writing)
            self._say(Trouble(self._sentence(error), passing=True))
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = StoreDamagedError(
            f"{self._sentence(error)} {self.backlog} facts could not be written; "
            "none of them was acknowledged."
        )
        for waiting in self._waiting_for_writing + self._waiting:
            if isinstance(waiting, asyncio.Future) and not waiting.done():
                waiting.set_exception(self._failure)
        self._say(Trouble(str(self._failure), passing=False))

    def _say(self, trouble: Trouble | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._on_trouble(trouble)


def _release(waiting: list[_Waiting]) -> None:
    loop = asyncio.get_running_loop()
    for each in waiting:
        if not isinstance(each, asyncio.Future):
            loop.call_soon(each)  # one that raises must not keep the others waiting
        elif not each.done():  # whoever awaited it was cancelled
            each.set_result(None)
