"""The twin of a pool in virtual time: the same brain, workflows that sleep, machines that boot."""

import heapq
import math
import random
from collections.abc import Sequence
from itertools import count
from typing import Final

from bats.common.capacity.pool_rules import Pool
from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placer import Busy
from bats.master.brain.pools.pool_events import Command, Event, Formed, Looked
from bats.master.brain.pools.pool_load import LoadView
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.commands import StartMachines, StopMachine, WakeAt
from bats.master.brain.protocol.events import Cause, Charged, Gone, Joined
from bats.master.brain.scaling.scalers import scaler
from bats.master.simulate.workflows.generated import Generated

Curve = list[tuple[float, float]]

_FIRST: Final = MachineId(1)


@dataclass(frozen=True, slots=True)
class Measured:
    """What processes need, in seconds, as it was seen live."""

    charged: float  # from being asked for to being charged
    boot: float  # and to being able to work
    boot_beside: float  # a machine boots longer by that for each that boots with it
    leave: float  # from the word to end until a machine is gone
    overhead: float  # of a task
    handover: float  # until a task begins that could, on a machine that is free
    looks_at: float  # the first look


class Twin:
    """One run, until all workflows have ended."""

    def __init__(
        self,
        rules: Pool,
        drawn: Sequence[tuple[float, Generated]],
        measured: Measured,
        seed: int = 0,
    ) -> None:
        self.pool = StandingPool(_FIRST)
        self.demand: Curve = []
        self.supply: Curve = []
        self.busy: Curve = []
        self.now = 0.0
        self._rules = rules
        self._scaler = scaler(rules.scaler)
        self._measured = measured
        self._handed: set[MachineId] = set()  # a task is on its way there
        more = measured.overhead
        self._works = [
            (at, Workflow(neighbours(one.graph), tuple(each + more for each in one.seconds)))
            for at, one in drawn
        ]
        self._known: dict[int, list[float]] = {}  # runtimes that have ended, of each workflow
        self._rng = random.Random(seed)
        self._present: list[Present] = []
        self._running: dict[MachineId, tuple[Present, int, float]] = {}
        self._queue: list[tuple[float, int, str, int]] = []
        self._order = count()
        for number, (at, _) in enumerate(self._works):
            self._put(at, "comes", number)
        self._put(measured.looks_at, "look")

    def run(self) -> "Twin":
        self._tell(Formed(self._rules, _FIRST))
        left = len(self._works)
        while left:
            self.now, _, what, number = heapq.heappop(self._queue)
            if what == "comes":
                workflow = self._works[number][1]
                self._present.append(Present(number, workflow, self.now))
            elif what == "charged":
                self._tell(Charged(MachineId(number), self.now))
            elif what == "joins":
                self._tell(Joined(MachineId(number), 1, (), 0))
            elif what == "ends":
                left -= self._end(MachineId(number))
            elif what == "begins":
                self._handed.discard(MachineId(number))
            elif what == "leaves":
                self._tell(Gone(MachineId(number), self.now, Cause.STOPPED))
            elif what == "look":
                self._look()
                self._put(self.now + self._rules.interval_seconds, "look")
            else:
                self._say(None)
            self._fill()
            self._note()
        return self

    def _put(self, at: float, what: str, number: int = 0) -> None:
        heapq.heappush(self._queue, (at, next(self._order), what, number))

    def _tell(self, event: Event) -> None:
        for command in self.pool.handle(event, self.now):
            self._obey(command)

    def _obey(self, command: Command) -> None:
        match command:
            case StartMachines(_, machines):
                known = self._measured
                boot = known.boot + known.boot_beside * (len(machines) - 1)
                for machine in machines:
                    self._put(self.now + known.charged, "charged", machine)
                    self._put(self.now + max(known.charged, boot), "joins", machine)
            case StopMachine(machine, _):
                self._put(self.now + self._measured.leave, "leaves", machine)
            case WakeAt(at):
                self._put(at, "wakes")
            case _:
                pass

    def _look(self) -> None:
        busy = [
            Busy(machine, workflow, task, max(until, self.now))
            for machine, (workflow, task, until) in self._running.items()
        ]
        self.pool.now = self.now
        view = LoadView(self.pool, (), list(self._present), busy, [0])
        view.demand = self._wanted
        self._say(view.in_machines(self._scaler.want(view)))

    def _say(self, want: tuple[int, ...] | None) -> None:
        self._tell(Looked(self._wanted, tuple(sorted(self._running)), self._task_seconds, want))

    @property
    def _task_seconds(self) -> float:
        """As the master says it: the quantile of what is known of each bag, the longest of them."""
        known = (sorted(self._known.get(one.number, ())) for one in self._present)
        share = self._rules.quantile
        return max((one[min(len(one) - 1, int(share * len(one)))] for one in known if one),
                   default=0.0)  # fmt: skip

    @property
    def _wanted(self) -> int:
        return sum(one.eligible for one in self._present)

    def _end(self, machine: MachineId) -> int:
        """The number of workflows that end with its task."""
        workflow, task, _ = self._running.pop(machine)
        workflow.end(task)
        seconds = workflow.workflow.estimates[task]
        self._known.setdefault(workflow.number, []).append(seconds)
        if workflow.over:
            self._present.remove(workflow)
        return int(workflow.over)

    def _fill(self) -> None:
        free = [
            one.id
            for one in self.pool.alive()
            if one.joined_at is not None and one.counts and one.takes
            and one.id not in self._running
        ]  # fmt: skip
        self._rng.shuffle(free)  # as slots go round among bags
        for workflow in self._present:
            while free and workflow.waiting:
                task = workflow.first_in_breadth()
                machine = free.pop()
                workflow.start(task, self.now)
                begins = self.now + self._measured.handover
                until = begins + workflow.workflow.estimates[task]
                self._running[machine] = workflow, task, until
                self._handed.add(machine)
                self._put(begins, "begins", machine)
                self._put(until, "ends", machine)

    def _note(self) -> None:
        self.demand.append((self.now, float(self._wanted)))
        there = sum(one.slots for one in self.pool.alive() if one.joined_at is not None)
        self.supply.append((self.now, float(there)))
        self.busy.append((self.now, float(len(self._running) - len(self._handed))))

    @property
    def charged_hours(self) -> float:
        """Machine hours of all ATUs that were entered."""
        atu = self._rules.kinds[0].atu_seconds
        entered = sum(
            one.entered_until(self.now) if one.alive else one.settled
            for one in self.pool.machines.values()
        )
        return math.fsum([entered * atu / 3600])
