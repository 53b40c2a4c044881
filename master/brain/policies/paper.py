"""The paper's way: a mix for the mean of the sample, without room for error, paid ATU by ATU."""

from typing import Final

from bats.common.billing import charge
from bats.common.money import Money
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.room_for_error import Means
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.policies import mixes
from bats.master.brain.policies.by_atu import ByAtu
from bats.master.brain.policies.paid_time import PaidTime
from bats.master.brain.policies.provisioning import Aim, Provisioner
from bats.master.brain.views import prospects
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.readonly import RunView

EXACTLY: Final = (0.0,)


class Paper(Provisioner):
    time: PaidTime = ByAtu()
    room = 0.0
    samples = True
    learns_on = False

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        return mixes.plan(run, clusters, view, cause, EXACTLY)

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        return mixes.watch(run, clusters, view, EXACTLY)

    def most_for_money(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Mix:
        return mixes.most_of_the_best(run, clusters, view.N_e, lambda c: charge(c.offering, 0.0))

    def interval_seconds(self, run: RunView, shortest: float) -> float:
        return shortest

    def offered(self, run: RunView) -> tuple[Cluster, ...]:
        return run.planning_clusters()

    def allowed(self, run: RunView, schedule: Schedule, money: Money) -> Money:
        return money

    def least_money(self, run: RunView, room: float = 0.0) -> Money | None:
        return prospects.least_by_mix(run, room)

    def means(self, run: RunView) -> Means | None:
        return None
