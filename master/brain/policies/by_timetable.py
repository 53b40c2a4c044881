"""A provisioner by timetable: for every machine whether it stays, for the soonest end with room.

Room is for three things that the formulas of the paper leave out. The mean runtime is known with
an error of spread/√n. A slot wastes, when its paid time ends, what it has spent on a task that did
not fit. And an outlier at the very end may need one more ATU of its machine.

For a deadline that can still be met the bag has the cheapest mix that meets it, with such room.
"""

from dataclasses import replace
from statistics import fmean
from typing import Final

from bats.common.billing import charge_to_work
from bats.common.money import NOTHING, Money
from bats.master.brain.learning.sample_size import DELTA
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.room_for_error import Means
from bats.master.brain.planning.schedules import FASTEST, OF_CHEAPEST, OF_FASTEST, Schedule
from bats.master.brain.planning.timetable import UNCOUNTED
from bats.master.brain.policies import mixes
from bats.master.brain.policies.investing import Investing
from bats.master.brain.policies.paid_time import PaidTime
from bats.master.brain.policies.provisioning import Aim, Provisioner
from bats.master.brain.views import prospects
from bats.master.brain.views.estimate import estimate
from bats.master.brain.views.known_runtimes import known_runtimes
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.readonly import RunView

LOOKS: Final = 100
"""The most looks at a plan before the work that is left is done."""

NINE_OF_TEN: Final = 1.2816
"""The standard deviations of room with which money does in nine of ten cases."""

SHARES: Final = (1.0, 0.5, 0.0)
"""Shares of the room for a mix that are tried, the largest first."""


class ByTimetable(Provisioner):
    time: PaidTime = Investing()
    samples = True
    learns_on = True

    def __init__(self, prudence: float) -> None:
        """1: room for two standard errors."""
        self.room = 2 * prudence

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        if _in_time(run):
            return mixes.plan(run, clusters, view, cause, SHARES)
        return Aim(prospects.look_ahead(run), cause) if run.tasks.waiting else None

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        """Decide anew who leaves; machines are asked for only where it surely helps.

        That is when the end comes sooner by more than the error of its estimate, or when those
        that are there cannot do it.
        """
        if _in_time(run):
            return mixes.watch(run, clusters, view, SHARES)
        ahead = prospects.look_ahead(run)
        cause = "behind the plan"
        if ahead is not None and ahead.hires:
            without = prospects.look_ahead(run, hiring=False)
            if without is not None and without.room >= ahead.room:
                cause = "faster for the same money"
                if not run.settings.upgrade or 1 - ahead.ends / without.ends <= ahead.noise:
                    ahead = without
        return Aim(ahead, cause)

    def most_for_money(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Mix:
        """Machines that are there can use all the money: another one only costs its start."""
        prices = mixes.prices_of_work(clusters)
        there = {k: price for k, price in prices.items() if run.pool.staying(k)}
        if not there:
            return mixes.most_of_the_best(
                run, clusters, view.N_e, lambda c: charge_to_work(c.offering, c.mean_seconds)
            )
        mix = mixes.free_machines(run, clusters)
        least = min(there.values()) * (1 + DELTA)
        for k, price in there.items():
            mix[k] = len(run.pool.staying(k)) if price <= least else 0
        return tuple(mix)

    def interval_seconds(self, run: RunView, shortest: float) -> float:
        """The interval, which whatever the ATU is a good part of a task."""
        known = [c.profile.mean_done for c in run.known()]
        if not known:
            return max(shortest, (run.now - run.began_at) / 12)
        slots = sum(m.slots for m in run.pool.alive() if m.staying)
        left = run.tasks.unfinished * min(known) / max(1, slots)
        return max(shortest, min(known) / 4, left / LOOKS)

    def offered(self, run: RunView) -> tuple[Cluster, ...]:
        """T_i of the paper leans towards the tasks that are done first."""
        return tuple(
            replace(c, mean_seconds=fmean(known)) if (known := known_runtimes(run, state)) else c
            for c, state in zip(run.planning_clusters(), run.clusters, strict=True)
        )

    def allowed(self, run: RunView, schedule: Schedule, money: Money) -> Money:
        """An offer counts tasks as if they could be split: what is whole may cost more.

        A copy that is run ahead is to find out what the offer comes to, with room for error and for
        what the last tasks cost beyond the end of the others; the fastest, whatever it costs.
        """
        if run.choice.budget is not None or _in_time(run):
            return money
        if not prospects.is_run_ahead(run):
            return max(money, prospects.least_by_timetable(run) or money)
        if schedule.name == FASTEST:
            return UNCOUNTED
        least = prospects.least_by_timetable(run, NINE_OF_TEN) or money
        most = prospects.most_by_timetable(run, NINE_OF_TEN) or money
        name = schedule.name
        of_one = most * OF_FASTEST[name] if name in OF_FASTEST else least * OF_CHEAPEST.get(name, 0)
        return max(money, least, Money(of_one // 100))

    def least_money(self, run: RunView, room: float = 0.0) -> Money | None:
        if _in_time(run):
            return prospects.least_by_mix(run, room)
        return prospects.least_by_timetable(run, room)

    def means(self, run: RunView) -> Means | None:
        if _in_time(run):
            return None
        by_now = estimate(run)
        return prospects.means(run, by_now, prospects.supplies(run, by_now, hiring=True), NOTHING)


def _in_time(run: RunView) -> bool:
    """True if there is a deadline that can still be met."""
    return (
        run.choice.deadline_at is not None
        and not run.choice.missed
        and run.now < run.choice.deadline_at
    )
