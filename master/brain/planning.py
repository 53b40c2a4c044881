"""Choosing a mix, watching it, changing it when reality differs (science.md, 4, 5, 8)."""

import math
from dataclasses import replace
from typing import Final

from bats.common.billing import charge_atus
from bats.common.errors import CannotBeMetError
from bats.common.messages import TaskId
from bats.common.money import NOTHING, Money
from bats.master.brain import fleet, sampling
from bats.master.brain.commands import BagOutcome, Offer
from bats.master.brain.deadline import cheapest_within
from bats.master.brain.events import Chosen
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.mix import Cluster
from bats.master.brain.outlook import Outlook, outlook
from bats.master.brain.picks import within_budget, within_deadline
from bats.master.brain.planners import PLANNERS
from bats.master.brain.problem import Plan as Solution
from bats.master.brain.problem import Problem
from bats.master.brain.schedules import Schedule, offers, pick
from bats.master.brain.settings import ASK, Sampling
from bats.master.brain.state import MANUAL, ClusterState, Phase, Plan, Run
from bats.master.brain.taskbook import TaskState

UNCOUNTED: Final = Money(10**18)
"""Stands for a budget that nobody counts."""

MEANINGFUL: Final = 0.9
"""A faster mix is taken when it needs at most this share of the time: estimates waver by less."""

START_FAILURES: Final = 3
"""So many machines in a row that do not start, and the offering is set aside."""


# --- from the sample to a plan -------------------------------------------------------------------


def sampled(run: Run) -> None:
    """The sample is complete: offer schedules, and pick one if the user has said how."""
    sampling.finish(run)
    if not run.tasks.waiting:
        run.phase = Phase.EXECUTING  # the sample was the whole bag: nothing is left to choose
        return
    run.phase = Phase.CHOOSING
    if run.settings.budget is None:
        run.ledger.limit = run.ledger.committed
    offer(run)
    if run.settings.rule != ASK:
        choose(run, Chosen(run.settings.rule, None, run.settings.deadline_seconds))


def offer(run: Run) -> None:
    """Work the schedules out from what is known now."""
    clusters = run.planning_clusters()
    N = outlook(run, clusters).N_e
    schedules = offers(clusters, N) if N and any(c.limit for c in clusters) else ()
    if schedules != run.schedules:
        run.schedules = schedules
        run.out.append(Offer(schedules))


def why_not(run: Run, chosen: Chosen) -> str:
    """Why this choice cannot be met, with the nearest that can and its price; "" when it can."""
    clusters = run.planning_clusters()
    tasks = outlook(run, clusters).N_e
    if not tasks or not any(c.limit for c in clusters):
        return ""
    spent = run.ledger.committed
    total = chosen.budget if chosen.budget is not None else run.settings.budget
    budget = None if total is None else Money(max(0, total - spent))
    currency = run.settings.currency
    try:
        if chosen.deadline_seconds is not None:
            left = run.began_at + chosen.deadline_seconds - run.now
            within_deadline(clusters, tasks, max(1.0, left), budget=budget, currency=currency)
        elif budget is not None:
            within_budget(clusters, tasks, budget, currency=currency)
    except CannotBeMetError as refusal:
        return f"{refusal} {run.shown(spent)} of the budget is spent or reserved already."
    return ""


def choose(run: Run, chosen: Chosen) -> None:
    """Take the user's word. A budget caps the whole run, what is spent already included."""
    if run.phase is Phase.SAMPLING:
        return
    now = run.now
    budget = chosen.budget if chosen.budget is not None else run.settings.budget
    if chosen.deadline_seconds is not None:
        run.deadline_at = run.began_at + chosen.deadline_seconds
    if chosen.cushion is not None:
        run.cushion = chosen.cushion
    committed = run.ledger.committed
    by_rule = _by_rule(run, chosen.rule, budget)
    if by_rule is None:
        run.ledger.limit = committed if budget is None else budget  # never without a limit
    else:
        limit = Money(committed + by_rule.budget)
        run.ledger.limit = limit if budget is None else Money(min(limit, budget))
        run.delta_n = by_rule.delta_n
        if chosen.rule == "fastest" and budget is not None:
            run.ledger.limit = budget
    run.chosen = chosen.rule if by_rule is None else by_rule.name
    run.chosen_at = now
    run.short_of_money = False
    if run.phase in (Phase.ENDING, Phase.ENDED):
        _revive(run)
    run.phase = Phase.EXECUTING
    if chosen.deadline_seconds is not None and (words := why_not(run, chosen)):
        run.say(words)
    replan(run, "schedule chosen")
    run.next_monitor = now + monitor_seconds(run)


def _by_rule(run: Run, rule: str, budget: Money | None) -> Schedule | None:
    """The schedule that the rule names; None when the budget alone decides."""
    if not run.schedules:
        return None
    try:
        schedule = pick(run.schedules, rule)
    except CannotBeMetError:
        return None
    if budget is not None and run.ledger.committed + schedule.budget > budget:
        return None  # no schedule within the budget by that name: what the budget buys, then
    return schedule


def _revive(run: Run) -> None:
    """More money for a bag that had run out of it."""
    for number, state in enumerate(run.tasks.states):
        if state == TaskState.DROPPED:
            run.tasks.retry(TaskId(number))
    run.outcome = None
    run.ended_at = None


# --- the plan ------------------------------------------------------------------------------------


def money_left(run: Run) -> Money:
    """What a plan may count on: the cushion is not for planning with."""
    left = run.ledger.left
    return UNCOUNTED if left is None else left


def replan(run: Run, cause: str) -> None:
    """Solve for the money and the tasks left, and move towards the answer."""
    _keep_free_machines(run)
    if not any(c.startable and not c.offering.free for c in run.known()):
        return
    clusters = run.planning_clusters()
    view = outlook(run, clusters)
    if view.N_e == 0 and run.plan is not None:
        return  # paid time does the rest
    solution = _solve(run, clusters, view)
    if solution is None:
        solution = _as_far_as_it_goes(run, clusters, view)
        if solution is None:
            return
    else:
        run.short_of_money = False
    adopt(run, solution, view, cause)


def _solve(run: Run, clusters: tuple[Cluster, ...], view: Outlook) -> Solution | None:
    """With room for error if the money allows, with less room if it does not."""
    for share in (1.0, 0.5, 0.0) if run.settings.prudence else (0.0,):
        solution = _solve_with_room(run, clusters, view, share)
        if solution is not None:
            return solution
    return None


def _solve_with_room(
    run: Run, clusters: tuple[Cluster, ...], view: Outlook, share: float
) -> Solution | None:
    """Room for three things that the formulas of the paper leave out.

    The mean runtime is known with an error of spread/√n. A slot wastes, when its paid time ends,
    what it has spent on a task that did not fit: half a task and more, (1 + spread²)/2. And an
    outlier at the very end may need one more ATU of its machine.
    """
    known = run.canonical
    if not share or known.count < 2:
        return _solve_exactly(run, Problem(clusters, view.N_e, money_left(run)))
    reserve = share * max(c.offering.price for c in clusters if c.limit)
    money = Money(max(0, money_left(run) - int(reserve)))
    error = share * run.settings.prudence * known.spread / math.sqrt(known.count)
    waste = share * (1 + known.spread**2) / 2
    tasks = view.N_e * (1 + error)
    solution: Solution | None = None
    for _ in range(3):  # the waste depends on the mix, the mix on the waste
        mix = solution.mix if solution else (0,) * len(clusters)
        slots = sum(
            count * c.offering.slots
            for count, c in zip(mix, clusters, strict=True)
            if not c.offering.free
        )
        solution = _solve_exactly(run, Problem(clusters, math.ceil(tasks + waste * slots), money))
        if solution is None:
            return None
    return solution


def _solve_exactly(run: Run, problem: Problem) -> Solution | None:
    planner = PLANNERS[run.settings.planner]
    if run.deadline_at is not None:
        left = max(1e-3, run.deadline_at - run.now)
        within = planner.cheapest(replace(problem, deadline_seconds=left))
        if within is not None and within.cost <= problem.budget:
            return within
    return planner.fastest(problem)


def _as_far_as_it_goes(run: Run, clusters: tuple[Cluster, ...], view: Outlook) -> Solution | None:
    """No mix can finish. Go on with the machines that do most for the money, and say so."""
    money = money_left(run)
    if not run.short_of_money:
        run.short_of_money = True
        run.say(_what_finishing_costs(run, clusters, view.N_e))
    best: tuple[float, int] | None = None
    for k, c in enumerate(clusters):
        price = charge_atus(c.offering, run.first_term(c.offering))
        if c.limit and not c.offering.free and price <= money:
            per_task = c.offering.price / c.offering.atu_seconds / c.speed
            best = min(best or (per_task, k), (per_task, k))
    mix = [len(run.staying(k)) if c.offering.free else 0 for k, c in enumerate(clusters)]
    if best is not None:
        c = clusters[best[1]]
        price = charge_atus(c.offering, run.first_term(c.offering))
        useful = math.ceil(view.N_e / c.offering.slots)
        mix[best[1]] = min(c.limit, money // price, useful)
    speed = sum(a * c.speed for a, c in zip(mix, clusters, strict=True))
    if not speed:
        return None
    return Solution(tuple(mix), speed, view.N_e / speed, money)


def _what_finishing_costs(run: Run, clusters: tuple[Cluster, ...], N: int) -> str:
    cheapest = cheapest_within(clusters, N)
    left = run.shown(money_left(run))
    if cheapest is None:
        return f"no machine can be had to finish the last {N} tasks"
    return (
        f"{left} will hardly finish the last {N} tasks: that needs about "
        f"{run.shown(cheapest.cost)}; going on with what does most for the money"
    )


def adopt(run: Run, solution: Solution, view: Outlook, cause: str) -> None:
    """Make the mix so: surplus machines leave at the end of their paid ATUs, missing ones come."""
    before = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    run.plan = Plan(solution.mix, view.N_e, solution.makespan_seconds, run.now)
    for k, wanted in enumerate(solution.mix):
        c = run.clusters[k]
        staying = run.staying(k)
        if not c.offering.free:
            _let_go(run, staying, len(staying) - wanted)
            _take_back(run, c, wanted - len(staying))
        fleet.start(run, k, wanted - len(run.staying(k)))
        nr = math.ceil(solution.makespan_seconds / c.offering.atu_seconds * (1 - 1e-9))
        for machine in run.staying(k):
            fresh = machine.requested_at == run.now and machine.state is MachineState.REQUESTED
            machine.nr = max(0, nr - machine.atus) if fresh else nr
    after = tuple(len(run.staying(k)) for k in range(len(run.clusters)))
    if after != before:
        run.say(f"{cause}: {_mix_in_words(run, after)} for {view.N_e} tasks")


def _let_go(run: Run, staying: list[Machine], surplus: int) -> None:
    """Those not charged yet are called off; then those whose paid time ends first."""
    order = sorted(
        staying, key=lambda m: (m.charged_since is not None, m.paid_until(run.now), m.id)
    )
    for machine in order[: max(0, surplus)]:
        if machine.charged_since is None and machine.state is MachineState.REQUESTED:
            fleet.stop(run, machine, "not needed any more")
        else:
            machine.leaving = True
            machine.nr = 0


def _take_back(run: Run, c: ClusterState, missing: int) -> None:
    """Machines that were to leave can stay: they have started already."""
    leaving = [m for m in run.living[c.index].values() if m.leaving and m.state is MachineState.UP]
    leaving.sort(key=lambda m: (-m.paid_until(run.now), m.id))
    for machine in leaving[: max(0, missing)]:
        machine.leaving = False


def _mix_in_words(run: Run, mix: tuple[int, ...]) -> str:
    parts = [f"{n} {c.offering.name}" for n, c in zip(mix, run.clusters, strict=True) if n]
    return " + ".join(parts) or "no machines"


# --- watching ------------------------------------------------------------------------------------


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
    _keep_free_machines(run)
    clusters = run.planning_clusters()
    if all(c.offering.free for c in clusters if c.limit):
        return
    view = outlook(run, clusters)
    _open_cushion(run, view)
    if run.plan is None or view.N_e > view.N_p + (run.delta_n if run.cushion else 0):
        replan(run, "behind the plan")
    elif run.settings.upgrade and run.deadline_at is None and view.N_e and view.speed > 0:
        solution = _solve(run, clusters, view)
        if solution is None:
            return
        delay = max((c.start_seconds for c in clusters), default=0.0)
        faster = solution.makespan_seconds + delay <= MEANINGFUL * view.N_e / view.speed
        if faster and solution.mix != run.plan.mix:
            adopt(run, solution, view, "faster for the same money")


def _keep_free_machines(run: Run) -> None:
    """Free machines that broke down are asked for again."""
    for c in run.clusters:
        if c.startable and c.offering.free:
            useful = math.ceil(run.tasks.unfinished / c.offering.slots)
            wanted = min(c.offering.max_machines, useful)
            fleet.start(run, c.index, wanted - len(run.staying(c.index)))


def _open_cushion(run: Run, view: Outlook) -> None:
    """The cushion may be spent on the last ΔN tasks only."""
    if run.cushion and view.N_e <= max(run.delta_n, 0) and run.ledger.limit is not None:
        run.ledger.limit = Money(run.ledger.limit + run.cushion)
        run.say(f"cushion of {run.shown(run.cushion)} opened for the last {view.N_e} tasks")
        run.cushion = NOTHING


# --- at the end of an ATU ------------------------------------------------------------------------


def due(run: Run, machines: list[Machine]) -> None:
    """Their paid time ends now: each is paid on or told to stop, the most profitable first."""
    if run.phase is Phase.EXECUTING and any(not m.offering.free for m in machines):
        watch(run)

    def price_per_task(machine: Machine) -> tuple[float, int]:
        c = run.clusters[machine.cluster]
        mean = c.profile.mean_done if c.profile.count else 1.0
        offering = machine.offering
        return mean / offering.slots * offering.price / offering.atu_seconds, machine.id

    for machine in sorted(machines, key=price_per_task):
        if machine.state in (MachineState.STOPPING, MachineState.GONE):
            continue
        reason = _why_stop(run, machine)
        if reason:
            fleet.stop(run, machine, reason)
        elif not fleet.renew(run, machine):
            fleet.stop(run, machine, "the budget does not cover its next ATU")


def _why_stop(run: Run, machine: Machine) -> str:
    """Why this machine should not enter its next ATU; "" when it should."""
    if machine.offering.free and machine.state is not MachineState.SILENT:
        return "the bag has ended" if run.phase is Phase.ENDING else ""
    if machine.leaving:
        return "not in the mix any more"
    if machine.state is MachineState.SILENT:
        return "not heard of; its next ATU is not paid"
    if machine.state is MachineState.REQUESTED:
        return "did not join within its first ATU"
    if run.phase is Phase.SAMPLING:
        return "" if sampling.keeps(run, machine) else "the sample does not need it longer"
    if run.phase is Phase.CHOOSING:
        return "no schedule has been chosen yet"
    if run.phase is not Phase.EXECUTING:
        return "the bag has ended"
    if run.tasks.waiting:
        if machine.nr or run.settings.sampling is Sampling.NONE:
            return ""
        done_by_others = outlook(run, run.planning_clusters()).N_e == 0
        return "paid time elsewhere does the rest" if done_by_others else ""
    if machine.active:
        return ""
    return "idle at the end of its paid time"


def stuck(run: Run) -> None:
    """Nothing runs and nothing comes: try once more to buy machines, else end in good order."""
    if run.alive() or not run.tasks.unfinished:
        return
    if run.phase is Phase.SAMPLING:
        if sampling.restart(run):
            return
        if any(run.sample.observed if run.sample else ()):
            run.say("the sample ends early: no machine for it can be had or paid any more")
            sampled(run)
        else:
            run.phase = Phase.EXECUTING
    if run.phase is Phase.EXECUTING:
        if run.settings.sampling is Sampling.NONE:
            sampling.start_all(run)
        replan(run, "no machines left")
        if run.alive():
            return
        if any(c.offering.backend == MANUAL for c in run.clusters):
            return  # its users may start one at any time
        clusters = run.planning_clusters(standing=False)
        left = run.tasks.unfinished
        if any(c.limit for c in clusters):
            words = f"{left} tasks are not done; {_price_of(run, clusters, left)}"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        elif any(c.startable for c in run.clusters):
            words = f"{left} tasks are not done; the budget does not pay for a sample of them"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        else:
            why = "; ".join(f"{c.offering.name}: {c.set_aside}" for c in run.clusters)
            run.end(BagOutcome.NO_MACHINES, f"{left} tasks are not done; {why}")


def _price_of(run: Run, clusters: tuple[Cluster, ...], N: int) -> str:
    cheapest = cheapest_within(clusters, N)
    if cheapest is None:
        return "no mix can finish them"
    need = Money(run.ledger.committed + cheapest.cost)
    cost = run.shown(cheapest.cost)
    return f"finishing them costs about {cost}: choose a budget of {run.shown(need)}"
