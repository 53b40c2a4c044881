"""Cost-blind: every machine that can be had, from the beginning; first come, first served.

Machines of two pools are no less so, but a strategy says how many of them there are.
"""

from bats.master.brain.planning.mix import Cluster
from bats.master.brain.policies.by_atu import ByAtu
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.investing import Investing
from bats.master.brain.policies.paid_time import PaidTime
from bats.master.brain.policies.paper import Paper
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.readonly import ClusterView, MachineView, RunView


class _HeldToTheEnd(Investing):
    def why_stop(self, run: RunView, machine: MachineView) -> str:
        return "" if machine.active else super().why_stop(run, machine)


class _HeldWhileTasksWait(ByAtu):
    def why_stop(self, run: RunView, machine: MachineView) -> str:
        waits = run.tasks.waiting and not machine.leaving
        return "" if waits else super().why_stop(run, machine)


class CostBlind(ByTimetable):
    time: PaidTime = _HeldToTheEnd()
    samples = False

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        return None


class CostBlindByAtu(Paper):
    time: PaidTime = _HeldWhileTasksWait()
    samples = False

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        return None


class ByStrategy(CostBlind):
    """The strategy of the tail says how many machines of which pool there are."""

    def at_first(self, cluster: ClusterView) -> int:
        return 0

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        return None

    def interval_seconds(self, run: RunView, shortest: float) -> float:
        """Late instances are noticed then."""
        known = [c.profile.mean_done for c in run.known()]
        return max(1.0, min(known) / 64) if known else shortest
