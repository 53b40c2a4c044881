"""At the end of paid time: who is paid on, who stops, and when the run can only end."""

from typing import Final

from bats.common.money import Money
from bats.common.offering import MANUAL
from bats.common.units import in_words
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.state import Phase, Run
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.settings import Sampling
from bats.master.brain.rules import (
    choosing,
    dispatch,
    fleet,
    holding,
    pausing,
    replanning,
    sampling,
    watching,
)
from bats.master.brain.views import investments, needed
from bats.master.brain.views.outlook import outlook

JOIN_SECONDS: Final = 600.0
"""A machine that is billed by less than that may take so long to join."""


def due(run: Run, machines: list[Machine]) -> None:
    """Their paid time ends now: each is paid on or told to stop, the most profitable first."""
    for machine in machines:
        if machine.id in run.hungry:
            dispatch.fill(run, machine)  # it may have just got a free slot
    executing = run.phase is Phase.EXECUTING and run.pause is None
    if executing and any(_plan_decides(run, m) for m in machines):
        watching.watch(run)

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
        elif not _pay_on(run, machine):
            fleet.stop(run, machine, "the budget does not cover its next ATU")


def renew(run: Run, machine: Machine) -> None:
    """Pay ahead for the lease of one that works, where its ATU is shorter: its master may be away.

    That is for money which is there; at the end of paid time it is decided anyway.
    """
    if not (run.settings.prudence and machine.leased_beyond_atus and machine.active):
        return
    if machine.state is not MachineState.UP or _why_stop(run, machine):
        return
    holding.cover_lease(run, machine)


def _plan_decides(run: Run, machine: Machine) -> bool:
    """Whether more is bought with its next ATU than the end of what it runs."""
    if machine.offering.free:
        return False
    if not run.settings.prudence:
        return True
    return bool(machine.active) and investments.has_room(run, machine)


def _pay_on(run: Run, machine: Machine) -> bool:
    if not run.settings.prudence or machine.offering.free:
        return fleet.extend(run, machine)
    if machine.state is MachineState.REQUESTED:
        return holding.cover(run, machine, _waited(run, machine))
    return holding.cover(run, machine, holding.reach(run, machine)) and (
        machine.stop_by(run.now) > run.now or fleet.extend(run, machine)
    )


def _waited(run: Run, machine: Machine) -> float:
    return run.now - (
        machine.requested_at if machine.charged_since is None else machine.charged_since
    )


def _why_stop(run: Run, machine: Machine) -> str:
    """Why this machine should not be paid on; "" when it should."""
    if machine.offering.free and machine.state is not MachineState.SILENT:
        return "the bag has ended" if run.phase is Phase.ENDING else ""
    if machine.draining:
        return machine.draining
    if run.pause is not None:
        return pausing.REASON
    if machine.state is MachineState.SILENT:
        return "not heard of; its next ATU is not paid"
    if machine.state is MachineState.REQUESTED:
        patient = run.settings.prudence and _waited(run, machine) < JOIN_SECONDS
        return "" if patient else "did not join within its first ATU"
    if run.phase not in dispatch.BUSY_PHASES:
        return "the bag has ended"
    if not run.settings.prudence:
        return _why_stop_as_in_the_paper(run, machine)
    if machine.active:
        if run.phase is Phase.SAMPLING or (machine.nr and not machine.leaving):
            return ""
        if run.settings.sampling is Sampling.NONE:
            return ""
        if any(investments.counts(run, attempt) for attempt in machine.active.values()):
            held = investments.worth_holding(run, machine)
            if not held and not run.tasks.waiting:
                held = investments.can_pay_for_all(run)  # anew it would end later
            return "" if held else "what it runs costs less to run anew elsewhere"
        hopes = any(
            investments.foreseen(run, machine, attempt) for attempt in machine.active.values()
        )
        if hopes and not machine.leaving and investments.can_pay_for_copies(run):
            return ""
        return "what it runs should end sooner elsewhere"
    if machine.leaving:
        return "not in the mix any more"
    if run.phase is Phase.SAMPLING:
        return "the sample has no task for it"
    if run.phase is Phase.CHOOSING:
        return "no schedule has been chosen yet"
    if run.tasks.waiting:
        return "the money left does not cover another task on it"
    return "idle at the end of its paid time"


def _why_stop_as_in_the_paper(run: Run, machine: Machine) -> str:
    if machine.leaving:
        return "not in the mix any more"
    if run.phase is Phase.SAMPLING:
        return "" if sampling.keeps(run, machine) else "the sample does not need it longer"
    if run.phase is Phase.CHOOSING:
        return "no schedule has been chosen yet"
    if run.tasks.waiting:
        if machine.nr or run.settings.sampling is Sampling.NONE:
            return ""
        done_by_others = outlook(run, run.planning_clusters()).N_e == 0
        return "paid time elsewhere does the rest" if done_by_others else ""
    return "" if machine.active else "idle at the end of its paid time"


def stuck(run: Run) -> None:
    """Nothing runs and nothing comes: try once more to buy machines, else end in good order."""
    if run.alive() or not run.tasks.unfinished or run.pause is not None:
        return
    if run.phase is Phase.SAMPLING:
        if sampling.restart(run):
            return
        if any(run.sample.observed if run.sample else ()):
            run.say("the sample ends early: no machine for it can be had or paid any more")
            choosing.sampled(run)
        else:
            run.phase = Phase.EXECUTING
    if run.phase is Phase.EXECUTING:
        if run.settings.sampling is Sampling.NONE:
            sampling.start_all(run)
        replanning.replan(run, "no machines left")
        if run.alive():
            return
        if any(c.offering.backend == MANUAL for c in run.clusters):
            return  # its users may start one at any time
        clusters = run.planning_clusters(standing=False)
        if any(c.limit for c in clusters):
            words = f"{run.not_done}; {_price_of_the_rest(run)}"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        elif any(c.startable for c in run.clusters):
            words = f"{run.not_done}; {_why_no_sample(run)}"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        else:
            why = "; ".join(f"{c.offering.name}: {c.set_aside}" for c in run.clusters)
            run.end(BagOutcome.NO_MACHINES, f"{run.not_done}; {why}")


def _price_of_the_rest(run: Run) -> str:
    enough = needed.budget_for(run)
    if enough is None:
        return "no mix can finish them"
    more = run.shown(Money(enough - run.ledger.committed))
    return f"finishing them takes {more} more at most: choose a budget of {run.shown(enough)}"


def _why_no_sample(run: Run) -> str:
    spent = run.shown(run.ledger.settled)
    ran = {seconds: cluster for cluster, seconds in run.tasks.stopped.values()}
    if not ran:
        return f"with {spent} spent the budget does not pay for a sample of them"
    longest = max(ran)
    name = run.clusters[ran[longest]].offering.name
    return (
        f"{spent} are spent and none has ended yet: one had run for {in_words(longest)} on {name} "
        "when there was no money to let it run on"
    )
