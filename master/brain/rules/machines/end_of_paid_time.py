"""Paying on at the end of paid time: who is paid on, who stops, when the run can only end."""

from typing import Final

from bats.common.money import Money
from bats.common.offering import MANUAL
from bats.common.units import in_words
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.rules import (
    capping,
    choosing,
    dispatch,
    pausing,
    replanning,
    sampling,
)
from bats.master.brain.rules.machines import hiring, lending, reserving
from bats.master.brain.views.told import needs
from bats.master.brain.views.told.under_cap import whose_money

IDLE: Final = "no task is left for it, and more may come"
"""The reason for which free machines of an open bag leave when it has nothing to do."""


def due(run: Run, machines: list[Machine]) -> None:
    """Pay machines on whose paid time ends now, or stop them; the most profitable come first."""
    for machine in machines:
        if machine.id in run.pool.hungry:
            dispatch.fill(run, machine)  # it may have just got a free slot
    executing = run.phase is Phase.EXECUTING and run.pause is None
    if executing and any(_buys_work(run, m) for m in machines):
        replanning.watch(run)

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
            hiring.stop(run, machine, reason)
        elif not _pay_on(run, machine):
            hiring.stop(run, machine, f"{whose_money(run)} does not cover its next ATU")


def renew(run: Run, machine: Machine) -> None:
    """Pay ahead for the lease of one that works, where its ATU is shorter: its master may be away.

    That is for money which is there; at the end of paid time it is decided anyway.
    """
    if not (machine.leased_beyond_atus and machine.active):
        return
    if machine.state is not MachineState.UP or _why_stop(run, machine):
        return
    seconds = run.provisioner.time.to_renew(run, machine)
    if seconds is not None:
        reserving.renew(run, machine, seconds)


def _buys_work(run: Run, machine: Machine) -> bool:
    return not machine.offering.free and run.provisioner.time.buys_work(run, machine)


def _pay_on(run: Run, machine: Machine) -> bool:
    if machine.offering.free:
        return hiring.extend(run, machine)
    seconds = run.provisioner.time.to_pay(run, machine)
    if seconds is None:
        return hiring.extend(run, machine)
    if not reserving.cover(run, machine, seconds):
        return False
    lasts = machine.state is MachineState.REQUESTED or machine.stop_by(run.now) > run.now
    return lasts or hiring.extend(run, machine)


def _waited(run: Run, machine: Machine) -> float:
    return run.now - (
        machine.requested_at if machine.charged_since is None else machine.charged_since
    )


def _why_stop(run: Run, machine: Machine) -> str:
    """The reason why this machine should not be paid on; "" when it should."""
    if machine.offering.free and machine.state is not MachineState.SILENT:
        if run.phase is Phase.ENDING:
            return "" if lending.is_spare(run, machine) else "the bag has ended"
        idle = run.open and not run.tasks.unfinished and not machine.collecting
        return IDLE if idle and machine.offering.backend != MANUAL else ""
    if machine.draining:
        return machine.draining
    if run.pause is not None:
        return pausing.REASON
    if machine.state is MachineState.SILENT:
        return "not heard of; its next ATU is not paid"
    if machine.state is MachineState.REQUESTED:
        patient = _waited(run, machine) < run.provisioner.time.patience_seconds
        return "" if patient else "did not join within its first ATU"
    if run.phase not in dispatch.BUSY_PHASES:
        return "the bag has ended"
    if machine.collecting:
        return ""  # running it anew would cost that time again, and more
    return run.provisioner.time.why_stop(run, machine)


def stuck(run: Run) -> None:
    """Try once more to buy machines where nothing runs or comes, else end in good order."""
    if run.pool.alive() or not run.tasks.unfinished or run.pause is not None:
        return
    if run.pool.borrowed and not run.tasks.waiting:
        return  # all that is left runs at no charge
    if run.phase is Phase.SAMPLING:
        if sampling.restart(run) or _others_may_leave(run) or capping.waits(run):
            return
        if any(run.sample.observed if run.sample else ()):
            run.say("the sample ends early: no machine for it can be had or paid any more")
            choosing.sampled(run)
        else:
            run.move(Phase.EXECUTING)
    if run.phase is Phase.EXECUTING:
        if not run.provisioner.samples:
            sampling.start_all(run)
        replanning.replan(run, "no machines left")
        if run.pool.alive():
            return
        if any(c.offering.backend == MANUAL for c in run.clusters):
            return  # its users may start one at any time
        if _others_may_leave(run) or capping.waits(run) or run.pool.borrowed:
            return
        clusters = run.planning_clusters(standing=False)
        if any(c.limit for c in clusters):
            if choosing.waits_for_money(run):
                return
            words = f"{run.not_done}; {_price_of_the_rest(run)}"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        elif any(c.startable for c in run.clusters):
            words = f"{run.not_done}; {_why_no_sample(run)}"
            run.end(BagOutcome.OUT_OF_BUDGET, words)
        else:
            why = "; ".join(f"{c.offering.name}: {c.set_aside}" for c in run.clusters)
            run.end(BagOutcome.NO_MACHINES, f"{run.not_done}; {why}")


def _others_may_leave(run: Run) -> bool:
    """True if other bags have all machines of an offering, and this one can pay for one later."""
    return any(
        c.startable and c.held_back and not c.offering.max_machines and hiring.pays_for(run, c)
        for c in run.clusters
    )


def _price_of_the_rest(run: Run) -> str:
    enough = needs.budget_for(run)
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
