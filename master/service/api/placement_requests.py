"""Requests about the placement by name: which task of which bag goes first."""

from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetPlacement, SetPlacement
from bats.master.brain.household.placements import PLACEMENTS
from bats.master.service.api.call import Call


@takes(GetPlacement)
async def placement(call: Call, _: GetPlacement) -> replies.Placement:
    household = call.service.bags.side_by_side.household
    return {
        "placement": household.placement.name,
        "sharing": household.sharing,
        "known": [{"name": one.name, "words": one.words} for one in PLACEMENTS.values()],
    }


@takes(SetPlacement)
async def place(call: Call, want: SetPlacement) -> replies.Placement:
    call.service.bags.side_by_side.place(want.placement)
    await call.service.committed()
    return await placement(call)
