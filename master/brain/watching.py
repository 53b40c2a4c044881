"""Watching the plan: it is changed when reality falls behind or offers better (science.md, 8)."""

from typing import Final

from bats.common.money import NOTHING, Money
from bats.master.brain import planning
from bats.master.brain.adopting import adopt, follow
from bats.master.brain.mix import Cluster
from bats.master.brain.outlook import Outlook, outlook
from bats.master.brain.settings import Sampling
from bats.master.brain.state import Phase, Run

MEANINGFUL: Final = 0.9
"""A faster mix is taken when it needs at most this share of the time: estimates waver by less."""


def monitor_seconds(run: Run) -> float:
    """The monitoring interval: a small fraction of an ATU."""
    if run.settings.monitor_seconds:
        return run.settings.monitor_seconds
    priced = (c.offering.atu_seconds for c in run.clusters if not c.offering.free)
    shortest = min(priced, default=3600.0)
    return max(60.0, shortest) / 12


def watch(run: Run) -> None:
    """Compare the plan with what is left; replan on a violation, or for a much faster mix."""
    if run.phase is not Phase.EXECUTING or not run.known() or not run.tasks.waiting:
        return
    if run.settings.sampling is Sampling.NONE:
        return  # cost-blind
    planning.keep_free_machines(run)
    clusters = run.planning_clusters()
    if all(c.offering.free for c in clusters if c.limit):
        return
    view = outlook(run, clusters)
    _open_cushion(run, view)
    if planning.by_timetable(run):
        _keep_to_timetable(run, clusters, view)
    elif run.plan is None or view.N_e > view.N_p + (run.delta_n if run.cushion else 0):
        planning.replan(run, "behind the plan")
    elif run.settings.upgrade and run.deadline_at is None and view.N_e and view.speed > 0:
        solution = planning.solve(run, clusters, view)
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
    ahead = planning.look_ahead(run)
    if ahead is None:
        planning.go_as_far_as_it_goes(run, clusters, view, "behind the plan")
        return
    cause = "behind the plan"
    if ahead.hires:
        without = planning.look_ahead(run, hiring=False)
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
