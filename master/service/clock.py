"""A bag's own time: seconds since it began, which never go back and do not follow clock jumps."""

import time


class BagClock:
    """Runs on the monotonic clock. Only a restart has to ask the calendar how long it was away."""

    def __init__(self, began: float, reached: float = 0.0) -> None:
        """`began` by the calendar; `reached` is the time of the last event known."""
        self.began = began
        self._base = max(reached, time.time() - began if reached else 0.0)
        self._since = time.monotonic()

    def __call__(self) -> float:
        return self._base + time.monotonic() - self._since
