"""Moving towards a mix: missing machines are asked for, surplus ones leave when paid time ends.

A machine is bought only for tasks that it should begin before the others have begun them all.
"""

from bats.common.billing import atus_to_work
from bats.common.money import Money
from bats.common.units import counted, in_words
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.state import ClusterState, Plan, Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.planning.problem import Plan as Solution
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views.newcomers import tasks_of_new, without_a_task
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import Ahead, look_ahead


def adopt(run: Run, solution: Solution, view: Outlook, cause: str) -> None:
    """Make the mix so: surplus machines leave at the end of their paid ATUs, missing ones come."""
    before = tuple(len(run.pool.staying(k)) for k in range(len(run.clusters)))
    found = run.plan
    run.plan = Plan(solution.mix, view.N_e, solution.makespan_seconds, run.now)
    if solution.by_step:
        same = found is not None and found.by_step == solution.by_step
        run.plan.by_step = solution.by_step
        run.plan.done = found.done if found is not None and same else run.tasks.done
        run.follow(solution.by_step)
    for k, wanted in enumerate(solution.mix):
        c = run.clusters[k]
        staying = run.pool.staying(k)
        if not c.offering.free:
            _let_go(run, staying, len(staying) - wanted)
            _take_back(run, c, wanted - len(staying))
    missing = [max(0, wanted - len(run.pool.staying(k))) for k, wanted in enumerate(solution.mix)]
    for k, new in enumerate(_of_use(run, missing)):
        c = run.clusters[k]
        hiring.start(run, k, len(new))
        nr = atus_to_work(c.offering, solution.makespan_seconds)
        for machine in run.pool.staying(k):
            fresh = machine.requested_at == run.now and machine.state is MachineState.REQUESTED
            machine.nr = max(0, nr - machine.atus) if fresh else nr
    after = tuple(len(run.pool.staying(k)) for k in range(len(run.clusters)))
    if after != before:
        run.say(f"{cause}: {_mix_in_words(run, after)} for {what_for(run, view)}")


def follow(run: Run, ahead: Ahead, view: Outlook, cause: str) -> None:
    """Mark who stays and who leaves when paid time ends; ask for those who are to come."""
    before = tuple(len(run.pool.staying(k)) for k in range(len(run.clusters)))
    _mark(run, ahead)
    new = _of_use(run, [len(atus) for atus in _hired(run, ahead)])
    if ahead.hires and not any(new) and (without := look_ahead(run, hiring=False)) is not None:
        ahead = without
        _mark(run, ahead)
    worth = _worth(run, ahead, new) if any(new) else ""
    for k, (atus, tasks) in enumerate(zip(_hired(run, ahead), new, strict=True)):
        if hiring.start(run, k, len(tasks)):
            for machine in run.pool.living[k].values():
                if machine.requested_at == run.now and machine.state is MachineState.REQUESTED:
                    machine.nr = max(0, max(atus) - machine.atus)
    run.short_of_money = False
    after = tuple(len(run.pool.staying(k)) for k in range(len(run.clusters)))
    run.plan = Plan(after, view.N_e, ahead.table.end, run.now)
    if worth and after != before:  # who leaves may change until paid time ends
        what = counted(run.tasks.waiting, "task")
        run.say(f"{cause}: {_mix_in_words(run, after)} for {what}{worth}")
    call_off(run)


def call_off(run: Run) -> None:
    """Call off machines that cost nothing yet and would begin nothing any more.

    Where a strategy mixes two pools, machines come for copies too, of which none waits.
    """
    if run.replicator.pools() is not None:
        return
    for machine in without_a_task(run):
        hiring.stop(run, run.pool.machines[machine.id], "no task is left for it")


def _mark(run: Run, ahead: Ahead) -> None:
    end = ahead.table.end
    bought = _bought(ahead)
    for group, machines in ahead.pairs:
        if group.fresh:
            continue
        planned = bought.get(id(group), [0] * group.count)
        there = sorted((run.pool.machines[m.id] for m in machines), key=lambda m: (m.leaving, m.id))
        for machine, n in zip(there, planned, strict=True):
            machine.nr = n
            machine.leaving = n == 0 and group.paid < end and not group.offering.free


def _bought(ahead: Ahead) -> dict[int, list[int]]:
    """The ATUs that each machine of a group is paid on for."""
    bought: dict[int, list[int]] = {}
    for stay in ahead.table.stays:
        planned = bought.setdefault(id(stay.group), [0] * stay.group.count)
        planned[: stay.count] = [stay.atus] * stay.count
    return bought


def _hired(run: Run, ahead: Ahead) -> list[list[int]]:
    """The ATUs of each new machine, by their kinds; those that live the longest come first."""
    bought = _bought(ahead)
    hired: list[list[int]] = [[] for _ in run.clusters]
    for group, _ in ahead.pairs:
        if group.fresh:
            planned = sorted(bought.get(id(group), []), reverse=True)
            hired[group.cluster] += [atus for atus in planned if atus]
    return hired


def _of_use(run: Run, wanted: list[int]) -> list[list[int]]:
    """The tasks of each machine that is to be bought; those that would have none are not."""
    if not any(wanted):
        return [[] for _ in wanted]
    return [
        tasks if c.offering.free else [n for n in tasks if n]
        for c, tasks in zip(run.clusters, tasks_of_new(run, wanted), strict=True)
    ]


def _worth(run: Run, ahead: Ahead, new: list[list[int]]) -> str:
    """The tasks of the machines that are asked for, their price, and the time that they win."""
    hired = _hired(run, ahead)
    price = sum(
        sum(atus[: len(tasks)]) * c.offering.price
        for c, atus, tasks in zip(run.clusters, hired, new, strict=True)
    )
    machines, tasks = sum(map(len, new)), sum(map(sum, new))
    runs = "runs" if machines == 1 else "run"
    one = "a new one" if machines == 1 else f"{machines} new ones"
    said = f"; {one} for up to {run.shown(Money(price))} {runs} {tasks:,} of them"
    without = look_ahead(run, hiring=False)
    if without is None:
        return f"{said}, as those there cannot do it"
    won = without.ends - ahead.ends
    return (
        f"{said} and {runs.replace('run', 'make')} it end {in_words(won)} sooner"
        if won > 0
        else said
    )


def _let_go(run: Run, staying: list[Machine], surplus: int) -> None:
    """Call off machines not charged yet; then let go of those whose paid time ends first."""
    order = sorted(
        staying, key=lambda m: (m.charged_since is not None, m.paid_until(run.now), m.id)
    )
    for machine in order[: max(0, surplus)]:
        if machine.charged_since is None and machine.state is MachineState.REQUESTED:
            hiring.stop(run, machine, "not needed any more")
        else:
            machine.leaving = True
            machine.nr = 0


def _take_back(run: Run, c: ClusterState, missing: int) -> None:
    """Machines that were to leave can stay: they have started already."""
    leaving = [
        m for m in run.pool.living[c.index].values() if m.leaving and m.state is MachineState.UP
    ]
    leaving.sort(key=lambda m: (-m.paid_until(run.now), m.id))
    for machine in leaving[: max(0, missing)]:
        machine.leaving = False


def what_for(run: Run, view: Outlook) -> str:
    """The tasks that paid time does not do; when it does all that wait, those that run."""
    if view.N_e:
        return counted(view.N_e, "task")
    running = run.tasks.counts[TaskState.RUNNING]
    return "the last task that runs" if running == 1 else f"the last {running:,} tasks that run"


def _mix_in_words(run: Run, mix: tuple[int, ...]) -> str:
    parts = [f"{n} {c.offering.name}" for n, c in zip(mix, run.clusters, strict=True) if n]
    return " + ".join(parts) or "no machines"
