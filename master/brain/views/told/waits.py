"""Waits of tasks: what stands between them and a slot, as the books have it.

They are drawn at random, so that what holds one of them up holds up all.
"""

from collections.abc import Sequence

from bats.common.units import counted, in_words
from bats.master.brain.views import investments
from bats.master.brain.views.readonly import MachineState, MachineView, Phase, RunView
from bats.master.brain.views.told.under_cap import held_up, whose_money

NO_CHOICE = "nobody has chosen a schedule yet"


def why_wait(run: RunView) -> str:
    if run.pause is not None:
        return f"the bag is paused: {run.pause.reason}"
    if run.phase in (Phase.ENDING, Phase.ENDED):
        return "the bag has ended"
    up = [m for m in run.pool.alive() if m.state is MachineState.UP and not m.draining]
    limit = run.settings.at_once
    if limit and run.tasks.in_flight - sum(len(m.collecting) for m in up) >= limit:
        return f"no more than {counted(limit, 'task')} may run at a time"
    if idle := [m for m in up if m.load < m.slots]:
        return _why_not_there(run, idle)
    if up:
        return f"every slot is taken, of {_kinds(up)}"
    return _why_no_machine(run)


def _why_not_there(run: RunView, idle: Sequence[MachineView]) -> str:
    if run.phase is Phase.CHOOSING:
        return f"{NO_CHOICE}, and it would not end in the time that is paid for on {_kinds(idle)}"
    if run.phase is Phase.SAMPLING:
        return f"the sample has no more for {_kinds(idle)}"
    if all(m.leaving for m in idle):
        return f"it would not end before {_kinds(idle)} must leave"
    if any(investments.lengths(run, m.cluster).count for m in idle if not m.offering.free):
        left = f"what {whose_money(run)} leaves" if run.ledger.capped else "the money left"
        return f"{left} does not cover another task on {_kinds(idle)}"
    return f"a slot of {_kinds(idle)} has only just become free"


def _why_no_machine(run: RunView) -> str:
    coming = [m for m in run.pool.alive() if m.state is MachineState.REQUESTED]
    if coming:
        asked = in_words(run.now - min(m.requested_at for m in coming))
        return f"no machine is there yet; asked for {asked} ago: {_kinds(coming)}"
    if silent := [m for m in run.pool.alive() if m.state is MachineState.SILENT]:
        return f"nothing is heard of {_kinds(silent)}"
    if run.phase is Phase.CHOOSING:
        return f"{NO_CHOICE}, and no machine is paid for until then"
    if run.waits_for_cap:
        return held_up(run)
    if run.short_of_money:
        return "the money left pays for no machine"
    return _others_have(run) or "no machine is there"


def for_others(run: RunView) -> str:
    """`other bags have the machines of slow and fast`: while it has none of any kind; else ""."""
    waits = run.phase not in (Phase.ENDING, Phase.ENDED) and run.pause is None
    idle = run.tasks.waiting and not run.pool.alive()
    return _others_have(run) if waits and idle else ""


def _others_have(run: RunView) -> str:
    taken = [c.offering.name for c in run.clusters if c.startable and c.held_back]
    return f"other bags have the machines of {' and '.join(taken)}" if taken else ""


def _kinds(machines: Sequence[MachineView]) -> str:
    """`2 slow + 1 fast`"""
    counts: dict[str, int] = {}
    for machine in machines:
        counts[machine.offering.name] = counts.get(machine.offering.name, 0) + 1
    return " + ".join(f"{number} {name}" for name, number in counts.items())
