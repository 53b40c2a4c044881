"""What the schedules on offer may come to: predicted beside the loop, and remembered."""

import asyncio

import structlog

from bats.master.brain import forecast
from bats.master.brain.bounds import Bounds
from bats.master.brain.predictors import Question, predict
from bats.master.brain.schedules import Schedule
from bats.master.brain.state import Phase, Run

log = structlog.get_logger()


class Foresight:
    """Of one bag. Offers change seldom and many may ask, so the last answer is kept."""

    def __init__(self) -> None:
        self._of: tuple[Schedule, ...] = ()
        self._told: tuple[Schedule, ...] = ()
        self._lock = asyncio.Lock()

    async def bounded(self, run: Run) -> tuple[Schedule, ...]:
        """The schedules with their bounds; without, once one is chosen and being executed."""
        offered = run.schedules
        if run.phase is not Phase.CHOOSING or not offered:
            return self._told if offered == self._of else offered
        async with self._lock:
            if offered != self._of:
                asked = forecast.questions(run)
                try:
                    bounds = await asyncio.to_thread(_answer, asked)
                except Exception:
                    log.exception("no bounds could be predicted")
                    return offered
                self._of, self._told = offered, forecast.with_bounds(offered, bounds)
        return self._told


def _answer(questions: tuple[Question, ...]) -> list[Bounds]:
    return [predict(question) for question in questions]
