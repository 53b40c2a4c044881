"""Requests about who may come: keys of workers started by hand, listed and revoked."""

from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetHandKeys, RevokeHandKey
from bats.master.service.api.call import Call


@takes(GetHandKeys)
async def workers(call: Call, _: GetHandKeys) -> replies.HandKeys:
    return {
        "workers": [
            {
                "key": one.short,
                "machine": one.machine if one.machine > 0 else None,
                "host": one.host,
                "since": one.since,
                "there": call.service.is_there(one.machine),
            }
            for one in call.service.hand_keys.all()
        ]
    }


@takes(RevokeHandKey)
async def revoke(call: Call, want: RevokeHandKey) -> replies.HandKeyRevoked:
    gone = call.service.lock_out(want.key)
    return {"key": gone.short, "machine": gone.machine, "host": gone.host}
