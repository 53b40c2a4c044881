"""The plan is watched, and machines are moved towards what the provisioner aims for."""

import math

from bats.common.money import NOTHING, Money
from bats.common.units import counted
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import Plan as Solution
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.rules.machines import hiring
from bats.master.brain.rules.machines.carrying_out import adopt, follow
from bats.master.brain.views.outlook import Outlook, outlook
from bats.master.brain.views.prospects import Ahead, can_hire, money_left
from bats.master.brain.views.told.under_cap import whose_money


def replan(run: Run, cause: str) -> None:
    """Plan for the money and the tasks left, and move towards the answer."""
    if run.pause is not None:
        return
    keep_free_machines(run)
    if not can_hire(run):
        return
    clusters = run.planning_clusters()
    view = outlook(run, clusters)
    aim = run.provisioner.plan(run, clusters, view, cause)
    if aim is not None:
        move(run, aim, clusters, view)


def move(run: Run, aim: Aim, clusters: tuple[Cluster, ...], view: Outlook) -> None:
    if aim.to is None:
        _go_as_far_as_it_goes(run, clusters, view, aim.cause)
    elif isinstance(aim.to, Ahead):
        follow(run, aim.to, view, aim.cause)
    else:
        run.short_of_money = False
        adopt(run, aim.to, view, aim.cause)


def _go_as_far_as_it_goes(
    run: Run, clusters: tuple[Cluster, ...], view: Outlook, cause: str
) -> None:
    """No mix can finish. Go on with the machines that do most for the money, and say so."""
    if not run.short_of_money:
        run.short_of_money = True
        run.say(_what_finishing_costs(run))
    mix = run.provisioner.most_for_money(run, clusters, view)
    speed = sum(a * c.speed for a, c in zip(mix, clusters, strict=True))
    if speed:
        adopt(run, Solution(mix, speed, view.N_e / speed, money_left(run)), view, cause)


def _what_finishing_costs(run: Run) -> str:
    least = run.provisioner.least_money(run)
    rest = f"the last {counted(run.tasks.waiting, 'task')}"
    if least is None:
        return f"no machine can be had to finish {rest}"
    whose = f" of {whose_money(run)}" if run.ledger.capped else ""
    return (
        f"{run.shown(money_left(run))}{whose} will hardly finish {rest}: that needs about "
        f"{run.shown(least)}; going on with what does most for the money"
    )


def keep_free_machines(run: Run) -> None:
    """Free machines that broke down are asked for again."""
    for c in run.clusters:
        if c.startable and c.offering.free:
            useful = math.ceil(run.tasks.unfinished / c.offering.slots)
            wanted = min(c.offering.max_machines, useful)
            hiring.start(run, c.index, wanted - len(run.pool.staying(c.index)))


# --- the plan is changed when reality falls behind or offers better -------------------------------


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
    keep_free_machines(run)
    clusters = run.planning_clusters()
    if all(c.offering.free for c in clusters if c.limit):
        return
    view = outlook(run, clusters)
    _open_cushion(run, view)
    aim = run.provisioner.watch(run, clusters, view)
    if aim is not None:
        move(run, aim, clusters, view)


def _open_cushion(run: Run, view: Outlook) -> None:
    """The cushion may be spent on the last ΔN tasks only."""
    choice, limit = run.choice, run.ledger.limit
    if choice.cushion and view.N_e <= max(choice.delta_n, 0) and limit is not None:
        run.ledger.limit = Money(limit + choice.cushion)
        run.say(f"cushion of {run.shown(choice.cushion)} opened for the last {view.N_e} tasks")
        choice.cushion = NOTHING
