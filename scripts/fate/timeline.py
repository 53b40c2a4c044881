"""Virtual time: an event loop whose waits cost nothing, and processes in it that can be killed.

A process here is all that was begun in its context: tasks, timers, what runs in its threads. One
that is killed does nothing more, one that is frozen does it when it is thawed.
"""

import asyncio
import contextvars
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

EPOCH: Final = 1_700_000_000.0
_BOOTED: Final = 1000.0  # what the boot's clock shows at the beginning
_TICK_SECONDS: Final = 1e-6  # by which time moves on at the least, as clocks do
_MOST_ROUNDS: Final = 20_000
_WORK_SECONDS: Final = 0.0005  # what a call takes in a thread
_SYNC_SECONDS: Final = 0.03  # and a commit of the store


@dataclass(slots=True)
class Pace:
    """The speed of the disk that the store is on."""

    sync_seconds: float = _SYNC_SECONDS


class Process:
    """A process that is alive, frozen or dead."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.frozen = False
        self.kept: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.context = contextvars.Context()
        self.context.run(_PROCESS.set, self)


_PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


def current() -> Process | None:
    return _PROCESS.get()


class NothingMoreError(Exception):
    """Nothing is left that could ever happen."""


class StandsStillError(Exception):
    """Something happens without end, and no time passes."""


class _Selector:
    """Files are never ready; waiting moves the clock."""

    def __init__(self, loop: "VirtualLoop") -> None:
        self._loop = loop
        self._rounds = 0  # since the clock moved

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise NothingMoreError
        self._rounds = 0 if timeout > 0 else self._rounds + 1
        if self._rounds > _MOST_ROUNDS:
            raise StandsStillError(f"at {self._loop.now:g} s")
        self._loop.now += max(0.0, timeout)
        return []

    def register(self, *_: Any) -> None: ...

    modify = unregister = register

    def get_key(self, fileobj: Any) -> Any:
        raise KeyError(fileobj)

    def get_map(self) -> dict[Any, Any]:
        return {}

    def close(self) -> None: ...


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 0.0
        self.errors: list[str] = []  # what nobody caught
        self.pace = Pace()
        self._free_at: dict[Any, float] = {}
        super().__init__(_Selector(self))  # type: ignore[arg-type]
        self.set_exception_handler(self._on_error)

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        return super().call_soon(_guarded, callback, args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return super().call_at(when, _guarded, callback, args, context=context)

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        at = self.now + max(_TICK_SECONDS, delay) if delay > 0 else self.now
        return self.call_at(at, callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> "asyncio.Future[Any]":
        """In order, one at a time for each pool, and in this thread."""
        future = self.create_future()
        key = id(executor), current()
        syncs = getattr(executor, "_thread_name_prefix", "") == "store"
        takes = self.pace.sync_seconds if syncs else _WORK_SECONDS
        at = self._free_at[key] = max(self.now, self._free_at.get(key, 0.0)) + takes

        def work() -> None:
            if future.done():
                return
            try:
                value = func(*args)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(value)

        self.call_at(at, work)
        return future

    def within(self, process: Process, delay: float, callback: Any, *args: Any) -> None:
        """Call it in a process, if that is still there by then."""
        self.call_at(self.now + delay, callback, *args, context=process.context)

    def outside(self, delay: float, callback: Any, *args: Any) -> None:
        """Call it whatever becomes of the process that asks for it."""
        self.call_at(self.now + delay, callback, *args, context=contextvars.Context())

    def thaw(self, process: Process) -> None:
        process.frozen = False
        kept, process.kept = process.kept, []
        for callback, args in kept:
            self.call_soon(callback, *args, context=process.context)

    def _on_error(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:  # a task of a process that was killed
            return
        self.errors.append(f"{context.get('message', '')}: {error!r}")


def _guarded(callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
    process = _PROCESS.get()
    if process is not None:
        if not process.alive:
            return
        if process.frozen:
            process.kept.append((callback, args))
            return
    callback(*args)


@contextmanager
def clocks_of(loop: VirtualLoop) -> Iterator[None]:
    """All clocks that programs look at show the loop's time."""
    with (
        mock.patch.object(time, "time", lambda: EPOCH + loop.now),
        mock.patch.object(time, "monotonic", lambda: loop.now),
        mock.patch.object(time, "perf_counter", lambda: loop.now),
        mock.patch.object(time, "clock_gettime", lambda _: _BOOTED + loop.now),
    ):
        yield
