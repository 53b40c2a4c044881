"""Moving towards a mix: missing machines are asked for, surplus ones leave when paid time ends."""

from bats.common.billing import atus_to_work
from bats.common.units import counted
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.state import ClusterState, Plan, Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.planning.problem import Plan as Solution
from bats.master.brain.rules import fleet
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import Ahead


def adopt(run: Run, solution: Solution, view: Outlook, cause: str) -> None:
    """Make the mix so: surplus machines leave at the end of their paid ATUs, missing ones come."""
    before = tuple(len(run.pool.staying(k)) for k in range(len(run.clusters)))
    run.plan = Plan(solution.mix, view.N_e, solution.makespan_seconds, run.now)
    for k, wanted in enumerate(solution.mix):
        c = run.clusters[k]
        staying = run.pool.staying(k)
        if not c.offering.free:
            _let_go(run, staying, len(staying) - wanted)
            _take_back(run, c, wanted - len(staying))
        fleet.start(run, k, wanted - len(run.pool.staying(k)))
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
    end = ahead.table.end
    bought: dict[int, list[int]] = {}
    for stay in ahead.table.stays:
        planned = bought.setdefault(id(stay.group), [0] * stay.group.count)
        planned[: stay.count] = [stay.atus] * stay.count
    for group, machines in ahead.pairs:
        planned = bought.get(id(group), [0] * group.count)
        if group.fresh:
            wanted = sum(n > 0 for n in planned)
            fleet.start(run, group.cluster, wanted)
            for machine in run.pool.living[group.cluster].values():
                if machine.requested_at == run.now and machine.state is MachineState.REQUESTED:
                    machine.nr = max(0, max(planned, default=0) - machine.atus)
            continue
        there = sorted((run.pool.machines[m.id] for m in machines), key=lambda m: (m.leaving, m.id))
        for machine, n in zip(there, planned, strict=True):
            machine.nr = n
            machine.leaving = n == 0 and group.paid < end and not group.offering.free
    run.short_of_money = False
    after = tuple(len(run.pool.staying(k)) for k in range(len(run.clusters)))
    run.plan = Plan(after, view.N_e, end, run.now)
    if ahead.hires and after != before:  # who leaves may change until paid time ends
        run.say(f"{cause}: {_mix_in_words(run, after)} for {what_for(run, view)}")


def _let_go(run: Run, staying: list[Machine], surplus: int) -> None:
    """Call off machines not charged yet; then let go of those whose paid time ends first."""
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
