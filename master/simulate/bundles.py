"""Bundles: a bag of very many tasks is run ahead as one of some hundred, each of many tasks.

A bundle takes as long as its tasks one after another. To plans that is the same bag: of the same
work, with the same error of what is known of it. What differs is said for what it is: the end
waits for single tasks, not for bundles. Machines that are there count as started; the rest of
their paid time is taken off the price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bats.common.billing import atus
from bats.common.money import Money
from bats.master.brain.arrays import np
from bats.master.brain.engine import Engine
from bats.master.brain.learning.intervals import moments
from bats.master.brain.learning.losses import seconds_a_result
from bats.master.brain.learning.regression import Line
from bats.master.brain.planning.schedules import FASTEST, Schedule
from bats.master.brain.protocol.commands import RunTasks
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.brain.views.forecast import Known
from bats.master.brain.views.readonly import MachineState
from bats.master.simulate.driver import Simulation
from bats.master.simulate.running_ahead import End, Floats, World, end_of

if TYPE_CHECKING:
    from numpy.random import Generator

BUNDLES: Final = 200
EACH: Final = 8  # bundles per slot, at least: the last ones end at different times
PAID: Final = 0.1  # of the money: the most that may be paid for already
MOST: Final = 2000  # bundles that may be run ahead in the time that there is


def number(engine: Engine, known: Known, schedules: Sequence[Schedule]) -> int | None:
    """The number of bundles; None where bundles would not do.

    That is with very many machines, or where much of the work is paid for already.
    """
    slots = sum(
        min(engine.limit(k), known.unfinished) * offering.slots
        for k, offering in enumerate(engine.settings.offerings)
        if engine.runtimes()[k]
    )
    wanted = max(BUNDLES, EACH * slots)
    if wanted > min(MOST, known.unfinished):
        return None
    least = min(schedule.budget for schedule in schedules)
    return wanted if _still_paid(engine, known) < least * PAID else None


def run_in_bundles(
    engine: Engine,
    known: Known,
    schedule: Schedule,
    bag: Floats,
    lines: Sequence[Line],
    count: int,
    rng: Generator,
) -> End:
    """The outcome of a run with the money of the schedule, be that planned or told.

    Without a budget of the user's it is chosen: a price that was told is spent otherwise.
    """
    tasks = bag[bag > 0][: known.unfinished]
    single, lines = lines, _with_losses(known, lines)
    known = replace(known, lines=_with_losses(known, known.lines), hazards=())
    edges = np.linspace(0, tasks.size, count + 1).astype(int)
    each = tasks.size / count
    limit = schedule.budget if schedule.bounds is None else schedule.bounds.cost
    settings = _settings(engine, known, count, each)
    if known.budget is not None:
        settings = replace(settings, budget=limit)
    there = [0] * len(known.lines)
    for machine in known.machines:
        there[machine.cluster] += machine.state is MachineState.UP
    world = _Bundled(
        Engine(settings),
        replace(known, now=0.0, spent=Money(0), machines=(), longer_than={}, runtimes=()),
        np.add.reduceat(tasks, edges[:-1]),
        [replace(line, beta0=line.beta0 * each) for line in lines],
        there,
    )
    world.begin()
    if known.budget is None:
        world.go_on(until=0.0)
        world.engine.offer((schedule,))
        world.hear(Chosen(schedule.name))
    world.go_on()
    end = end_of(world)
    tail = _last_tasks(tasks, single, end.most, rng)
    seconds = min(end.seconds, world.begun_last + tail)
    cost = Money(max(0, end.cost - _still_paid(engine, known)))
    return replace(end, seconds=seconds, cost=cost)


def _with_losses(known: Known, lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines to kinds that take longer by what is lost: a bundle is not lost whole."""
    mean = moments(known.experienced).mu
    stretched = []
    for line, hazard, start in zip(lines, known.hazards, known.start_seconds, strict=True):
        seconds = line.convert(mean)
        more = seconds_a_result(seconds, hazard, start) / seconds
        stretched.append(replace(line, beta0=line.beta0 * more, beta1=line.beta1 * more))
    return tuple(stretched)


class _Bundled(World):
    def __init__(
        self,
        engine: Engine,
        known: Known,
        bag: Floats,
        lines: Sequence[Line],
        there: Sequence[int],
    ) -> None:
        super().__init__(engine, known, bag, lines)
        self._there = list(there)
        self.begun_last = 0.0  # when the first attempt at the last bundle was begun

    def begin(self) -> None:
        Simulation.begin(self)

    def _starting(self, k: int) -> tuple[float, float]:
        self._there[k] -= 1
        return (0.0, 0.0) if self._there[k] >= 0 else super()._starting(k)

    def _run_tasks(self, command: RunTasks, now: float) -> None:
        if any(attempt == 1 for _, attempt in command.orders):
            self.begun_last = now
        super()._run_tasks(command, now)


def _settings(engine: Engine, known: Known, count: int, each: float) -> Settings:
    runtimes = engine.runtimes()
    sample = moments(known.experienced)
    pairs = max(1, round(sample.n / each / 2))
    off = min(0.9, sample.sigma / sample.mu / math.sqrt(each))
    bundles = [sample.mu * each * (1 + side * off) for side in (-1, 1)] * pairs
    offerings = tuple(
        replace(offering, max_machines=engine.limit(k))
        for k, offering in enumerate(engine.settings.offerings)
    )
    return replace(
        engine.settings,
        tasks=count,
        offerings=offerings,
        budget=None,
        deadline_seconds=None,
        rule=ASK if known.budget is None else FASTEST,
        known=tuple(
            tuple(replace(line, beta0=line.beta0 * each).convert(one) for one in bundles)
            if runtimes[k]
            else ()
            for k, line in enumerate(known.lines)
        ),
        learned=(),
        learned_weight=(),
        learned_losses=(),
        parameters=(),
        foresight=False,
        monitor_seconds=sample.mu * each,
    )


def _last_tasks(
    tasks: Floats, lines: Sequence[Line], machines: Sequence[int], rng: Generator
) -> float:
    """The time from when the last task is begun to when all have ended, without copies.

    What runs at a moment is long by its length, and anywhere between its beginning and its end.
    """
    longest = 0.0
    for line, count in zip(lines, machines, strict=True):
        if count:
            running = rng.choice(tasks, count, p=tasks / tasks.sum()) * rng.random(count)
            longest = max(longest, line.convert(float(running.max())))
    return longest


def _still_paid(engine: Engine, known: Known) -> Money:
    """The worth of the time of machines that is paid for already."""
    worth = 0.0
    for machine in known.machines:
        offering = engine.settings.offerings[machine.cluster]
        if machine.charged_since is not None and machine.state is MachineState.UP:
            uptime = known.now - machine.charged_since
            worth += (atus(offering, uptime) - uptime / offering.atu_seconds) * offering.price
    return Money(int(worth))
