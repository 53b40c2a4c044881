"""A test bench for the engine: feeds it events, returns its commands, checks its books."""

from typing import TypeVar

from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import Command, RunTasks
from bats.master.brain.protocol.events import Begin, Ended, Ending, Event, Joined
from bats.master.brain.protocol.settings import Settings

C = TypeVar("C")

HOUR = 3600.0
MINUTE = 60.0


def offering(
    name: str = "m1",
    price: str | int = 3,
    *,
    machines: int = 4,
    slots: int = 1,
    atu: float = HOUR,
    backend: str = "local",
) -> Offering:
    return Offering(
        ClusterName(name), money(price), atu, max_machines=machines, slots=slots, backend=backend
    )


def free(name: str = "desk", *, machines: int = 1, slots: int = 1) -> Offering:
    return offering(name, 0, machines=machines, slots=slots)


def settings(
    tasks: int, *offerings: Offering, budget: int | None = None, **more: object
) -> Settings:
    cap: Money | None = None if budget is None else money(budget)
    return Settings(tasks, offerings or (free(),), cap, **more)  # type: ignore[arg-type]


class Bench:
    """`bench(event, at)` gives the commands; the wish to be woken is left out unless asked for."""

    def __init__(self, of: Settings) -> None:
        self.engine = Engine(of)
        self.run = self.engine.run
        self.now = 0.0

    def __call__(self, event: Event, at: float | None = None) -> list[Command]:
        self.now = self.now if at is None else at
        commands = self.engine.handle(event, self.now)
        self.engine.check()
        return commands

    def begin(self) -> list[Command]:
        return self(Begin())

    def join(self, machine: int, at: float | None = None, slots: int = 1) -> list[Command]:
        return self(Joined(MachineId(machine), slots), at)

    def done(
        self, machine: int, task: int, attempt: int = 1, at: float | None = None
    ) -> list[Command]:
        return self.end(machine, task, Outcome.DONE, attempt, at)

    def end(
        self, machine: int, task: int, outcome: Outcome, attempt: int = 1, at: float | None = None
    ) -> list[Command]:
        at = self.now if at is None else at
        mine = self.run.pool.machines[MachineId(machine)].active.get(TaskId(task))
        seconds = at - mine.since if mine else 0.0
        ending = Ending(TaskId(task), attempt, outcome, seconds)
        return self(Ended(MachineId(machine), (ending,)), at)


def only(kind: type[C], commands: list[Command]) -> list[C]:
    return [command for command in commands if isinstance(command, kind)]


def sent(commands: list[Command]) -> list[int]:
    """The tasks sent to machines."""
    return [task for command in only(RunTasks, commands) for task, _ in command.orders]
