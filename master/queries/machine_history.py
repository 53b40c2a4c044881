"""Machines of a bag: every one that it had, since when, at what cost and why it is gone."""

from typing import Any, cast

from bats.common.messages import MachineId
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetMachines
from bats.master.plain_data import plain
from bats.master.queries.question import LiveBag, Question
from bats.master.store.rows import MachineRow


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
    return {"bag": number, "machines": told}


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
