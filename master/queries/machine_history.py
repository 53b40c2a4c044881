"""Machines of a bag, every one that it had; and those that live, by who pays for them."""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from bats.common.messages import BagId, MachineId
from bats.common.money import NOTHING, Money
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetMachines
from bats.master.brain.books.machine import MachineState
from bats.master.brain.household.household import HouseholdView, MachineShares
from bats.master.brain.protocol.numbering import serves_all
from bats.master.brain.views.told.view import MachineView, RunView
from bats.master.plain_data import plain
from bats.master.queries.lent_machines import Loan, loans_of
from bats.master.queries.question import LiveBag, Question
from bats.master.store.rows import MachineRow

BY_HAND: Final = "started by hand"
"""The name of common machines whose workers say no offering."""


@takes(GetMachines)
async def machines(question: Question, want: GetMachines) -> replies.Machines:
    number = await question.bag(want.bag)
    rows = await question.read(lambda reader: reader.machines(number))
    at_work = question.at_work(number)
    told = _told(rows, at_work)
    if at_work is not None:
        for one in told:
            if one["state"] in {"requested", "starting"}:
                state, address, why = question.master().waiting(MachineId(one["number"]))
                one["state"], one["address"] = state or one["state"], one["address"] or address
                one["reason"] = one["reason"] or why
    borrowed, lent = await question.read(lambda reader: loans_of(reader, number))
    return {"bag": number, "machines": told, "borrowed": _lines(borrowed), "lent": _lines(lent)}


def _lines(loans: list[Loan]) -> list[replies.LoanLine]:
    return [cast("replies.LoanLine", one._asdict()) for one in loans]


def _told(rows: list[MachineRow], at_work: LiveBag | None) -> list[replies.MachineLine]:
    """Every machine the bag ever had; those that live, with what the engine knows of them."""
    living: dict[MachineId, dict[str, Any]] = {}
    if at_work is not None:
        rows = list({row.id: row for row in (*rows, *at_work.machines.rows.values())}.values())
        now = at_work.clock()
        living = {MachineId(m.id): plain(m) for m in at_work.engine.view(now).machines}
    told = []
    for row in rows:
        left = {"state": "let go" if serves_all(row.id) else "gone"}
        facts = plain(row) | living.get(row.id, left) | {"number": row.id}
        del facts["public_key"]
        told.append(cast("replies.MachineLine", facts))
    return told


# --- by who pays for them -------------------------------------------------------------------------


def by_owner(
    running: Mapping[BagId, LiveBag], views: Mapping[BagId, RunView], shares: HouseholdView
) -> list[replies.OwnedMachines]:
    """The machines that live, each once: of each bag by offering, then the common ones by kind."""
    told = []
    shared = {one.machine: one for one in shares.machines}
    for bag, view in views.items():
        alive = [one for one in view.machines if not serves_all(MachineId(one.id))]
        for name in dict.fromkeys(one.cluster for one in alive):
            own = [one for one in alive if one.cluster == name]
            lent = [shared.pop(MachineId(one.id)) for one in own if one.id in shared]
            told.append(_owned(bag, name, own, lent, running))
    return told + _common(running, list(shared.values()))


def _owned(
    bag: BagId,
    name: str,
    machines: list[MachineView],
    lent: list[MachineShares],
    running: Mapping[BagId, LiveBag],
) -> replies.OwnedMachines:
    working = [one for one in machines if one.state == MachineState.UP.value]
    whole = {one.machine: one.slots for one in lent}  # of a free one its bag has a share
    return {
        "bag": bag,
        "offering": name,
        "machines": len(working),
        "starting": sum(one.state == MachineState.REQUESTED.value for one in machines),
        "slots": sum(max(one.slots, whole.get(MachineId(one.id), 0)) for one in working),
        "running": sum(_tasks_on(MachineId(one.id), running) for one in machines),
        "spent": Money(sum(one.cost for one in machines)),
        "currency": running[bag].bag.settings.currency,
        "shares": _slots_of_bags(lent, running),
    }


def _common(
    running: Mapping[BagId, LiveBag], machines: list[MachineShares]
) -> list[replies.OwnedMachines]:
    told: list[replies.OwnedMachines] = []
    for kind in dict.fromkeys(one.kind for one in machines):
        alike = [one for one in machines if one.kind == kind]
        told.append(
            {
                "bag": None,
                "offering": kind or BY_HAND,
                "machines": len(alike),
                "starting": 0,
                "slots": sum(one.slots for one in alike),
                "running": sum(_tasks_on(one.machine, running) for one in alike),
                "spent": NOTHING,
                "currency": "",
                "shares": _slots_of_bags(alike, running),
            }
        )
    return told


def _tasks_on(machine: MachineId, running: Mapping[BagId, LiveBag]) -> int:
    return sum(one.engine.running_on(machine) for one in running.values())


def _slots_of_bags(
    machines: list[MachineShares], bags: Collection[BagId]
) -> list[replies.SharedSlots]:
    had = {bag: sum(one.granted.get(bag, 0) for one in machines) for bag in bags}
    return [{"bag": bag, "slots": slots} for bag, slots in had.items() if slots]
