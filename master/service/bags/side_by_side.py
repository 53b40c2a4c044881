"""Bags side by side: each that runs has a way to the household; workers started by hand serve all.

What is decided of a bag there is an event of that bag, like all that happens to it.
"""

import asyncio
from collections.abc import Iterable, Mapping

import structlog

from bats.common.capacity.resources import Resources
from bats.common.messages import AttemptId, BagId, MachineId
from bats.common.offering import MANUAL
from bats.master.bag import Bag
from bats.master.brain.books.machine import LEASE_SECONDS
from bats.master.brain.engine import Engine
from bats.master.brain.household.cap import Cap
from bats.master.brain.household.household import Household
from bats.master.brain.household.neighbours import Neighbours, Payer, Place
from bats.master.brain.household.notices import Opened, Spent
from bats.master.brain.household.placements import placement
from bats.master.brain.protocol.events import Cause, Event, TakenBack
from bats.master.brain.protocol.numbering import by_hand
from bats.master.service.bags.clock import Calendar
from bats.master.service.bags.placement_file import PlacementFile
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.service.options import place_of

log = structlog.get_logger()


class SideBySide:
    def __init__(
        self,
        workers: Workers,
        sharing: str,
        placement: PlacementFile,
        user_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.runners: dict[BagId, Runner] = {}  # of the bags that run
        self.lenders: set[BagId] = set()  # that have ended but for machines that others use
        self.household = Household(sharing, user_weights, placement_name=placement.read())
        self._placement = placement
        self._workers = workers
        self._loop = asyncio.get_running_loop()
        self.calendar = Calendar()
        self._neighbours = Neighbours(self.household, self.calendar, self._wake)
        self._waking: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self._waking:
            self._waking.cancel()

    def pay(self, number: BagId, payer: Payer, name: str, currency: str) -> None:
        """A pool spends money under the caps."""
        self._neighbours.pay(number, payer, name, currency)

    def settle(self) -> None:
        """A pool may have spent more, or less."""
        self._neighbours.settle()

    def takes(self, machine: MachineId, *, takes: bool) -> None:
        """A machine that serves all gets new tasks from now on, or none."""
        self._neighbours.takes(machine, takes=takes)

    def cap(self, caps: Iterable[Cap], spent: Iterable[Spent]) -> None:
        """Let these caps stand; with what bags have spent that do not run."""
        self._neighbours.cap(caps, spent)

    def open(self, runners: Iterable[Runner]) -> None:
        """Let these run. All are known before the first is told what it may have."""
        opened = list(runners)
        self.runners |= {runner.id: runner for runner in opened}
        self.runners = dict(sorted(self.runners.items()))
        self._neighbours.open(
            *(
                (_opened(one.bag), _Door(one, self._workers, self.calendar), _places(one.bag))
                for one in opened
            )
        )

    def end(self, runner: Runner) -> None:
        """It runs no more: what it had is for others."""
        self.lenders.discard(runner.id)
        if self.runners.pop(runner.id, None) is not None:
            self._neighbours.close(runner.id)

    def weigh(self, bag: Bag) -> None:
        if bag.id in self.runners:
            self._neighbours.weigh(bag.id, bag.standing.weight, bag.standing.priority)

    def place(self, name: str) -> None:
        """Let the placement of this name decide from now on. Raises UsageError for none."""
        chosen = placement(name).name
        self._placement.keep(chosen)
        if chosen != self.household.placement.name:
            log.info("placement", name=chosen)
            self._neighbours.place(chosen)

    def look(self, runner: Runner) -> bool:
        """Something has happened to it, by which its needs may have changed.

        True if it has just ended, but for machines that others use.
        """
        self._neighbours.look(runner.id)
        if not runner.engine.keeps_for_others:
            self.lenders.discard(runner.id)
            return False
        new = runner.id not in self.lenders
        if new:
            self.lenders.add(runner.id)
            log.info("bag has ended; others use what it has paid", bag=runner.id)
            runner.change()
        return new

    # --- machines that serve all: of pools, or started by hand -----------------------------------

    def borrowers(self, machine: MachineId) -> list[Runner]:
        """Bags that run tasks on it, though another pays for it."""
        return [one for one in self.runners.values() if machine in one.engine.borrowed]

    def came(self, worker: Worker) -> None:
        """Bags that know the machine are told first what it still has of theirs."""
        machine = worker.machine
        self._neighbours.went(machine)
        alone = len(self.runners) == 1
        for attempt in worker.holding:
            if attempt.bag not in self.runners:
                self._workers.kill(machine, attempt)
        for runner in list(self.runners.values()):
            holds = sum(attempt.bag == runner.id for attempt in worker.holding)
            cluster = cluster_for(runner.bag, worker)
            if cluster is not None and (runner.machines.wants(machine) or holds):
                places = worker.size.holds(runner.bag.settings.task) if alone else holds
                runner.machines.joined(worker, cluster, places)
        self._neighbours.came(machine, worker.size, worker.offering)
        if not any(runner.machines.wants(machine) for runner in self.runners.values()):
            self._tell_why_it_waits(worker)

    def _tell_why_it_waits(self, worker: Worker) -> None:
        for runner in self.runners.values():
            if runner.busy and cluster_for(runner.bag, worker) is None:
                names = ", ".join(one.name for one in runner.bag.settings.offerings)
                log.warning("worker waits: the bag has no such offering", machine=worker.machine,
                            bag=runner.id, wanted=worker.offering, offerings=names)  # fmt: skip

    def held(self, machine: MachineId) -> frozenset[AttemptId] | None:
        """The attempts of all bags that the worker should hold; None when no bag has it."""
        of_bags = [runner.machines.held(machine) for runner in self.runners.values()]
        known = [held for held in of_bags if held is not None]
        return frozenset[AttemptId]().union(*known) if known else None

    def waiting_for(self, machine: MachineId) -> list[Runner]:
        """Bags that have not heard of all that the machine was given, whoever pays for it."""
        return [one for one in self.runners.values() if one.engine.waits_for(machine)]

    def silent(self, machine: MachineId) -> None:
        self._neighbours.went(machine)
        for runner in list(self.runners.values()):
            if runner.machines.wants(machine):
                runner.machines.silent(machine)

    def left(self, machine: MachineId, reason: str, *others: MachineId) -> None:
        """`others` leave with it: none of them is given a task meanwhile."""
        leaving = (machine, *others)
        self._neighbours.went(*leaving)
        for runner in list(self.runners.values()):
            for one in leaving:
                if runner.machines.wants(one):
                    runner.machines.gone(one, None, Cause.STOPPED, reason)

    def let_go(self, runner: Runner, machine: MachineId) -> None:
        """Keep a worker that left its bag; others may want it, or this one again."""
        self._neighbours.left(runner.id, machine)
        if self._workers.of(machine):
            if by_hand(machine):
                self._workers.lease(machine, LEASE_SECONDS)
            log.info("worker waits for the next bag", machine=machine, left=runner.id)

    def _wake(self, at: float) -> None:
        if self._waking:
            self._waking.cancel()
        seconds = max(0.0, at - self.calendar())
        self._waking = self._loop.call_later(seconds, self._neighbours.time_passed)


class _Door:
    """The way to one bag."""

    def __init__(self, runner: Runner, workers: Workers, calendar: Calendar) -> None:
        self._runner = runner
        self._workers = workers
        self._calendar = calendar

    @property
    def engine(self) -> Engine:
        return self._runner.engine

    @property
    def began(self) -> float:
        return self._calendar() - self._runner.clock()

    def deliver(self, event: Event) -> None:
        if isinstance(event, TakenBack):
            self._runner.machines.give_back(event.machine)
        else:
            self._runner.happen(event)

    def size(self, machine: MachineId) -> Resources:
        """As its worker tells it; till that is there, as the places for its bag's tasks say."""
        if worker := self._workers.of(machine):
            return worker.size
        settings = self._runner.bag.settings
        offering = settings.offerings[self.engine.cluster_of(machine)]
        cpus = offering.slots * settings.task.cpus
        return Resources(cpus, offering.memory_bytes, offering.gpus)

    def join(self, machine: MachineId, places: int) -> None:
        worker = self._workers.of(machine)
        cluster = cluster_for(self._runner.bag, worker) if worker else None
        if worker is not None and cluster is not None:
            self._runner.machines.joined(worker, cluster, places)


def cluster_for(bag: Bag, worker: Worker) -> int | None:
    """The offering of a worker: the one it names, else the bag's for hand-started ones."""
    offerings = bag.settings.offerings
    if not worker.size.holds(bag.settings.task):
        return None
    if worker.offering:
        return next((k for k, o in enumerate(offerings) if o.name == worker.offering), None)
    by_hand = [k for k, offering in enumerate(offerings) if offering.backend == MANUAL]
    free = [k for k, offering in enumerate(offerings) if offering.free]
    return next(iter([*by_hand, *free]), None)


def _opened(bag: Bag) -> Opened:
    offerings = bag.settings.offerings
    unnamed = [""] if any(one.free or one.backend == MANUAL for one in offerings) else []
    takes = (*unnamed, *(str(one.name) for one in offerings))
    weight, priority, _ = bag.standing
    return Opened(bag.id, bag.user, weight, priority, takes, bag.settings.task)


def _places(bag: Bag) -> dict[int, Place]:
    return {
        k: Place(repr(place_of(one)), one.max_machines)
        for k, one in enumerate(bag.settings.offerings)
        if one.backend != MANUAL
    }
