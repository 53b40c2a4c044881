"""The machines of a run: all there ever were, those that live, and who has a free slot."""

import heapq
from itertools import count

from bats.common.messages import MachineId
from bats.master.brain.books.machine import Machine


class MachinePool:
    __slots__ = (
        "_order", "alarms", "borrowed", "hungry", "idle", "last_machine", "living", "machines",
    )  # fmt: skip

    def __init__(self, clusters: int, last_machine: MachineId) -> None:
        self.machines: dict[MachineId, Machine] = {}
        self.living: list[dict[MachineId, Machine]] = [{} for _ in range(clusters)]
        self.borrowed: dict[MachineId, Machine] = {}  # that other bags pay for: in no plan
        self.hungry: dict[MachineId, None] = {}  # just got a free slot: to be filled
        self.idle: dict[MachineId, None] = {}  # had a free slot and there was nothing for it
        self.alarms: list[tuple[float, int, MachineId]] = []  # when to look at a machine again
        self.last_machine = last_machine  # the highest number given
        self._order = count()

    def new_machine_id(self) -> MachineId:
        self.last_machine = MachineId(self.last_machine + 1)
        return self.last_machine

    def add(self, machine: Machine) -> None:
        self.machines[machine.id] = machine
        self.living[machine.cluster][machine.id] = machine

    def forget(self, machine: Machine) -> None:
        del self.living[machine.cluster][machine.id]
        self.hungry.pop(machine.id, None)
        self.idle.pop(machine.id, None)

    def borrow(self, machine: Machine) -> None:
        self.machines[machine.id] = self.borrowed[machine.id] = machine

    def give_back(self, machine: Machine) -> None:
        del self.borrowed[machine.id]
        self.hungry.pop(machine.id, None)
        self.idle.pop(machine.id, None)

    def alive(self) -> list[Machine]:
        return [machine for group in self.living for machine in group.values()]

    def working(self) -> list[Machine]:
        """Those that live, and those that other bags pay for."""
        return [*self.alive(), *self.borrowed.values()]

    def staying(self, cluster: int) -> list[Machine]:
        return [m for m in self.living[cluster].values() if m.staying]

    def alarm(self, machine: Machine, at: float) -> None:
        heapq.heappush(self.alarms, (at, next(self._order), machine.id))
