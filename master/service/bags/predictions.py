"""Predictions of what schedules may come to, made beside the loop and remembered."""

import asyncio
from typing import Final

import structlog

from bats.master.brain.books.phase import Phase
from bats.master.brain.engine import Engine
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.prediction.predictors import Question, predict
from bats.master.brain.protocol.commands import Foretell
from bats.master.brain.protocol.events import Foretold
from bats.master.brain.views.forecast import foretold

_OFFERS: Final = 5  # that may replace one another while somebody waits for bounds

log = structlog.get_logger()


def foresee(engine: Engine, asked: Foretell) -> Foretold:
    """Foretell the schedules; nothing where that cannot be done, and the log says why."""
    from bats.master.simulate.foresight import foretell  # most bags have nothing to foretell

    try:
        return foretell(engine, asked)
    except Exception:
        log.exception("nothing could be foretold")
        return Foretold(())


class Predictions:
    """Predictions of one bag: what was foretold, and of older bags what can be reckoned up.

    Data to reckon with is taken down when an offer or a choice is made. Predicting waits until
    somebody asks; many may, so the last answer is kept.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: tuple[tuple[Schedule, ...], float] = ((), 0.0)
        self._told: tuple[Schedule, ...] = ()
        self._asked: tuple[Question, ...] = ()
        self._lock = asyncio.Lock()
        self._looked = asyncio.Event()

    def look(self) -> None:
        """Take news down after every event; it costs next to nothing when there is none."""
        self._looked.set()
        if self._engine.settings.foresight:
            return
        offered, chosen_at = self._seen
        run = self._engine.headline()
        if run.offered is offered and run.chosen_at == chosen_at:
            return
        self._seen = run.offered, run.chosen_at
        if run.offered is offered and run.chosen in {one.name for one in offered}:
            return  # it was told before it was chosen
        self._told = self._engine.promised()
        # Of a choice made under an earlier master it is too late to look.
        now = run.phase is Phase.CHOOSING or run.now == run.chosen_at
        self._asked = self._engine.questions(self._told) if now else ()

    async def bounded(self) -> tuple[Schedule, ...]:
        """The schedules with their bounds, and with the median run as estimate."""
        if self._engine.settings.foresight:
            while self._is_being_foretold():
                self._looked.clear()
                await self._looked.wait()
            return self._engine.foretold or self._engine.planned
        self.look()
        async with self._lock:
            for _ in range(_OFFERS):
                if not (asked := self._asked):
                    break
                try:
                    bounds = await asyncio.to_thread(_answer, asked)
                except Exception:
                    log.exception("no bounds could be predicted")
                    bounds = []
                if asked is self._asked:  # else there is a newer offer by now
                    self._asked = ()
                    if bounds:
                        self._told = foretold(self._told, bounds)
        return self._told

    def _is_being_foretold(self) -> bool:
        """True if nothing is told yet of what there is to choose from, or of what was decided."""
        goes_on = self._engine.headline().phase in (Phase.CHOOSING, Phase.EXECUTING)
        return goes_on and not self._engine.foretold and self._engine.unanswered is not None


def _answer(questions: tuple[Question, ...]) -> list[Bounds]:
    return [predict(question) for question in questions]
