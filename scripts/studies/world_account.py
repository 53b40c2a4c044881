"""The money of a simulated run, from what the world saw: its events and its commands.

The engine's own books are not asked. Every machine and every attempt of a task is followed from
the command that began it to the event that ended it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from bats.common.billing import atus, charge
from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.protocol.commands import KillTask, RunTasks, StartMachines
from bats.master.brain.protocol.events import Charged, Ended, Gone, Joined, Returned
from bats.master.simulate.driver import History


class Fate(Enum):
    DONE = "done"  # the first result of its task
    LATE = "late"  # a result, but of a task that had one: a replica of the sample, or a copy
    COPY = "copy"  # cut short while another attempt of its task ran, or when one had ended
    STOPPED = "stopped"  # cut short; what it had done must be done again
    LEFT = "left"  # ran when the simulation ended


@dataclass(slots=True)
class Attempt:
    task: TaskId
    machine: MachineId
    begun: float
    ended: float = float("inf")
    fate: Fate = Fate.LEFT

    def before(self, at: float) -> float:
        """Seconds that it ran before then."""
        return max(0.0, min(self.ended, at) - self.begun)


@dataclass(slots=True)
class Uptime:
    """One machine, in the world's account."""

    machine: MachineId
    cluster: int
    asked: float
    since: float | None = None  # charged from then on; None: never
    joined: float | None = None
    until: float = float("inf")  # gone, or the end of the simulation
    why: str = ""
    attempts: list[Attempt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Account:
    offerings: tuple[Offering, ...]
    machines: tuple[Uptime, ...]
    ended_at: float

    @property
    def attempts(self) -> list[Attempt]:
        return [attempt for machine in self.machines for attempt in machine.attempts]

    @property
    def done(self) -> int:
        return sum(attempt.fate is Fate.DONE for attempt in self.attempts)

    def up_seconds(self, machine: Uptime) -> float:
        return 0.0 if machine.since is None else machine.until - machine.since

    def cost(self, machine: Uptime) -> Money:
        if machine.since is None:
            return Money(0)
        return charge(self.offerings[machine.cluster], self.up_seconds(machine))

    def paid_seconds(self, machine: Uptime) -> float:
        """The seconds that it was billed for: rounded up to ATUs, the minimum included."""
        if machine.since is None:
            return 0.0
        offering = self.offerings[machine.cluster]
        return atus(offering, self.up_seconds(machine)) * offering.atu_seconds

    @property
    def spent(self) -> Money:
        return Money(sum(self.cost(machine) for machine in self.machines))

    @property
    def paid(self) -> float:
        """Seconds."""
        return sum(self.paid_seconds(machine) for machine in self.machines)

    def ran(self, *fates: Fate) -> float:
        """Seconds that attempts of these fates ran."""
        return sum(a.ended - a.begun for a in self.attempts if a.fate in fates)

    @property
    def booting(self) -> float:
        """Seconds that were paid before machines joined."""
        return sum(
            (machine.until if machine.joined is None else machine.joined) - machine.since
            for machine in self.machines
            if machine.since is not None
        )

    @property
    def learned_by(self) -> float:
        """The time when the last task was begun at first: nothing is left to choose then."""
        firsts: dict[TaskId, float] = {}
        for attempt in self.attempts:
            firsts[attempt.task] = min(attempt.begun, firsts.get(attempt.task, float("inf")))
        return max(firsts.values(), default=0.0)

    def learning(self, chosen_at: float, worth: float, speeds: Sequence[float]) -> float:
        """Money for what was done only to learn, until the schedule was chosen.

        All that machines cost until then, less what the work that they did until then is worth.
        A machine's cost is spread evenly over its uptime: of an hour that was paid, the part after
        the choice is not for learning. Work that counts is that of attempts which came to be the
        first results of their tasks, also of those that still ran at the choice. It is worth what
        the kind that is cheapest for the work takes for it at its bare rate (`worth`: units of
        money for a second of speed 1). So replicas, stopped work, idleness, boot, what a minimum
        or an ATU adds, and the premium of dear kinds are all in it.
        """
        until = min(chosen_at, self.learned_by)
        cost = work = 0.0
        for machine in self.machines:
            up = self.up_seconds(machine)
            if machine.since is None or machine.since >= until:
                continue
            share = (min(machine.until, until) - machine.since) / up if up else 1.0
            cost += self.cost(machine) * share
            work += speeds[machine.cluster] * sum(
                attempt.before(until) for attempt in machine.attempts if attempt.fate is Fate.DONE
            )
        return max(0.0, cost - work * worth)


def account(history: History, offerings: tuple[Offering, ...], ended_at: float) -> Account:
    """From a history that was kept with its events."""
    machines: dict[MachineId, Uptime] = {}
    queues: dict[MachineId, list[TaskId]] = {}
    running: dict[MachineId, dict[TaskId, Attempt]] = {}
    by_task: dict[TaskId, list[Attempt]] = {}

    def advance(machine: MachineId, at: float) -> None:
        slots = offerings[machines[machine].cluster].slots
        while queues[machine] and len(running[machine]) < slots:
            task = queues[machine].pop(0)
            attempt = running[machine][task] = Attempt(task, machine, at)
            machines[machine].attempts.append(attempt)
            by_task.setdefault(task, []).append(attempt)

    def cut(attempt: Attempt, at: float) -> None:
        attempt.ended = at
        others = [other for other in by_task[attempt.task] if other is not attempt]
        spare = any(other.ended > at or other.fate is Fate.DONE for other in others)
        attempt.fate = Fate.COPY if spare else Fate.STOPPED

    for (at, event), commands in zip(history.events, history.commands, strict=False):
        match event:
            case Charged(machine, since):
                machines[machine].since = since
            case Joined(machine):
                machines[machine].joined = at
            case Ended(machine, endings):
                for ending in endings:
                    attempt = running[machine].pop(ending.task, None)
                    if attempt is None:  # killed before it began
                        continue
                    if ending.outcome is Outcome.DONE:
                        again = any(o.fate is Fate.DONE for o in by_task[ending.task])
                        attempt.ended, attempt.fate = at, Fate.LATE if again else Fate.DONE
                    else:
                        cut(attempt, at)
                advance(machine, at)
            case Returned(machine, tasks):
                for task in tasks:
                    if task in queues.get(machine, ()):
                        queues[machine].remove(task)
                    elif attempt := running.get(machine, {}).pop(task, None):  # it had not begun
                        machines[machine].attempts.remove(attempt)
                        by_task[task].remove(attempt)
                if machine in queues:
                    advance(machine, at)
            case Gone(machine):
                machines[machine].until, machines[machine].why = event.at, event.detail
                for attempt in running.pop(machine).values():
                    cut(attempt, event.at)
                del queues[machine]
        for command in commands:
            match command:
                case StartMachines(cluster, asked):
                    for machine in asked:
                        machines[machine] = Uptime(machine, cluster, at)
                        queues[machine], running[machine] = [], {}
                case RunTasks(machine, orders) if machine in queues:
                    queues[machine] += [task for task, _ in orders]
                    advance(machine, at)
                case KillTask(machine, task) if task in queues.get(machine, ()):
                    queues[machine].remove(task)
    for attempts in running.values():
        for attempt in attempts.values():
            attempt.ended = ended_at
    for uptime in machines.values():
        uptime.until = min(uptime.until, ended_at)
    return Account(offerings, tuple(machines.values()), ended_at)
