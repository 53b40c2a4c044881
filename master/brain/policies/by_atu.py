"""ATU by ATU, as in the paper: paid time is worked through, then the plan says who is paid on."""

from dataclasses import replace

from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.policies.paid_time import Copies, PaidTime
from bats.master.brain.views.outlook import outlook
from bats.master.brain.views.readonly import ClusterView, MachineView, Phase, RunView, SampleView


class ByAtu(PaidTime):
    patience_seconds = 0.0

    def to_begin(self, run: RunView, machine: MachineView, *, paid_only: bool) -> float | None:
        executing = run.phase is Phase.EXECUTING
        return None if executing and _better_left_to_others(run, machine) else 0.0

    def to_sample(self, run: RunView, machine: MachineView) -> float | None:
        return 0.0

    def copies(self, run: RunView, machine: MachineView) -> Copies:
        return Copies.ANY

    def buys_work(self, run: RunView, machine: MachineView) -> bool:
        return True

    def why_stop(self, run: RunView, machine: MachineView) -> str:
        if machine.leaving:
            return "not in the mix any more"
        if run.phase is Phase.SAMPLING:
            return "" if _sample_keeps(run, machine) else "the sample does not need it longer"
        if run.phase is Phase.CHOOSING:
            return "no schedule has been chosen yet"
        if run.tasks.waiting:
            if machine.nr:
                return ""
            done_by_others = outlook(run, run.planning_clusters()).N_e == 0
            return "paid time elsewhere does the rest" if done_by_others else ""
        return "" if machine.active else "idle at the end of its paid time"

    def to_pay(self, run: RunView, machine: MachineView) -> float | None:
        return None

    def to_renew(self, run: RunView, machine: MachineView) -> float | None:
        return None

    def as_planned(self, cluster: ClusterView) -> Offering:
        """The paper takes all paid time for worked."""
        return replace(cluster.offering, boundary_seconds=0.0)

    def works_until(self, machine: MachineView, now: float) -> float:
        """The end of what is reserved: it is entered, and the paper knows no boundary."""
        return machine.paid_until(now)

    def entered(self, machine: MachineView, now: float) -> int:
        return machine.atus

    def spent(self, run: RunView) -> Money:
        return run.ledger.committed


def _better_left_to_others(run: RunView, machine: MachineView) -> bool:
    """True if a last task might not end here before the machine must go, and would elsewhere."""
    if run.tasks.waiting > sum(len(group) for group in run.pool.living):
        return False
    c = run.clusters[machine.cluster]
    if not c.profile.count or machine.stop_by(run.now) - run.now >= c.profile.longest:
        return False
    if not machine.leaving and run.ledger.covers(machine.offering.price):
        return False
    return outlook(run, run.planning_clusters(), without=machine).N_e == 0


def _sample_keeps(run: RunView, machine: MachineView) -> bool:
    """True if the sample needs this machine beyond its paid ATUs.

    It does while the machine runs a sample task, or when sample tasks are left and no other
    machine of the cluster stays; and one machine of the most profitable type goes on until the
    sample has its size.
    """
    sample = run.sample
    if sample is None:
        return False
    mine = sample.open[machine.cluster]
    if any(attempt.task in mine for attempt in machine.attempts()):
        return True
    others = [m for m in run.pool.staying(machine.cluster) if m is not machine]
    if sample.left[machine.cluster] and not others:
        return True
    return not others and machine.cluster == _most_profitable(run, sample)


def _most_profitable(run: RunView, sample: SampleView) -> int | None:
    """The cluster whose finished tasks have cost least money each, so far."""
    costs = []
    for c in run.clusters:
        if seen := sample.observed[c.index].values():
            mean = sum(seen) / len(seen)
            cost = mean / c.offering.slots * c.offering.price / c.offering.atu_seconds
            costs.append((cost, c.index))
    return min(costs)[1] if costs else None
