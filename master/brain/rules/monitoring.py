"""Watching the plan: it is changed when reality falls behind or offers better."""

from bats.common.money import NOTHING, Money
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.rules import replanning
from bats.master.brain.views.outlook import Outlook, outlook


def monitor_seconds(run: Run) -> float:
    """The monitoring interval: as the settings say, else the provisioner."""
    if run.settings.monitor_seconds:
        return run.settings.monitor_seconds
    priced = (c.offering.atu_seconds for c in run.clusters if not c.offering.free)
    shortest = max(60.0, min(priced, default=3600.0)) / 12
    return run.provisioner.interval_seconds(run, shortest)


def watch(run: Run) -> None:
    """Compare the plan with what is left; replan on a violation, or for a much faster mix."""
    if run.phase is not Phase.EXECUTING or not run.known() or not run.tasks.waiting:
        return
    if run.pause is not None:
        return
    replanning.keep_free_machines(run)
    clusters = run.planning_clusters()
    if all(c.offering.free for c in clusters if c.limit):
        return
    view = outlook(run, clusters)
    _open_cushion(run, view)
    aim = run.provisioner.watch(run, clusters, view)
    if aim is not None:
        replanning.move(run, aim, clusters, view)


def _open_cushion(run: Run, view: Outlook) -> None:
    """The cushion may be spent on the last ΔN tasks only."""
    choice, limit = run.choice, run.ledger.limit
    if choice.cushion and view.N_e <= max(choice.delta_n, 0) and limit is not None:
        run.ledger.limit = Money(limit + choice.cushion)
        run.say(f"cushion of {run.shown(choice.cushion)} opened for the last {view.N_e} tasks")
        choice.cushion = NOTHING
