"""Cost-blind: every machine that can be had, from the beginning; first come, first served."""

from bats.master.brain.planning.mix import Cluster
from bats.master.brain.policies.by_atu import ByAtu
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.investing import Investing
from bats.master.brain.policies.paid_time import PaidTime
from bats.master.brain.policies.paper import Paper
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.readonly import MachineView, RunView


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
