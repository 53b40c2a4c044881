"""Several bags in virtual time: an engine each, one household above them, common machines."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial

from bats.common.capacity.resources import Resources
from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId, MachineId
from bats.common.offering import MANUAL
from bats.common.records import dataclass
from bats.master.brain.books.machine import MachineState
from bats.master.brain.engine import Engine
from bats.master.brain.household.cap import Cap, starts, windows
from bats.master.brain.household.household import Household
from bats.master.brain.household.neighbours import Neighbours, Place
from bats.master.brain.household.notices import Answer, Notice, Opened, Spent
from bats.master.brain.household.placements import USUAL
from bats.master.brain.protocol.commands import Foretell
from bats.master.brain.protocol.events import Borrowed, Event, Foretold, Granted, Joined
from bats.master.brain.protocol.numbering import bag_of, before_first, by_hand
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import NEVER, Agenda, Conditions, Runtimes, Simulation


@dataclass(frozen=True, slots=True)
class Submission:
    """A bag, and when it comes."""

    settings: Settings
    runtimes: Runtimes
    at: float = 0.0
    user: str = ""
    weight: float = 1.0
    priority: int = 0
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True, slots=True)
class StartedByHand:
    """A common machine, and when it comes."""

    slots: int
    at: float = 0.0
    memory_bytes: int = 0
    gpus: int = 0

    @property
    def size(self) -> Resources:
        return Resources(self.slots, self.memory_bytes, self.gpus)


class Together:
    """Runs bags side by side; they are numbered from 1, common machines from `FIRST_COMMON`."""

    FIRST_COMMON = 500_001

    def __init__(
        self,
        bags: Sequence[Submission],
        machines: Sequence[StartedByHand] = (),
        sharing: str = "fair",
        *,
        seed: int = 0,
        keep_events: bool = False,
        check: bool = False,
        caps: Sequence[Cap] = (),
        epoch: float = 0.0,
        placement: str = USUAL,
        lending: bool = True,
        foretell: Callable[[Engine, Foretell], Foretold] | None = None,
    ) -> None:
        """`epoch` is when it begins, in seconds of the calendar; `foretell` is for foresight."""
        self.household = Household(sharing, placement_name=placement, lending=lending)
        self.bags: dict[BagId, Simulation] = {}
        self.notices: list[tuple[float, Notice]] = []
        self.answers: list[list[Answer]] = []
        self.slot_seconds: dict[BagId, float] = {}  # in which tasks ran on common machines
        self._submitted = {BagId(k): bag for k, bag in enumerate(bags, 1)}
        self._agenda = Agenda()
        self._now = 0.0
        self.epoch = epoch
        self._seed = seed
        self._keep, self._check = keep_events, check
        self._foretell = foretell
        self._neighbours = Neighbours(self.household, lambda: self.now, self._wake)
        if keep_events:
            self._neighbours.witness = self._note
        if caps:
            self.cap(*caps)
        for bag, submission in self._submitted.items():
            self._agenda.put(submission.at, partial(self._open, bag))
        for number, machine in enumerate(machines, self.FIRST_COMMON):
            came = partial(self._neighbours.came, MachineId(number), machine.size)
            self._agenda.put(machine.at, came)

    def run(self, until: float = NEVER) -> None:
        """Run until every bag is over."""
        left = len(self._submitted)
        while left and self._agenda.next_at < until:
            now, happen = self._agenda.next_at, self._agenda.take()
            self._pass(now - self._now)
            self._now = now
            happen()
            left = len(self._submitted) - sum(one.engine.over for one in self.bags.values())
            if self._check:
                self._check_books()

    def _pass(self, seconds: float) -> None:
        if not seconds:
            return
        for bag, simulation in self.bags.items():
            common = filter(by_hand, self._neighbours.machines)
            running = sum(simulation.running(machine) for machine in common)
            self.slot_seconds[bag] += running * seconds

    def _open(self, bag: BagId) -> None:
        submission = self._submitted[bag]
        settings = replace(submission.settings, numbers_after=before_first(bag))
        simulation = self.bags[bag] = Simulation(
            settings,
            submission.runtimes,
            submission.conditions,
            self._seed + bag,
            keep_events=self._keep,
            after_event=partial(self._look, bag),
            agenda=self._agenda,
            began=self._now,
            foretell=self._foretell,
        )
        self.slot_seconds[bag] = 0.0
        offerings = submission.settings.offerings
        takes = ("",) if any(one.backend == MANUAL for one in offerings) else ()
        opened = Opened(
            bag,
            submission.user,
            submission.weight,
            submission.priority,
            takes,
            submission.settings.task,
        )
        places = {
            k: Place(str(one.name), one.max_machines)
            for k, one in enumerate(offerings)
            if one.backend != MANUAL
        }
        self._neighbours.open((opened, _Door(self, simulation), places))
        simulation.begin()

    def _look(self, bag: BagId, engine: Engine) -> None:
        if engine.over:
            self._neighbours.close(bag)
        else:
            self._neighbours.look(bag)
        for machine in self._neighbours.machines:
            known = engine.machine(machine)
            if known is not None and known.state is MachineState.GONE:
                self._neighbours.left(bag, machine)

    def _wake(self, at: float) -> None:
        self._agenda.put(at - self.epoch, self._neighbours.time_passed)

    def _note(self, now: float, notice: Notice, answers: list[Answer]) -> None:
        self.notices.append((now, notice))
        self.answers.append(answers)

    def _check_books(self) -> None:
        self.household.check()
        if self._agenda.next_at <= self._now:
            return  # what is killed now is yet to end
        for machine, size in self._neighbours.machines.items():
            running = [
                (one.running(machine), one.settings.task)
                for bag, one in self.bags.items()
                if bag != bag_of(machine)  # the size is what that leaves
            ]
            cpus = sum(count * task.cpus for count, task in running)
            memory = sum(count * task.memory_bytes for count, task in running)
            gpus = sum(count * task.gpus for count, task in running)
            taken = Resources(cpus, memory if size.memory_bytes else 0, gpus)
            if size.lacks(taken):
                raise BrokenInvariantError(f"tasks take {taken} of a machine of {size}")

    def place(self, placement: str) -> None:
        """Let the placement of this name decide from now on."""
        self._neighbours.place(placement)

    @property
    def now(self) -> float:
        """By the calendar."""
        return self.epoch + self._now

    def cap(self, *caps: Cap) -> None:
        """Let these caps stand from now on."""
        since = starts(windows(caps, self.now).values())
        ended = [bag for bag, one in self.bags.items() if one.engine.over]
        self._neighbours.cap(caps, [self._spent(bag, since) for bag in ended])

    def _spent(self, bag: BagId, since: Sequence[float]) -> Spent:
        one = self.bags[bag]
        began = self.epoch + one.began
        by_window = tuple((at, one.engine.committed_since(at - began)) for at in since)
        return Spent(bag, self._submitted[bag].user, one.settings.currency, by_window)


class _Door:
    """The way to one simulated bag."""

    def __init__(self, world: Together, simulation: Simulation) -> None:
        self._world = world
        self._simulation = simulation

    @property
    def engine(self) -> Engine:
        return self._simulation.engine

    @property
    def began(self) -> float:
        return self._world.epoch + self._simulation.began

    def deliver(self, event: Event) -> None:
        if self.engine.over:
            return
        if isinstance(event, Granted):
            self._simulation.put(event.machine, 0, event.slots)
        elif isinstance(event, Borrowed):
            self._simulation.put(event.machine, event.cluster, event.slots)
        self._simulation.deliver(event, self._world.now - self.began)

    def size(self, machine: MachineId) -> Resources:
        """As many CPUs as its tasks take that have room there."""
        settings = self._simulation.settings
        offering = settings.offerings[self.engine.cluster_of(machine)]
        cpus = offering.slots * settings.task.cpus
        return Resources(cpus, offering.memory_bytes, offering.gpus)

    def join(self, machine: MachineId, places: int) -> None:
        offerings = self._simulation.settings.offerings
        cluster = next(k for k, one in enumerate(offerings) if one.backend == MANUAL)
        self._simulation.put(machine, cluster, places)
        self.deliver(Joined(machine, places, (), cluster))
