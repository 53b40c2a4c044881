"""Work in a child process beside this one, for two things that both take a while."""

import contextlib
import os
import pickle
from collections.abc import Callable
from typing import NoReturn, TypeVar

T = TypeVar("T")


def beside(work: Callable[[], T]) -> Callable[[], T]:
    """Begin it in a child; what is returned waits for it and gives what it came to.

    What fails there is done again here, and fails here. No thread may run yet.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(work, writing)
    os.close(writing)

    def outcome() -> T:
        with os.fdopen(reading, "rb") as pipe:
            data = pipe.read()
        _, status = os.waitpid(child, 0)
        if status:
            return work()
        found: T = pickle.loads(data)  # noqa: S301, from a child of ours
        return found

    return outcome


def _answer(work: Callable[[], T], writing: int) -> NoReturn:
    """Never return to where the parent goes on, nor end anything that is the parent's."""
    code = 1
    with contextlib.suppress(BaseException), os.fdopen(writing, "wb") as pipe:
        pickle.dump(work(), pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()
        code = 0
    os._exit(code)
