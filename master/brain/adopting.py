"""Moving towards a mix: missing machines are asked for, surplus ones leave when paid time ends."""

import math

from bats.master.brain import fleet
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.outlook import Outlook
from bats.master.brain.problem import Plan as Solution
from bats.master.brain.state import ClusterState, Plan, Run


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
        nr = math.ceil(solution.makespan_seconds / c.offering.atu_seconds * (1 - 1e-9))
        for machine in run.staying(k):
            fresh = machine.requested_at == run.now and machine.state is MachineState.REQUESTED
            machine.nr = max(0, nr - machine.atus) if fresh else nr
    after = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    if after != before:
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
