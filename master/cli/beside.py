"""Work in a child process beside this one, for two things that both take a while."""

import contextlib
import os
import pickle
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Beside(Generic[T]):
    """Work that a child began; called, it waits for the child and gives what that came to.

    What fails there is done again here, and fails here. No thread may run when it is made.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._ended: int | None = None  # with this status
        self._reading, writing = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            _answer(work, writing)
        os.close(writing)

    def failed(self) -> bool:
        """True if it has failed already."""
        if self._ended is None:
            child, status = os.waitpid(self._child, os.WNOHANG)
            self._ended = status if child else None
        return bool(self._ended)

    def __call__(self) -> T:
        with os.fdopen(self._reading, "rb") as pipe:
            data = pipe.read()
        if self._ended is None:
            _, self._ended = os.waitpid(self._child, 0)
        if self._ended:
            return self._work()
        found: T = pickle.loads(data)  # noqa: S301, from a child of ours
        return found


def _answer(work: Callable[[], T], writing: int) -> NoReturn:
    """Never return to where the parent goes on, nor end anything that is the parent's."""
    code = 1
    with contextlib.suppress(BaseException), os.fdopen(writing, "wb") as pipe:
        pickle.dump(work(), pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()
        code = 0
    os._exit(code)
