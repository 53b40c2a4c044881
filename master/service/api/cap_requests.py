"""Requests about caps over several bags: shown, set and removed."""

from bats.common.errors import UsageError
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetCaps, RemoveCap, SetCap
from bats.master.service.api.call import Call
from bats.master.service.money.cap_file import cap_of, period_of


@takes(GetCaps)
async def caps(call: Call, _: GetCaps) -> replies.Caps:
    return call.service.bags.caps.told()


@takes(SetCap)
async def set_cap(call: Call, want: SetCap) -> replies.Caps:
    """In place of the cap of that user and period, if there is one."""
    standing = call.service.bags.caps
    cap = cap_of(want, call.service.options.currency)
    others = [one for one in standing.file.caps if one.place != cap.place]
    await standing.stand([*others, cap], call.read)
    return call.service.bags.caps.told()


@takes(RemoveCap)
async def remove_cap(call: Call, want: RemoveCap) -> replies.Caps:
    standing = call.service.bags.caps
    place = want.user, period_of(want.period).value
    others = [one for one in standing.file.caps if one.place != place]
    if len(others) == len(standing.file.caps):
        raise UsageError("There is no such cap; `bats cap` shows those that stand.")
    await standing.stand(others, call.read)
    return call.service.bags.caps.told()
