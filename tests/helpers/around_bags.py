"""Fakes of all that bags work with: a store, workers, a fleet; and bags to be run among them."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bats.common import messages as m
from bats.common.messages import BagId, MachineId, TaskId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.bag import Bag
from bats.master.brain.protocol.numbering import before_first
from bats.master.brain.protocol.settings import Settings
from bats.master.service.bags.runner import Runner
from bats.master.service.bags.surroundings import Surroundings
from bats.master.service.machines.worker import Worker
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep

RENTED = Offering(ClusterName("rented"), money(3), 3600.0, 2)


def ten_tasks(number: BagId, folder: Path, **more: Any) -> Bag:
    space = Space((Axis(("x",), (Listed(map(str, range(10))),)),))
    settings = Settings(10, (RENTED,), numbers_after=before_first(number))
    sweep = Sweep(space, command="echo {x}")
    return Bag(number, f"bag {number}", sweep, settings, 0.0, str(folder), **more)


class Store:
    """Durable when the test says so."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Any]] = []
        self.waiting: list[Callable[[], None]] = []

    def __getattr__(self, kind: str) -> Callable[..., None]:
        return lambda *facts: self.kept.append((kind, facts[-1]))

    def then(self, do: Callable[[], None]) -> None:
        self.waiting.append(do)

    async def committed(self) -> None:
        self.commit()

    def commit(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def all(self, kind: str) -> list[Any]:
        return [fact for one, fact in self.kept if one == kind]


class Workers:
    def __init__(self) -> None:
        self.given: list[tuple[TaskId, int]] = []
        self.at_once: bool | None = None  # as it was told last
        self.killed: list[m.AttemptId] = []
        self.acks = self

    def run(
        self, _: MachineId, _bag: Runner, orders: Iterable[tuple[TaskId, int]], *, at_once: bool
    ) -> None:
        self.given += orders
        self.at_once = at_once

    def kill(self, _: MachineId, attempt: m.AttemptId) -> None:
        self.killed.append(attempt)

    def lease(self, _: MachineId, _seconds: float) -> None: ...

    def stop(self, _: MachineId, _reason: str) -> bool:
        return False

    def started_by_hand(self) -> list[Worker]:
        return []

    def settled(self, _: MachineId, _attempts: Sequence[m.AttemptId]) -> None: ...


class Fleet:
    def __init__(self) -> None:
        self.started: list[MachineId] = []
        self.stopped: list[tuple[MachineId, str]] = []

    def start(self, _: Runner, _cluster: int, machines: Sequence[MachineId]) -> None:
        self.started += machines

    def stop(self, machine: MachineId, reason: str) -> None:
        self.stopped.append((machine, reason))


def surroundings(
    store: Store, workers: Workers, fleet: Any, files: Any = None, **heard: Any
) -> Any:
    """The things that a runner works with; of what it tells, what is not `heard` is nobody's."""
    told: dict[str, Any] = dict.fromkeys(
        ("ended", "parked", "broke", "freed", "looked"), lambda *_: None
    )
    told["waiting_for"] = lambda _: []
    return Surroundings(store, workers, fleet, files, messenger=None, **{**told, **heard})
