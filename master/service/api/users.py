"""Requests about users: keys of clients that carry a name."""

from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import Dismiss, GetUsers, Invite
from bats.master.service.api.call import Call


@takes(GetUsers)
async def users(call: Call, _: GetUsers) -> replies.Users:
    return {"users": list(call.service.users())}


@takes(Invite)
async def invite(call: Call, want: Invite) -> replies.Invited:
    return {"user": want.user, "access": str(call.service.invite(want.user))}


@takes(Dismiss)
async def dismiss(call: Call, want: Dismiss) -> replies.Users:
    call.service.dismiss(want.user)
    return {"users": list(call.service.users())}
