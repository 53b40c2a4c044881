"""Watching the plan: it is changed when reality falls behind or offers better (science.md, 8)."""

from typing import Final

from bats.common.money import NOTHING, Money
from bats.master.brain.books.state import Phase, Run
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.protocol.settings import Sampling
from bats.master.brain.rules import replanning
from bats.master.brain.rules.adopting import adopt, follow
from bats.master.brain.views import prospects
from bats.master.brain.views.outlook import Outlook, outlook

LOOKS: Final = 100
"""So often a plan is looked at, at the most, before the work that is left is done."""

MEANINGFUL: Final = 0.9
"""A faster mix is taken when it needs at most this share of the time: estimates waver by less."""


def monitor_seconds(run: Run) -> float:
    """The monitoring interval: a small fraction of an ATU, of a task, and of what is left.

    Whatever the ATU, nothing is decided anew before a good part of a task has passed.
    """
    if run.settings.monitor_seconds:
        return run.settings.monitor_seconds
    priced = (c.offering.atu_seconds for c in run.clusters if not c.offering.free)
    shortest = max(60.0, min(priced, default=3600.0)) / 12
    if not run.settings.prudence:
        return shortest
    known = [c.profile.mean_done for c in run.known()]
    if not known:
        return max(shortest, (run.now - run.began_at) / 12)
    slots = sum(m.slots for m in run.alive() if m.staying)
    left = run.tasks.unfinished * min(known) / max(1, slots)
    return max(shortest, min(known) / 4, left / LOOKS)


def watch(run: Run) -> None:
    """Compare the plan with what is left; replan on a violation, or for a much faster mix."""
    if run.phase is not Phase.EXECUTING or not run.known() or not run.tasks.waiting:
        return
    if run.pause is not None:
        return
    if run.settings.sampling is Sampling.NONE:
        return  # cost-blind
    replanning.keep_free_machines(run)
    clusters = run.planning_clusters()
    if all(c.offering.free for c in clusters if c.limit):
        return
    view = outlook(run, clusters)
    _open_cushion(run, view)
    if prospects.by_timetable(run):
        _keep_to_timetable(run, clusters, view)
    elif run.plan is None or view.N_e > view.N_p + (run.delta_n if run.cushion else 0):
        replanning.replan(run, "behind the plan")
    elif run.settings.upgrade and run.deadline_at is None and view.N_e and view.speed > 0:
        solution = prospects.solve(run, clusters, view)
        if solution is None:
            return
        delay = max((c.start_seconds for c in clusters), default=0.0)
        faster = solution.makespan_seconds + delay <= MEANINGFUL * view.N_e / view.speed
        if faster and solution.mix != run.plan.mix:
            adopt(run, solution, view, "faster for the same money")


def _keep_to_timetable(run: Run, clusters: tuple[Cluster, ...], view: Outlook) -> None:
    """Who leaves is decided anew each time; machines are asked for only where it surely helps.

    That is when the end comes sooner by more than the error of its estimate, or when those that
    are there cannot do it.
    """
    ahead = prospects.look_ahead(run)
    if ahead is None:
        replanning.go_as_far_as_it_goes(run, clusters, view, "behind the plan")
        return
    cause = "behind the plan"
    if ahead.hires:
        without = prospects.look_ahead(run, hiring=False)
        if without is not None and without.room >= ahead.room:
            cause = "faster for the same money"
            if not run.settings.upgrade or 1 - ahead.ends / without.ends <= ahead.noise:
                ahead = without
    follow(run, ahead, view, cause)


def _open_cushion(run: Run, view: Outlook) -> None:
    """The cushion may be spent on the last ΔN tasks only."""
    if run.cushion and view.N_e <= max(run.delta_n, 0) and run.ledger.limit is not None:
        run.ledger.limit = Money(run.ledger.limit + run.cushion)
        run.say(f"cushion of {run.shown(run.cushion)} opened for the last {view.N_e} tasks")
        run.cushion = NOTHING
