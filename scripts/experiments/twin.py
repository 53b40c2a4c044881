"""The simulated twin of a live run: the same settings, given how machines came and went there."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean

from bats.common.messages import TaskId
from bats.common.money import as_decimal
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.events import Event
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation

from .decisions import Decisions, decisions
from .lab import Live

Runtimes = Callable[[TaskId, int], float]
Answers = Callable[[tuple[Schedule, ...], float], tuple[float, Event] | None]


@dataclass(frozen=True, slots=True)
class Starts:
    """Measured, in seconds."""

    delays: tuple[float, ...]  # from being asked for to being charged, machine by machine
    boot_seconds: float  # from then to being able to work, on average
    stop_seconds: float  # from being told to stop to being gone, on average


@dataclass(frozen=True, slots=True)
class Twin:
    complete: bool
    seconds: float
    dollars: float
    decisions: Decisions
    journal: list[tuple[float, Event]]


def starts(live: Live, decided: Decisions) -> Starts:
    machines = sorted(live.account.machines, key=lambda one: one.id)
    booted = [m.joined - m.since for m in machines if m.joined is not None and m.since is not None]
    return Starts(
        tuple(m.since - m.requested for m in machines if m.since is not None),
        fmean(booted or [0.0]),
        fmean(decided.stop_seconds or [0.0]),
    )


def twin(settings: Settings, runtimes: Runtimes, measured: Starts) -> Twin:
    settings = replace(settings, foresight=False)  # schedules were taken long ago, live
    simulation = world(settings, runtimes, measured)
    history = simulation.run()
    decided = decisions(settings, history.events)
    return Twin(
        len(history.records) == settings.tasks,
        decided.ended_at,
        float(as_decimal(simulation.engine.headline().settled)),
        decided,
        history.events,
    )


def world(
    settings: Settings,
    runtimes: Runtimes,
    measured: Starts,
    answers: Answers = lambda _schedules, _now: None,
) -> Simulation:
    """One in which machines come and go as they did; `answers` is who chooses a schedule."""
    coming = iter(measured.delays)
    usual = fmean(measured.delays or (0.0,))

    def start_seconds(_: random.Random, _cluster: int) -> float:
        return next(coming, usual)

    conditions = Conditions(
        start_seconds, measured.boot_seconds, measured.stop_seconds, answers=answers
    )
    return Simulation(settings, runtimes, conditions, keep_events=True)
