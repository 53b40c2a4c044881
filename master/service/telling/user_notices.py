"""Notices: which moments of a bag its user is told of, each once; what is told is plain data."""

import asyncio
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, Final

from bats.common.money import Money, as_decimal, show
from bats.master.bag import Bag, ways_out
from bats.master.brain.books.phase import Phase
from bats.master.brain.engine import Engine
from bats.master.brain.views.told.facts import Headline
from bats.master.brain.views.told.view import RunView
from bats.master.service.telling.messenger import Messenger

_NEAR_PERCENT: Final = 90  # of a budget
_LATE_LOOK_SECONDS: Final = 1.0  # between two looks whether the deadline will be kept,
_LATE_LOOK_SHARE: Final = 0.005  # or this part of the time that is left


class Matter(Enum):
    CHOICE = "choice"  # schedules wait for their user
    PAUSED = "paused"
    ENDED = "ended"
    LATE = "late"  # at this pace the deadline is missed
    SHORT = "short"  # the money left will hardly do
    CAP = "cap"  # most of the budget is spent or promised


_WAVERING: Final = frozenset({Matter.LATE, Matter.SHORT, Matter.CAP})


class Notices:
    """The matters of one bag that have been told; those of `before` an earlier master has told."""

    def __init__(self, before: Headline) -> None:
        self._told: AbstractSet[Matter] = matters(before, late=False)
        self._choice = before.budget, before.chosen_at

    def news(self, seen: Headline, *, late: bool) -> list[Matter]:
        """Matters that begin now; those that waver come once for each choice."""
        if self._choice != (seen.budget, seen.chosen_at):
            self._choice = seen.budget, seen.chosen_at
            self._told -= _WAVERING
        found = matters(seen, late=late)
        new = [one for one in Matter if one in found and one not in self._told]
        self._told = found | (self._told & _WAVERING)
        return new


class Notifier:
    """Has the user of a bag told of what matters, by commands of theirs and of the master."""

    def __init__(
        self,
        bag: Bag,
        engine: Engine,
        commands: Sequence[str],
        messenger: Messenger,
        failed: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._bag = bag
        self._engine = engine
        self._commands = commands
        self._messenger = messenger
        self._failed = failed
        self._notices = Notices(engine.headline())
        self._clock = clock
        self._late, self._look_at = False, 0.0
        self._passes: tuple[float, asyncio.TimerHandle] | None = None

    def close(self) -> None:
        if self._passes:
            self._passes[1].cancel()

    def look(self, now: float) -> None:
        """After each event; a deadline is looked at only now and then."""
        if not self._commands:
            return
        seen = self._engine.headline()
        if seen.due_at is not None and now >= self._look_at:
            self._look_at = now + max(_LATE_LOOK_SECONDS, (seen.due_at - now) * _LATE_LOOK_SHARE)
            self._late = is_late(self._engine.view(now))
            self._look_when_it_passes(seen.due_at, now)
        for matter in self._notices.news(seen, late=self._late):
            told = notice(matter, self._bag, seen, self._engine.view(now))
            for command in self._commands:
                self._messenger.send(command, told, self._failed)

    def _look_when_it_passes(self, due_at: float, now: float) -> None:
        """Look again then: nobody else would where nothing happens, as under a cap."""
        if due_at > now and (self._passes is None or self._passes[0] != due_at):
            self.close()
            later = asyncio.get_running_loop().call_later(due_at - now + 0.1, self._it_passes)
            self._passes = due_at, later

    def _it_passes(self) -> None:
        self._passes, self._look_at = None, 0.0
        self.look(self._clock())


def matters(seen: Headline, *, late: bool) -> AbstractSet[Matter]:
    if seen.outcome is not None:
        return {Matter.ENDED}
    if seen.pause is not None:
        return {Matter.PAUSED}
    if seen.phase is Phase.CHOOSING:
        return {Matter.CHOICE} if seen.offered else frozenset()  # else what is paid may do
    if seen.phase is not Phase.EXECUTING:
        return {Matter.LATE} if late and seen.phase is Phase.SAMPLING else frozenset()
    near = seen.budget is not None and seen.committed * 100 >= seen.budget * _NEAR_PERCENT
    so = {Matter.LATE: late, Matter.SHORT: seen.short_of_money, Matter.CAP: near}
    return {matter for matter, true in so.items() if true}


def is_late(view: RunView) -> bool:
    """True if at its present pace a run ends after its deadline."""
    due, left = view.deadline_at, view.eta_seconds
    return due is not None and (view.now > due or (left is not None and view.now + left > due))


def notice(matter: Matter, bag: Bag, seen: Headline, view: RunView) -> dict[str, Any]:
    """The object that is told; money is exact text."""
    facts: dict[str, Any] = {
        "bats": 1,
        "event": matter.value,
        "bag": bag.id,
        "name": bag.name,
        "words": _words(matter, bag, seen, view),
        "total": view.total,
        "done": view.done,
        "failed": view.failed + view.failing,
        "seconds": round(view.now - view.began_at, 3),
        "spent": _exact(view.spent),
        "budget": None if view.budget is None else _exact(view.budget),
        "currency": bag.settings.currency,
    }
    if matter is Matter.CHOICE:
        facts["schedules"] = [
            {"name": one.name, "cost": _exact(one.cost), "seconds": one.makespan_seconds}
            for one in seen.offered
        ]
    return facts


def _words(matter: Matter, bag: Bag, seen: Headline, view: RunView) -> str:
    currency = bag.settings.currency
    if matter is Matter.CHOICE:
        count = len(seen.offered)
        offered = "a schedule is" if count == 1 else f"{count} schedules are"
        return f"{offered} offered: bats choose {bag.id} NAME"
    if matter is Matter.PAUSED and seen.pause is not None:
        pause = seen.pause
        ways = ways_out(
            bag.id, pause.task, again=pause.again, budget=pause.budget, currency=currency
        )
        return f"{seen.pause.reason}. {ways}"
    if matter is Matter.ENDED and seen.outcome is not None:
        return f"{seen.outcome.value}: {bag.words}"
    if matter is Matter.LATE and view.deadline_at is not None:
        if view.eta_seconds is None:
            return f"its deadline has passed with {view.done:,} of {view.total:,} tasks done"
        late = max(0.0, view.now + view.eta_seconds - view.deadline_at)
        return f"at this pace it ends {late:.0f} s after its deadline"
    if matter is Matter.SHORT:
        left = "nothing" if view.left is None else show(view.left, currency)
        return f"{left} is left, which will hardly finish it"
    used = show(seen.committed, currency)
    of = "" if seen.budget is None else f" of {show(seen.budget, currency)}"
    return f"{used}{of} is spent or promised to machines"


def _exact(amount: Money) -> str:
    return f"{as_decimal(amount).normalize():f}"
