"""Waiting for other processes: until something is so, and until one has ended in order."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.02


def until(look: Callable[[], T], seconds: float = 60.0, else_say: Callable[[], object] = str) -> T:
    """The answer of `look` as soon as it is true; a test's own end of waiting."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {else_say()}"
        time.sleep(POLL_SECONDS)
    return seen


def interrupt(process: "subprocess.Popen[Any]", seconds: float) -> None:
    """As with Ctrl-C; killed if it does not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
