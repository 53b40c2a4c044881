"""Requests about caps over several bags: shown, set and removed."""

from bats.common.errors import UsageError, quoted
from bats.common.money import NOTHING
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetCaps, RemoveCap, SetCap
from bats.master.brain.household.cap import UTC_NAME, Cap, Period, zone_of
from bats.master.service.api.call import Call

_PERIODS = ", ".join(period.value for period in Period)


@takes(GetCaps)
async def caps(call: Call, _: GetCaps) -> replies.Caps:
    return call.service.bags.caps.told()


@takes(SetCap)
async def set_cap(call: Call, want: SetCap) -> replies.Caps:
    """In place of the cap of that user and period, if there is one."""
    standing = call.service.bags.caps
    cap = _cap(want, call.service.options.currency)
    others = [one for one in standing.file.caps if one.place != cap.place]
    await standing.stand([*others, cap], call.read)
    return call.service.bags.caps.told()


@takes(RemoveCap)
async def remove_cap(call: Call, want: RemoveCap) -> replies.Caps:
    standing = call.service.bags.caps
    place = want.user, _period(want.period).value
    others = [one for one in standing.file.caps if one.place != place]
    if len(others) == len(standing.file.caps):
        raise UsageError("There is no such cap; `bats cap` shows those that stand.")
    await standing.stand(others, call.read)
    return call.service.bags.caps.told()


def _cap(want: SetCap, currency: str) -> Cap:
    if want.amount <= NOTHING:
        raise UsageError("A cap is more than nothing; `bats pause` lets a bag stand still.")
    zone = want.zone or UTC_NAME
    try:
        zone_of(zone)
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"This computer knows no time zone {quoted(zone)}; write for example Europe/Berlin."
        ) from None
    return Cap(want.amount, _period(want.period), want.user, zone, currency)


def _period(text: str) -> Period:
    try:
        return Period(text)
    except ValueError:
        raise UsageError(f"A cap is for one of {_PERIODS}, not {quoted(text)}.") from None
