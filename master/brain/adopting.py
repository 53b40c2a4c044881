"""Moving towards a mix: missing machines are asked for, surplus ones leave when paid time ends."""

import math
from dataclasses import dataclass

from bats.common.billing import atus_to_work
from bats.master.brain import fleet
from bats.master.brain.estimate import Estimate
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.outlook import Outlook
from bats.master.brain.problem import Plan as Solution
from bats.master.brain.state import ClusterState, Plan, Run
from bats.master.brain.timetable import Group, Timetable


def adopt(run: Run, solution: Solution, view: Outlook, cause: str) -> None:
    """Make the mix so: surplus machines leave at the end of their paid ATUs, missing ones come."""
    before = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    run.plan = Plan(solution.mix, view.N_e, solution.makespan_seconds, run.now)
    for k, wanted in enumerate(solution.mix):
        c = run.clusters[k]
        staying = run.staying(k)
        if not c.offering.free:
            _let_go(run, staying, len(staying) - wanted)
            _take_back(run, c, wanted - len(staying))
        fleet.start(run, k, wanted - len(run.staying(k)))
        nr = atus_to_work(c.offering, solution.makespan_seconds)
        for machine in run.staying(k):
            fresh = machine.requested_at == run.now and machine.state is MachineState.REQUESTED
            machine.nr = max(0, nr - machine.atus) if fresh else nr
    after = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    if after != before:
        run.say(f"{cause}: {_mix_in_words(run, after)} for {view.N_e} tasks")


Supply = tuple[Group, list[Machine]]
"""Machines alike to a timetable; those still to be asked for are only counted."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A timetable, and the machines that its groups stand for."""

    table: Timetable
    pairs: list[Supply]
    room: float  # for error, in standard deviations
    noise: float  # the relative error of its end

    @property
    def ends(self) -> float:
        """When the last task is done: one begun at the end, or one that runs for long already."""
        return max(self.table.end, *(group.last for group, _ in self.pairs))

    @property
    def hires(self) -> bool:
        return any(stay.group.fresh for stay in self.table.stays)


def supplies(run: Run, by_now: Estimate, *, hiring: bool) -> list[Supply]:
    """Machines that are there, by when their paid time ends, and those that could be had."""
    found: list[Supply] = []
    for c in run.known():
        offering = c.offering
        T = c.profile.mean_done * by_now.longer
        by_end: dict[tuple[int, bool], list[Machine]] = {}
        for machine in run.living[c.index].values():
            if machine.state in (MachineState.UP, MachineState.REQUESTED):
                coming = machine.charged_since is None
                end = round(machine.stop_by(run.now) - run.now)
                by_end.setdefault((end, coming), []).append(machine)
        for (_, coming), machines in by_end.items():
            wait = 0.0
            if coming:
                asked = min(m.requested_at for m in machines)
                wait = max(0.0, asked + c.start_seconds - run.now)
            paid = min(m.stop_by(run.now) for m in machines) - run.now + wait
            scale = by_now.residual.mean / T
            running = [a for m in machines for a in m.active.values()]
            taus = [run.now - a.since for a in running]
            left = [
                by_now.residual.lasts(max(tau * scale, run.outlasted(a.task))) / scale - tau
                for a, tau in zip(running, taus, strict=True)
            ]
            unfit = sum((e + tau) / T for e, tau in zip(left, taus, strict=True) if e > paid)
            n = len(machines)
            ready = wait + sum(left) / (n * offering.slots)
            last = max(left, default=0.0)
            group = Group(c.index, offering, n, T, ready, paid, unfit=unfit / n, last=last)
            found.append((group, machines))
        room = min(
            offering.max_machines - len(run.living[c.index]),
            math.ceil(run.tasks.waiting / offering.slots),
        )
        if hiring and c.startable and not offering.free and room > 0:
            wait, first = c.start_seconds, run.first_term(offering)
            paid = wait - offering.boundary_seconds
            found.append((Group(c.index, offering, room, T, wait, paid, first, fresh=True), []))
    return found


def follow(run: Run, ahead: Ahead, view: Outlook, cause: str) -> None:
    """Mark who stays and who leaves when paid time ends; ask for those who are to come."""
    before = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    end = ahead.table.end
    atus: dict[int, list[int]] = {}
    for stay in ahead.table.stays:
        planned = atus.setdefault(id(stay.group), [0] * stay.group.count)
        planned[: stay.count] = [stay.atus] * stay.count
    for group, machines in ahead.pairs:
        planned = atus.get(id(group), [0] * group.count)
        if group.fresh:
            wanted = sum(n > 0 for n in planned)
            fleet.start(run, group.cluster, wanted)
            for machine in run.living[group.cluster].values():
                if machine.requested_at == run.now and machine.state is MachineState.REQUESTED:
                    machine.nr = max(0, planned[0] - machine.atus)
            continue
        machines.sort(key=lambda m: (m.leaving, m.id))
        for machine, n in zip(machines, planned, strict=True):
            machine.nr = n
            machine.leaving = n == 0 and group.paid < end and not group.offering.free
    run.short_of_money = False
    after = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    run.plan = Plan(after, view.N_e, end, run.now)
    if ahead.hires and after != before:  # who leaves may change until paid time ends
        run.say(f"{cause}: {_mix_in_words(run, after)} for {view.N_e} tasks")


def _let_go(run: Run, staying: list[Machine], surplus: int) -> None:
    """Those not charged yet are called off; then those whose paid time ends first."""
    order = sorted(
        staying, key=lambda m: (m.charged_since is not None, m.paid_until(run.now), m.id)
    )
    for machine in order[: max(0, surplus)]:
        if machine.charged_since is None and machine.state is MachineState.REQUESTED:
            fleet.stop(run, machine, "not needed any more")
        else:
            machine.leaving = True
            machine.nr = 0


def _take_back(run: Run, c: ClusterState, missing: int) -> None:
    """Machines that were to leave can stay: they have started already."""
    leaving = [m for m in run.living[c.index].values() if m.leaving and m.state is MachineState.UP]
    leaving.sort(key=lambda m: (-m.paid_until(run.now), m.id))
    for machine in leaving[: max(0, missing)]:
        machine.leaving = False


def _mix_in_words(run: Run, mix: tuple[int, ...]) -> str:
    parts = [f"{n} {c.offering.name}" for n, c in zip(mix, run.clusters, strict=True) if n]
    return " + ".join(parts) or "no machines"
