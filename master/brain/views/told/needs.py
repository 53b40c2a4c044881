"""The needs of a whole run, sample and rest together: the numbers that would do."""

from collections.abc import Iterable

from bats.common.billing import charge_atus, first_atus
from bats.common.money import UNITS, Money
from bats.common.offering import Offering
from bats.master.brain.planning.problem import all_machines
from bats.master.brain.planning.room_for_error import SUREST
from bats.master.brain.views import prospects
from bats.master.brain.views.estimate import estimate
from bats.master.brain.views.order.work_left import critical_seconds
from bats.master.brain.views.outlook import outlook
from bats.master.brain.views.readonly import RunView


def budget_for(run: RunView, *, deadline_seconds: float | None = None) -> Money | None:
    """The budget that leaves all the room for error, spent money included; None if none does."""
    for room in (_room(run), 0.0):
        if deadline_seconds is None:
            more = run.provisioner.least_money(run, room)
        else:
            more = prospects.least_by_mix(run, room, deadline_seconds=deadline_seconds)
        if more is not None:  # else there is no room for error in what is left
            break
    return None if more is None else whole_cents(Money(run.ledger.committed + more))


def least_for(run: RunView) -> Money | None:
    """The least budget, without any room: with less there is no plan at all."""
    more = run.provisioner.least_money(run)
    return None if more is None else Money(run.ledger.committed + more)


def seconds_for(run: RunView) -> float | None:
    """The seconds from its beginning to its end with all machines, were they asked for now."""
    clusters = run.planning_clusters()
    by_now = estimate(run)
    tasks = outlook(run, clusters).N_e * (1 + _room(run) * by_now.noise)
    everything = all_machines(clusters, tasks)
    if not everything.speed:
        return None
    start = max(c.start_seconds for c in clusters if c.limit)
    longest = max(c.mean_seconds for c in clusters if c.limit)  # of a task begun at the very end
    makespan = max(everything.makespan_seconds, critical_seconds(run))
    return run.now - run.began_at + start + makespan + longest


def first_machine(offerings: Iterable[Offering]) -> tuple[Money, Offering]:
    """The price to have any machine at all, and the offering that is had for it."""
    prices = [(charge_atus(one, first_atus(one)), one) for one in offerings]
    return min(prices, key=lambda found: found[0])


def whole_cents(amount: Money) -> Money:
    """The amount rounded up: to set a budget to what is shown must do."""
    cent = UNITS // 100
    return Money(-(-amount // cent) * cent)


def _room(run: RunView) -> float:
    """The room in numbers told, more than a plan keeps: nobody should be told another one later."""
    return SUREST / 2 * run.provisioner.room
