"""Promises of a run: what was told of its plan, how that moved since, and whether it will hold."""

from bats.common.money import Money
from bats.common.records import dataclass
from bats.common.units import in_words
from bats.master.brain.books.choice import Told
from bats.master.brain.views.readonly import Phase, RunView

_WAYS = "`bats allow` gives it more, `bats drop` leaves tasks out"


@dataclass(frozen=True, slots=True)
class ToldView:
    """The promise of the whole run at some moment, sample and all; times from its beginning.

    The bounds hold with 90 % confidence.
    """

    name: str
    at: float
    seconds: float
    seconds_bound: float
    cost: Money
    cost_bound: Money
    tasks: int = 0  # known then, which it is for; 0: a journal of before 0.2.0


def told(run: RunView) -> ToldView | None:
    """The promise when it was decided."""
    return None if run.choice.told is None else _view(run, run.choice.told)


def looks(run: RunView) -> tuple[ToldView, ...]:
    """The same at each look since, the last by now."""
    return tuple(one for each in run.choice.looks if (one := _view(run, each)) is not None)


def at_risk(run: RunView, seconds: float | None = None) -> str:
    """A sentence about a bound that will hardly hold, by the last look; "" while all do.

    The run is expected to take so long in all, where more is known by now than at that look.
    """
    promise, since = told(run), looks(run)
    if promise is None or not since or run.phase is not Phase.EXECUTING:
        return ""
    by_now, limit, due = since[-1], run.ledger.limit, run.choice.deadline_at
    bound = promise.seconds_bound if due is None else due - run.began_at
    takes = by_now.seconds if seconds is None else seconds
    if takes > bound and promise.tasks >= by_now.tasks:
        within, late = in_words(bound), in_words(takes)
        called = "told" if due is None else "allowed"
        return f"it will hardly be done within the {within} {called}, but after {late}; {_WAYS}"
    if limit is not None and by_now.cost > limit:
        most, needed = run.shown(limit), run.shown(by_now.cost)
        return f"the {most} that it may cost will hardly do: {needed} in all; {_WAYS}"
    return ""


def _view(run: RunView, found: Told) -> ToldView | None:
    (one,) = found.schedules
    if one.bounds is None:
        return None
    before = found.at - run.began_at
    return ToldView(
        one.name,
        before,
        before + one.makespan_seconds,
        before + one.bounds.makespan_seconds,
        Money(found.spent + one.cost),
        found.total_cost,
        found.tasks,
    )
