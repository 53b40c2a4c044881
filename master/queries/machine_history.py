"""Machines of a bag, every one that it had; and those that live, by who pays for them."""

from collections.abc import Mapping
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
        facts = plain(row) | living.get(row.id, {"state": "gone"}) | {"number": row.id}
        del facts["public_key"]
        told.append(cast("replies.MachineLine", facts))
    return told


# --- by who pays for them -------------------------------------------------------------------------


def by_owner(
    views: Mapping[BagId, RunView], currencies: Mapping[BagId, str], shares: HouseholdView
) -> list[replies.OwnedMachines]:
    """The machines that live: of each bag by offering, then the common ones by kind."""
    told = []
    for bag, view in views.items():
        alive = [one for one in view.machines if not serves_all(MachineId(one.id))]
        for name in dict.fromkeys(one.cluster for one in alive):
            own = [one for one in alive if one.cluster == name]
            told.append(_owned(bag, name, own, currencies[bag]))
    return told + _common(views, shares)


def _owned(
    bag: BagId, name: str, machines: list[MachineView], currency: str
) -> replies.OwnedMachines:
    working = [one for one in machines if one.state == MachineState.UP.value]
    return {
        "bag": bag,
        "offering": name,
        "machines": len(working),
        "starting": sum(one.state == MachineState.REQUESTED.value for one in machines),
        "slots": sum(one.slots for one in working),
        "running": sum(one.running for one in machines),
        "spent": Money(sum(one.cost for one in machines)),
        "currency": currency,
        "shares": [],
    }


def _kind(one: MachineShares) -> str:
    return one.kind if one.paid_by is None else f"paid by bag {one.paid_by}"


def _common(views: Mapping[BagId, RunView], shares: HouseholdView) -> list[replies.OwnedMachines]:
    running = {(bag, one.id): one.running for bag, view in views.items() for one in view.machines}
    told: list[replies.OwnedMachines] = []
    for kind in dict.fromkeys(map(_kind, shares.machines)):
        alike = [one for one in shares.machines if _kind(one) == kind]
        had = {bag: sum(one.granted.get(bag, 0) for one in alike) for bag in views}
        told.append(
            {
                "bag": None,
                "offering": kind or BY_HAND,
                "machines": len(alike),
                "starting": 0,
                "slots": sum(one.slots for one in alike),
                "running": sum(
                    running.get((bag, one.machine), 0) for one in alike for bag in views
                ),
                "spent": NOTHING,
                "currency": "",
                "shares": [{"bag": bag, "slots": slots} for bag, slots in had.items() if slots],
            }
        )
    return told
