"""One run of a cell of REALITY by the engine as it is delivered, and what is to be said of it."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from traceback import extract_tb
from types import FrameType

from bats.common.money import Money
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import History, Simulation

from .cells import DELAY_SECONDS, Cell, Drawn, drawn
from .least_money import least_money, one_task_of_each
from .world_account import Account, Fate, account

BREAK_OFF_SECONDS = 20.0
ENDLESS = 50  # times as long as one machine of the slowest kind
LEARNING = Fraction(1, 5)  # of the budget


@dataclass(frozen=True, slots=True)
class Result:
    """One run of a cell."""

    name: str
    finished: bool
    done: int
    seconds: float  # the makespan, or when it ended unfinished
    budget: Money
    spent: Money
    stopped: float  # share of the time paid for
    learning: float  # share of what it may be
    computing: float
    broke_off: str  # why, or nothing
    hard: bool
    words: str  # how it ended

    @property
    def cell(self) -> Cell:
        return Cell(*(word.partition("=")[2] for word in self.name.split()))


@dataclass(frozen=True, slots=True)
class Run:
    """A run with all that can be asked about it."""

    cell: Cell
    drawn: Drawn
    budget: Money
    least: Money
    history: History
    account: Account
    chosen_at: float
    result: Result


class BrokenOffError(BaseException):
    """It computed for too long. Nobody's `except Exception` may hold it."""


@contextmanager
def broken_off_after(seconds: float) -> Iterator[None]:
    """Of processor time. Where the interpreter swallows errors, as in callbacks, it waits."""

    def stop(_signal: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_globals.get("__name__", "").startswith("bats."):
            raise BrokenOffError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, min(seconds, 1.0))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(cell: Cell, seed: int, *, longest: float = BREAK_OFF_SECONDS) -> Run:
    what = drawn(cell, seed)
    boot = cell.boot_seconds
    least = least_money(what.runtimes, what.offerings, what.speeds, boot)
    budget = Money(int(least * Fraction(cell.budget)))
    settings = Settings(cell.tasks, what.offerings, budget, seed=cell.number(seed))
    alone = float(what.runtimes.sum()) / min(what.speeds)
    paid = max(max(o.atu_seconds, o.minimum_seconds) for o in what.offerings)
    until = ENDLESS * (alone + DELAY_SECONDS + paid)
    history, broke_off, computing, chosen_at = simulated(settings, cell, what, until, longest)
    ended = history.ended_at
    last = history.events[-1][0] if history.events else 0.0
    seen = account(history, what.offerings, last)
    chosen_at = min(chosen_at, last if ended is None else ended)
    free = one_task_of_each(what.runtimes, what.offerings, what.speeds, boot)
    learning = seen.learning(chosen_at, what.worth(what.cheapest), what.speeds)
    result = Result(
        name=cell.name,
        finished=seen.done == cell.tasks and not broke_off,
        done=seen.done,
        seconds=last if ended is None else ended,
        budget=budget,
        spent=seen.spent,
        stopped=seen.ran(Fate.STOPPED) / seen.paid if seen.paid else 0.0,
        learning=learning / max(budget * LEARNING, free),
        computing=computing,
        broke_off=broke_off,
        hard=float(what.runtimes.max()) > float(what.runtimes.sum()) / 2,
        words=history.end.words if history.end else "",
    )
    return Run(cell, what, budget, least, history, seen, chosen_at, result)


def simulated(
    settings: Settings, cell: Cell, what: Drawn, until: float, longest: float
) -> tuple[History, str, float, float]:
    """The history, why it was broken off, the seconds it computed, when the schedule was chosen."""
    chosen: list[float] = []

    def look(engine: Engine) -> None:
        if not chosen and (run := engine.headline()).chosen:
            chosen.append(run.chosen_at)

    simulation = Simulation(
        settings, what.seconds, cell.conditions, settings.seed, keep_events=True, after_event=look
    )
    began, broke_off = time.process_time(), ""
    try:
        with broken_off_after(longest):
            simulation.run(until)
    except BrokenOffError:
        broke_off = f"it computed for {longest:g} s"
    except Exception as error:  # a cell that breaks the engine is a finding, not the study's end
        where = extract_tb(error.__traceback__)[-1]
        broke_off = f"it raised {error!r} in {where.filename}, line {where.lineno}"
    else:
        if not simulation.engine.over:
            broke_off = f"it lasted {ENDLESS} times as long as one machine would take"
    computing = time.process_time() - began
    return simulation.history, broke_off, computing, chosen[0] if chosen else float("inf")


def result_of(seed: int, cell: Cell) -> Result:
    return run(cell, seed).result
