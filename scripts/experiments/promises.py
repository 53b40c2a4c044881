"""Promises of schedules when they were chosen, and what came of them: live and simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bats.common.money import Money
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.predictors import predict
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.forecast import foretold
from bats.master.plain_data import plain

from . import lab, twin


@dataclass(frozen=True, slots=True)
class Kept:
    """From the choice on."""

    schedule: Mapping[str, Any]  # as its user was shown it
    seconds: float  # until the last task was done
    cost: Money
    within: bool  # nothing was spent beyond its budget
    done: int  # tasks, those of the sample too
    complete: bool

    @classmethod
    def of(
        cls,
        schedule: Mapping[str, Any],
        seconds: float,
        spent: Money,
        committed: Money,
        done: int,
        total: int,
    ) -> "Kept":
        """From the account of a whole run; `committed` is what had been before the choice."""
        return cls(
            schedule,
            seconds,
            Money(max(0, spent - committed)),
            spent <= committed + schedule["budget"],
            done,
            done == total,
        )

    @property
    def deviation(self) -> float:
        return self.seconds / self.schedule["makespan_seconds"] - 1

    @property
    def bound_held(self) -> bool:
        return self.complete and self.seconds <= self.schedule["bounds"]["makespan_seconds"]


def live(run: lab.Live) -> Kept:
    seen, promise = run.account.view, run.account.promise
    assert promise is not None
    schedule = next(one for one in run.schedules if one["name"] == run.chosen)
    seconds = (seen.ended_at or seen.now) - promise.at
    return Kept.of(schedule, seconds, seen.spent, promise.committed, seen.done, seen.total)


def simulated(
    settings: Settings, runtimes: twin.Runtimes, measured: twin.Starts, choose: lab.Choose
) -> Kept:
    """The same user before a simulated run, who chooses as soon as something is offered."""
    shown: list[tuple[Mapping[str, Any], float, Money]] = []

    def answers(offered: tuple[Schedule, ...], now: float) -> tuple[float, Chosen] | None:
        if shown:
            return None  # an offer that came with the choice
        bounds = [predict(question) for question in world.engine.questions(offered)]
        schedules = plain(foretold(offered, bounds))
        name = choose(schedules)
        chosen = next(one for one in schedules if one["name"] == name)
        shown.append((chosen, now, world.engine.headline().committed))
        return now, Chosen(name)

    world = twin.world(settings, runtimes, measured, answers)
    history = world.run()
    [(schedule, at, committed)] = shown
    run = world.engine.view()
    ended = run.now if run.ended_at is None else run.ended_at
    spent, done = run.spent, len(history.records)
    return Kept.of(schedule, ended - at, spent, committed, done, settings.tasks)
