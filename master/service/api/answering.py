"""Requests by their verbs, each with its handler; what goes wrong is said in one sentence.

`bag` in a body is a number, a name, or "last".
"""

import asyncio
from collections import ChainMap
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, cast

import structlog

from bats.common.errors import BatsError, UsageError
from bats.common.messages import Chunk, Reply, Request
from bats.common.wire.codec import encode
from bats.master.queries.by_verb import QUERIES
from bats.master.service.api import (
    additions,
    cap_requests,
    changes,
    hand_workers,
    placement_requests,
    rights,
    users,
)
from bats.master.service.api.call import Call, Service
from bats.master.service.wire.router import Router

log = structlog.get_logger()

_MOST_OPEN: Final = 200  # requests of one connection being worked on
_ROOM_BYTES: Final = 8 << 20  # a long answer waits while so much has not been taken
_BUG: Final = 70  # exit code of what is our fault

__all__ = ["VERBS", "Call", "Requests", "Service"]


async def _unknown(_: Call) -> Mapping[str, Any]:
    raise UsageError(f"This master can be asked for {', '.join(sorted(VERBS))}, and nothing else.")


Handler = Callable[[Call], Awaitable[Mapping[str, Any]]]

_CHANGES: Final[MutableMapping[str, Handler]] = {
    "submit": changes.submit,
    "release": changes.release,
    "choose": changes.choose,
    "allow": changes.allow,
    "drop": changes.drop,
    "add": additions.add,
    "close": additions.close,
    "retry": changes.retry,
    "pause": changes.pause,
    "weigh": changes.weigh,
    "resume": changes.resume,
    "cancel": changes.cancel,
    "prune": changes.prune,
    "forget": changes.forget,
    "orphans": changes.orphans,
    "users": users.users,
    "invite": users.invite,
    "dismiss": users.dismiss,
    "workers": hand_workers.workers,
    "revoke": hand_workers.revoke,
    "caps": cap_requests.caps,
    "cap": cap_requests.set_cap,
    "uncap": cap_requests.remove_cap,
    "placement": placement_requests.placement,
    "place": placement_requests.place,
    "snapshot": changes.snapshot,
    "shutdown": changes.shutdown,
}
VERBS: Final[Mapping[str, Handler]] = ChainMap(
    _CHANGES, cast("MutableMapping[str, Handler]", QUERIES)
)


class Requests:
    """Works on requests beside each other, each as a task of its own."""

    def __init__(self, service: Service, router: Router) -> None:
        self._service = service
        self._router = router
        self._open: dict[bytes, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, route: bytes, request: Request, user: str = "") -> None:
        count = self._open.get(route, 0)
        if count >= _MOST_OPEN:
            self._reply(route, request, {}, f"{count} requests are open; wait for some answers.", 4)
            return
        self._open[route] = count + 1
        task = asyncio.get_running_loop().create_task(self._work(route, request, user))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, route: bytes, request: Request, user: str) -> None:
        async def part(body: Mapping[str, Any]) -> None:
            self._router.send(route, encode(Chunk(request.id, dict(body))))
            await self._router.room(route, _ROOM_BYTES)

        try:
            handler = VERBS.get(request.verb, _unknown)
            rights.check(user, request.verb)
            body = await handler(Call(self._service, request.body, part, user))
            self._reply(route, request, body)
        except BatsError as error:
            self._reply(route, request, {}, str(error), error.exit_code)
        except Exception as error:
            log.exception("request failed", verb=request.verb)
            words = f"The master failed at `{request.verb}`: {type(error).__name__}: {error}."
            self._reply(route, request, {}, words, _BUG)
        finally:
            left = self._open[route] - 1
            if left:
                self._open[route] = left
            else:
                del self._open[route]

    def _reply(
        self,
        route: bytes,
        request: Request,
        body: Mapping[str, Any],
        error: str = "",
        exit_code: int = 0,
    ) -> None:
        self._router.send(route, encode(Reply(request.id, dict(body), error, exit_code)))
