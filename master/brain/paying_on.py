"""At the end of paid time: who is paid on, who stops, and when the run can only end."""

from bats.common.money import Money
from bats.master.brain import choosing, fleet, planning, sampling, tail, watching
from bats.master.brain.commands import BagOutcome
from bats.master.brain.deadline import cheapest_within
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.mix import Cluster
from bats.master.brain.outlook import outlook
from bats.master.brain.settings import Sampling
from bats.master.brain.state import MANUAL, Phase, Run


def due(run: Run, machines: list[Machine]) -> None:
    """Their paid time ends now: each is paid on or told to stop, the most profitable first."""
    if run.phase is Phase.EXECUTING and any(not m.offering.free for m in machines):
        watching.watch(run)

    def price_per_task(machine: Machine) -> tuple[float, int]:
        c = run.clusters[machine.cluster]
        mean = c.profile.mean_done if c.profile.count else 1.0
        offering = machine.offering
        return mean / offering.slots * offering.price / offering.atu_seconds, machine.id

    for machine in sorted(machines, key=price_per_task):
        if machine.state in (MachineState.STOPPING, MachineState.GONE):
            continue
        reason = _why_stop(run, machine)
        if reason:
            fleet.stop(run, machine, reason)
        elif not fleet.renew(run, machine):
            fleet.stop(run, machine, "the budget does not cover its next ATU")


def _why_stop(run: Run, machine: Machine) -> str:
    """Why this machine should not enter its next ATU; "" when it should."""
    if machine.offering.free and machine.state is not MachineState.SILENT:
        return "the bag has ended" if run.phase is Phase.ENDING else ""
    if machine.draining:
        return machine.draining
    if machine.leaving and not _runs_the_last(run, machine):
        return "not in the mix any more"
    if machine.state is MachineState.SILENT:
        return "not heard of; its next ATU is not paid"
    if machine.state is MachineState.REQUESTED:
        return "did not join within its first ATU"
    if run.phase is Phase.SAMPLING:
        return "" if sampling.keeps(run, machine) else "the sample does not need it longer"
    if run.phase is Phase.CHOOSING:
        return "no schedule has been chosen yet"
    if run.phase is not Phase.EXECUTING:
        return "the bag has ended"
    if run.tasks.waiting:
        if machine.nr or run.settings.sampling is Sampling.NONE:
            return ""
        done_by_others = outlook(run, run.planning_clusters()).N_e == 0
        return "paid time elsewhere does the rest" if done_by_others else ""
    if machine.active and (
        not planning.by_timetable(run)
        or _pays_for_all_that_runs(run)
        or any(tail.worth_paying(run, machine, task) for task in machine.active)
    ):
        return ""
    if machine.active:
        return "what it runs should end sooner elsewhere"
    return "idle at the end of its paid time"


def _pays_for_all_that_runs(run: Run) -> bool:
    """Whether every machine that runs a task or a copy could be paid one more ATU."""
    copies = (copy for copies in run.tasks.running.values() for copy in copies)
    return run.ledger.covers(
        Money(sum(run.machines[copy.machine].offering.price for copy in copies))
    )


def _runs_the_last(run: Run, machine: Machine) -> bool:
    """Nothing waits any more, and what runs here would have to begin anew elsewhere."""
    return planning.by_timetable(run) and not run.tasks.waiting and bool(machine.active)


def stuck(run: Run) -> None:
    """Nothing runs and nothing comes: try once more to buy machines, else end in good order."""
    if run.alive() or not run.tasks.unfinished:
        return
    if run.phase is Phase.SAMPLING:
        if sampling.restart(run):
            return
        if any(run.sample.observed if run.sample else ()):
            run.say("the sample ends early: no machine for it can be had or paid any more")
            choosing.sampled(run)
        else:
            run.phase = Phase.EXECUTING
    if run.phase is Phase.EXECUTING:
        if run.settings.sampling is Sampling.NONE:
            sampling.start_all(run)
        planning.replan(run, "no machines left")
        if run.alive():
            return
        if any(c.offering.backend == MANUAL for c in run.clusters):
            return  # its users may start one at any time
        clusters = run.planning_clusters(standing=False)
        left = run.tasks.unfinished
        if any(c.limit for c in clusters):
            words = f"{left} tasks are not done; {_price_of(run, clusters, left)}"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        elif any(c.startable for c in run.clusters):
            words = f"{left} tasks are not done; the budget does not pay for a sample of them"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        else:
            why = "; ".join(f"{c.offering.name}: {c.set_aside}" for c in run.clusters)
            run.end(BagOutcome.NO_MACHINES, f"{left} tasks are not done; {why}")


def _price_of(run: Run, clusters: tuple[Cluster, ...], N: int) -> str:
    cheapest = cheapest_within(clusters, N)
    if cheapest is None:
        return "no mix can finish them"
    need = Money(run.ledger.committed + cheapest.cost)
    cost = run.shown(cheapest.cost)
    return f"finishing them costs about {cost}: choose a budget of {run.shown(need)}"
