"""What clients may ask: a handler per verb; what goes wrong is said in one sentence.

`bag` in a body is a number, a name, or "last".
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from bats.common.codec import encode
from bats.common.errors import BatsError, UsageError
from bats.common.messages import Chunk, Reply, Request
from bats.master.service import changing, looking
from bats.master.service.asked import Asked, Body, Service
from bats.master.service.router import Router

log = structlog.get_logger()

_MOST_OPEN: Final = 200  # requests of one connection being worked on
_ROOM_BYTES: Final = 8 << 20  # a long answer waits while so much has not been taken
_BUG: Final = 70  # exit code of what is our fault

__all__ = ["VERBS", "Asked", "Requests", "Service"]


async def _unknown(_: Asked) -> Body:
    raise UsageError(f"This master can be asked for {', '.join(sorted(VERBS))}, and nothing else.")


VERBS: Final[Mapping[str, Callable[[Asked], Awaitable[Body]]]] = {
    "submit": changing.submit,
    "release": changing.release,
    "choose": changing.choose,
    "retry": changing.retry,
    "resume": changing.resume,
    "cancel": changing.cancel,
    "prune": changing.prune,
    "shutdown": changing.shutdown,
    "bags": looking.bags,
    "status": looking.status,
    "wait": looking.wait,
    "schedules": looking.schedules,
    "explain": looking.explain,
    "machines": looking.machines,
    "orphans": looking.orphans,
    "decisions": looking.decisions,
    "tasks": looking.tasks,
    "task": looking.task,
    "results": looking.results,
    "log": looking.log,
    "export": looking.export,
    "snapshot": looking.snapshot,
}


class Requests:
    """Works on requests beside each other, each as a task of its own."""

    def __init__(self, service: Service, router: Router) -> None:
        self._service = service
        self._router = router
        self._open: dict[bytes, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, route: bytes, request: Request) -> None:
        count = self._open.get(route, 0)
        if count >= _MOST_OPEN:
            self._reply(route, request, {}, f"{count} requests are open; wait for some answers.", 4)
            return
        self._open[route] = count + 1
        task = asyncio.get_running_loop().create_task(self._work(route, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, route: bytes, request: Request) -> None:
        async def part(body: Body) -> None:
            self._router.send(route, encode(Chunk(request.id, body)))
            await self._router.room(route, _ROOM_BYTES)

        try:
            handler = VERBS.get(request.verb, _unknown)
            body = await handler(Asked(self._service, request.body, part))
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
        self, route: bytes, request: Request, body: Body, error: str = "", exit_code: int = 0
    ) -> None:
        self._router.send(route, encode(Reply(request.id, body, error, exit_code)))
