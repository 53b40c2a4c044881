"""One run of a bag ahead, in virtual time, from where it stands."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias
from zlib import crc32

from bats.common.messages import Outcome, TaskId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.engine import Engine
from bats.master.brain.learning.regression import Line
from bats.master.brain.planning.mix import Mix
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.commands import BagOutcome, StartMachines
from bats.master.brain.protocol.events import (
    Allowed,
    Cause,
    Chosen,
    Ended,
    Ending,
    Event,
    Resumed,
    Woken,
)
from bats.master.brain.views.forecast import Known, StandingMachine
from bats.master.brain.views.readonly import MachineState
from bats.master.simulate.driver import NEVER, Agenda, Conditions, Simulation, Worker

if TYPE_CHECKING:
    from numpy.typing import NDArray

MORE: Final = 1.05  # by which a run that is short of money gets more at a time
ENOUGH: Final = 1.2  # of the money of one that was short, the next has
HELPED: Final = 40  # times at most that a run is helped on
LOOKS: Final = 300  # in a row with nothing at work or to come, after which a run is given up

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class End:
    """The outcome of one run, from now on."""

    seconds: float
    cost: Money
    done: bool  # all tasks
    sufficed: bool  # the money that it had at first
    most: Mix  # the most machines that it had of each kind at a time
    waits: bool = False  # to the end, for what only others can give


def run_ahead(
    engine: Engine, known: Known, schedule: Schedule, bag: Floats, lines: Sequence[Line]
) -> End:
    return end_of(_run(engine, known, schedule, bag, lines))


def run_with_enough(
    engines: Callable[[Schedule], Engine],
    known: Known,
    schedule: Schedule,
    bag: Floats,
    lines: Sequence[Line],
) -> End:
    """The outcome with as much money as does: who is short of it begins anew with more.

    To be helped on would cost more: what runs is stopped meanwhile, and begun again.
    """
    for _ in range(HELPED):
        world = _run(engines(schedule), known, schedule, bag, lines)
        run = world.engine.headline()
        if known.budget is not None or run.outcome is not BagOutcome.OUT_OF_BUDGET:
            break
        had = (run.limit or 0) - known.spent
        schedule = replace(schedule, budget=Money(int(max(had, schedule.budget) * ENOUGH)))
    return end_of(world)


def _run(
    engine: Engine, known: Known, schedule: Schedule, bag: Floats, lines: Sequence[Line]
) -> World:
    world = World(engine, known, bag, lines)
    world.begin()
    goes_on = schedule.name == engine.headline().chosen
    world.hear(Woken() if goes_on else Chosen(schedule.name))
    return world


def end_of(world: World) -> End:
    """The end of a run, which is helped on where it waits or its money does not do."""
    engine, known, sufficed = world.engine, world.known, True
    for _ in range(HELPED):
        run = engine.headline()
        waits = run.pause is not None and run.pause.budget is not None
        if (waits or run.outcome is BagOutcome.OUT_OF_BUDGET) and known.budget is None:
            sufficed = False
            more = int((run.limit or 0) * MORE) + 1
            world.hear(Allowed(Money(max(more, engine.enough or 0))))
        elif run.pause is not None:
            world.hear(Resumed())
        else:
            break
    run = engine.headline()
    done = run.outcome is BagOutcome.COMPLETE or run.outcome is BagOutcome.WITH_FAILURES
    ended = world.history.ended_at
    return End(
        (run.now if ended is None else ended) - known.now,
        Money(max(0, run.settled - known.spent)),
        done,
        sufficed and done,
        tuple(world.most),
        waits=not engine.over,
    )


class World(Simulation):
    """A world that goes on from where a bag stands."""

    def __init__(self, engine: Engine, known: Known, bag: Floats, lines: Sequence[Line]) -> None:
        runtimes = bag.tolist()

        def seconds(task: TaskId, cluster: int) -> float:
            """As exact as clocks: what ends at once in the world shall do so here."""
            return float(f"{lines[cluster].convert(runtimes[task]):.9g}")

        def life(rng: random.Random, cluster: int) -> float:
            hazard = known.hazards[cluster] if known.hazards else 0.0
            return rng.expovariate(hazard) if hazard else NEVER

        conditions = Conditions(life_seconds=life)
        seed = crc32(bag.tobytes())  # schedules lose the same machines in the same bag
        super().__init__(engine.settings, seconds, conditions, seed, engine=engine)
        self.known = known
        self._looks = 0  # in a row, since anything else happened
        self.most = [0] * len(lines)
        for machine in known.machines:
            self._stand(machine)
        self._count()

    def begin(self) -> None:
        """Go on with what is due now."""
        self._at(self.known.now, lambda _now: Woken())

    def hear(self, event: Event) -> None:
        """A word of the user's after all else that happens by now, and what comes of it."""
        now = max(self.known.now, self.engine.headline().now)
        self.go_on(until=now)
        self.deliver(event, now)
        self.go_on()

    def deliver(self, event: Event, now: float) -> None:
        """A run that waits for what only others can give is given up after some looks."""
        super().deliver(event, now)
        self._looks = self._looks + 1 if isinstance(event, Woken) else 0
        if self._looks >= LOOKS:
            self._looks = 0
            if not any(one.running or not one.joined for one in self._workers.values()):
                self._agenda = Agenda()

    def _stand(self, machine: StandingMachine) -> None:
        now, k, known = self.known.now, machine.cluster, self.known
        worker = self._workers[machine.id] = Worker(k, machine.slots)
        if machine.charged_since is not None:
            self._since[machine.id] = machine.charged_since
        self._may_be_lost(machine.id, k, now)
        if machine.state is MachineState.REQUESTED:
            joins = max(now, machine.requested_at + known.start_seconds[k])
            charged = joins - known.boot_seconds[k] if machine.charged_since is None else joins
            self._arrives(machine.id, max(now, charged), joins)
            return
        worker.joined = True
        if machine.state is not MachineState.UP:
            self._at(now, self._leaves(machine.id, Cause.STOPPED, "as told"))
            return
        for task, attempt, since in machine.active:
            worker.running[task, attempt] = since
            ends = max(now, since + self._runtimes(task, k))
            self._at(ends, self._finishes(machine.id, task, attempt, Outcome.DONE))
        worker.queue.extend(machine.queued)
        for task, attempt, since in machine.collecting:
            ending = Ending(task, attempt, Outcome.DONE, now - since)
            self.tell(Ended(machine.id, (ending,)), now)

    def _start_machines(self, command: StartMachines, now: float) -> None:
        k = command.cluster
        for machine in command.machines:
            self._workers[machine] = Worker(k, self.settings.offerings[k].slots)
            start, boot = self._starting(k)
            self._arrives(machine, now + start - boot, now + start)
            self._may_be_lost(machine, k, now + start)
        self._count()

    def _starting(self, k: int) -> tuple[float, float]:
        """The seconds until one more machine joins, and those of them that are charged."""
        return self.known.start_seconds[k], self.known.boot_seconds[k]

    def _count(self) -> None:
        for k, most in enumerate(self.most):
            there = sum(worker.cluster == k for worker in self._workers.values())
            self.most[k] = max(most, there)
