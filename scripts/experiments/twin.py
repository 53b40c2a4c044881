"""The simulated twin of a live run: the same settings, given how machines came and went there."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from bats.common.messages import TaskId
from bats.common.money import as_decimal
from bats.master.brain.events import Event
from bats.master.simulate.driver import Conditions, Simulation

from .decisions import Decisions, decisions
from .lab import Live

Runtimes = Callable[[TaskId, int], float]


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


def twin(live: Live, runtimes: Runtimes, measured: Starts) -> Twin:
    coming = iter(measured.delays)
    usual = fmean(measured.delays or (0.0,))

    def start_seconds(_: random.Random, _cluster: int) -> float:
        return next(coming, usual)

    simulation = Simulation(
        live.settings,
        runtimes,
        Conditions(start_seconds, measured.boot_seconds, measured.stop_seconds),
        keep_events=True,
    )
    history = simulation.run()
    decided = decisions(live.settings, history.events)
    return Twin(
        len(history.records) == live.settings.tasks,
        decided.ended_at,
        float(as_decimal(simulation.engine.run.ledger.settled)),
        decided,
        history.events,
    )
