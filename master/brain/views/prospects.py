"""Prospects: the machines there are, those that may come, and the soonest end they make.

Nothing here changes the books: rules ask, and act.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bats.common.billing import first_atus
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.learning.sample_size import DELTA, sample_size
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import Plan as Solution
from bats.master.brain.planning.problem import Problem, all_machines
from bats.master.brain.planning.room_for_error import Means
from bats.master.brain.planning.schedules import CHEAPEST, FASTEST
from bats.master.brain.planning.timetable import UNCOUNTED, Errand, Group, Timetable, cheapest_kinds
from bats.master.brain.views import investments
from bats.master.brain.views.estimate import Estimate, estimate, typical_seconds
from bats.master.brain.views.outlook import Outlook, outlook
from bats.master.brain.views.readonly import ClusterView, MachineState, MachineView, RunView

ALIKE: Final = 32
"""Machines whose paid time ends within such a part of a task are looked at as one."""

Supply = tuple[Group, list[MachineView]]
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
        """The end of the last task: one begun at the end, or one that runs for long already."""
        return max(self.table.end, *(group.last for group, _ in self.pairs))

    @property
    def hires(self) -> bool:
        return any(stay.group.fresh for stay in self.table.stays)


def money_left(run: RunView) -> Money:
    """The money that a plan may count on: the cushion is not for planning with."""
    left = run.ledger.left
    return UNCOUNTED if left is None else left


def can_hire(run: RunView) -> bool:
    """True if machines of a known kind may be bought."""
    return any(c.startable and not c.offering.free for c in run.known())


SHARE_OF_STARTS: Final = 5
"""One part in so many of the money may go into starts of machines while little is known."""


def look_ahead(run: RunView, *, hiring: bool = True) -> Ahead | None:
    """The soonest end with room for error if the money allows, with less room if it does not.

    With less room, or while little is known, nothing but the cheapest kind of machine is begun:
    it would be needed anyway. Where a price was told and chosen, both are in it: for the fastest
    its machines are begun at once, and for the cheapest no dear ones with what it has to spare.
    """
    by_now = estimate(run)
    supply = supplies(run, by_now, hiring=hiring)
    cheap = _no_dear_ones_begun(supply)
    told = price_was_told(run)
    sampled = run.canonical.count >= sample_size(len(run.tasks)) and by_now.noise <= DELTA
    if not sampled and not told:
        cheap = [(_few(run, g), machines) for g, machines in cheap]
    elif len(cheap) < len(supply) and not (told and run.choice.name == CHEAPEST):
        room = 0.0 if told and run.choice.name == FASTEST else run.provisioner.room
        table = means(run, by_now, supply, money_left(run)).table(room)
        if table is not None:
            return Ahead(table, supply, room, by_now.noise)
    kept = means(run, by_now, cheap, money_left(run)).kept()
    if kept is None:
        return None
    room, table = kept
    return Ahead(table, cheap, room, by_now.noise)


def price_was_told(run: RunView) -> bool:
    """True if what may be spent is what was told of the schedule that was chosen."""
    choice = run.choice
    told = choice.told is not None or is_run_ahead(run)
    return told and bool(choice.name) and choice.budget is None and choice.deadline_at is None


def is_run_ahead(run: RunView) -> bool:
    """True of a copy, which is to find out what is told."""
    return run.choice.offered is not None and not run.settings.foresight


def means(run: RunView, by_now: Estimate, supply: Sequence[Supply], money: Money) -> Means:
    """The means for what is to be done yet."""
    errand = Errand(by_now.waiting, (1 + by_now.spread**2) / 2, by_now.residual)
    groups = tuple(group for group, _ in supply)
    return Means(groups, errand, by_now.noise, money, run.provisioner.room)


def _few(run: RunView, group: Group) -> Group:
    if not group.fresh:
        return group
    c = run.clusters[group.cluster]
    most = max(affordable_starts(run, c), 0 if run.pool.staying(c.index) else 1)
    return replace(group, count=min(group.count, most))


def affordable_starts(run: RunView, c: ClusterView) -> int:
    """The number of new machines that a share of the money may start: a start is lost for good."""
    limit = run.ledger.limit
    start = c.boot_seconds * c.offering.price / c.offering.atu_seconds
    if not start or limit is None:
        return c.offering.max_machines
    lost = sum(
        other.boot_seconds * other.offering.price / other.offering.atu_seconds
        for other in run.clusters
        for machine in run.pool.machines.values()
        if machine.cluster == other.index
    )
    return max(0, int((limit / SHARE_OF_STARTS - lost) / start))


def _no_dear_ones_begun(supply: list[Supply]) -> list[Supply]:
    cheap = cheapest_kinds([group for group, _ in supply], DELTA)
    return [(g, machines) for g, machines in supply if not g.fresh or g.cluster in cheap]


def least_by_timetable(run: RunView, room: float = 0.0) -> Money | None:
    """The least cost of a timetable with so much room for error, within a hundredth."""
    by_now = estimate(run)
    cheap = _no_dear_ones_begun(supplies(run, by_now, hiring=True))

    def suffices(money: int) -> bool:
        return means(run, by_now, cheap, Money(money)).table(room) is not None

    if not suffices(UNCOUNTED):
        return None
    short, enough = 0, max(1, run.ledger.committed)
    while not suffices(enough):
        short, enough = enough, 2 * enough
    while enough - short > enough // 100:
        middle = (short + enough) // 2
        if suffices(middle):
            enough = middle
        else:
            short = middle
    return Money(enough)


def most_by_timetable(run: RunView, room: float) -> Money | None:
    """The cost of the soonest end there is, with so much room for error."""
    by_now = estimate(run)
    supply = supplies(run, by_now, hiring=True)
    table = means(run, by_now, supply, UNCOUNTED).table(room)
    return None if table is None else table.needed


def least_by_mix(
    run: RunView, room: float = 0.0, *, deadline_seconds: float | None = None
) -> Money | None:
    """The least cost of a mix that finishes with so much room for error, by the deadline."""
    clusters = run.planning_clusters()
    tasks = outlook(run, clusters).N_e * (1 + room * estimate(run).noise)
    left = math.inf
    if deadline_seconds is not None:
        left = max(1e-3, run.began_at + deadline_seconds - run.now)
    problem = Problem(clusters, tasks, all_machines(clusters, tasks).cost, left)
    found = run.planner.cheapest(problem)
    return None if found is None else found.cost


def solve(
    run: RunView, clusters: tuple[Cluster, ...], view: Outlook, shares: Sequence[float]
) -> Solution | None:
    """The first of these shares of the room for error that the money allows."""
    for share in shares:
        solution = _solve_with_room(run, clusters, view, share)
        if solution is not None:
            return solution
    return None


def _solve_with_room(
    run: RunView, clusters: tuple[Cluster, ...], view: Outlook, share: float
) -> Solution | None:
    """Room for three things that the formulas of the paper leave out.

    The mean runtime is known with an error of spread/√n. A slot wastes, when its paid time ends,
    what it has spent on a task that did not fit: half a task and more, (1 + spread²)/2. And an
    outlier at the very end may need one more ATU of its machine.
    """
    known = run.canonical
    if not share or known.count < 2:
        return _solve_exactly(run, Problem(clusters, view.N_e, money_left(run)))
    reserve = share * max(c.offering.price for c in clusters if c.limit)
    money = Money(max(0, money_left(run) - int(reserve)))
    error = share * run.provisioner.room / 2 * known.spread / math.sqrt(known.count)
    waste = share * (1 + known.spread**2) / 2
    tasks = view.N_e * (1 + error)
    solution: Solution | None = None
    for _ in range(3):  # the waste depends on the mix, the mix on the waste
        mix = solution.mix if solution else (0,) * len(clusters)
        slots = sum(
            count * c.offering.slots
            for count, c in zip(mix, clusters, strict=True)
            if not c.offering.free
        )
        solution = _solve_exactly(run, Problem(clusters, math.ceil(tasks + waste * slots), money))
        if solution is None:
            return None
    return solution


def _solve_exactly(run: RunView, problem: Problem) -> Solution | None:
    if run.choice.deadline_at is not None:
        left = max(1e-3, run.choice.deadline_at - run.now)
        within = run.planner.cheapest(replace(problem, deadline_seconds=left))
        if within is not None and within.cost <= problem.budget:
            return within
    return run.planner.fastest(problem)


def supplies(run: RunView, by_now: Estimate, *, hiring: bool) -> list[Supply]:
    """Machines that are there, by when their paid time ends, and those that could be had."""
    found: list[Supply] = []
    for c in run.known():
        offering = c.offering
        T = typical_seconds(run, c) * by_now.longer
        by_end: dict[tuple[int, bool], list[tuple[MachineView, int]]] = {}
        fine = max(1.0, T / ALIKE)
        for machine in run.pool.living[c.index].values():
            if machine.state in (MachineState.UP, MachineState.REQUESTED):
                coming = machine.joined_at is None
                held = _held_atus(run, machine)
                end = machine.stop_by(run.now) - run.now + held * offering.atu_seconds
                by_end.setdefault((round(end / fine), coming), []).append((machine, held))
        for (_, coming), pairs in by_end.items():
            machines = [machine for machine, _ in pairs]
            wait = unbilled = 0.0
            if coming:
                asked = min(m.requested_at for m in machines)
                wait = max(0.0, asked + c.start_seconds - run.now)
                unbilled = max(0.0, wait - c.boot_seconds)
            paid = unbilled + min(
                m.stop_by(run.now) - run.now + held * offering.atu_seconds for m, held in pairs
            )
            scale = by_now.residual.mean / T
            running = [a for m in machines for a in m.active.values()]
            taus = [run.now - a.since for a in running]
            if run.foreseen is not None:
                lengths = (
                    investments.length(run, m, a) for m in machines for a in m.active.values()
                )
                left = [(whole or 0.0) - tau for whole, tau in zip(lengths, taus, strict=True)]
            else:
                left = [
                    by_now.residual.lasts(max(tau * scale, run.outlasted(a.task))) / scale - tau
                    for a, tau in zip(running, taus, strict=True)
                ]
            n = len(machines)
            owed = Money(sum(held for _, held in pairs) * offering.price // n)
            unfit = (
                0.0
                if owed
                else sum((e + tau) / T for e, tau in zip(left, taus, strict=True) if e > paid)
            )
            ready = wait + sum(left) / (n * offering.slots)
            last = max(left, default=0.0)
            group = Group(
                c.index, offering, n, T, ready, paid, unfit=unfit / n, last=last, owed=owed
            )
            found.append((group, machines))
        room = min(
            offering.max_machines - len(run.pool.living[c.index]),
            math.ceil(_could_be_used(run, c) / offering.slots),
        )
        if hiring and c.startable and not offering.free and room > 0:
            wait, first = c.start_seconds, first_atus(offering)
            paid = wait - c.boot_seconds - offering.boundary_seconds
            found.append((Group(c.index, offering, room, T, wait, paid, first, fresh=True), []))
    return found


def _could_be_used(run: RunView, c: ClusterView) -> int:
    """The tasks for which new machines of a kind may have a slot soon.

    Those of a workflow that only become ready later want machines later.
    """
    if run.settings.graph is None:
        return run.tasks.waiting
    there = sum(m.slots for m in run.pool.living[c.index].values() if m.staying)
    more = (c.offering.max_machines - len(run.pool.living[c.index])) * c.offering.slots
    return max(0, run.tasks.soon_at_once(there + max(0, more)) - there)


def _held_atus(run: RunView, machine: MachineView) -> int:
    """The number of ATUs that will be reserved for what it runs, because it is held to its end."""
    if machine.offering.free or not investments.worth_holding(run, machine):
        return 0
    busy = investments.busy_seconds(run, machine)
    return max(0, investments.atus_until(run, machine, busy) - machine.atus)
