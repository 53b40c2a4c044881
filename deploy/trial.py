"""An offering tried for real: a machine is started, runs `true`, is stopped; how long each took.

The machine joins a small master made for this; nothing of it stays.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bats.common.messages import MachineId, Outcome
from bats.common.records import dataclass
from bats.common.ticket import Ticket
from bats.deploy.endpoint import Endpoint
from bats.deploy.protocol import Backend, BackendError, Sighting, State

_TASK_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 120.0
_FIRST_LOOK_SECONDS: Final = 0.05
_GROWTH: Final = 1.5  # from one look to the next
_LONGEST_PAUSE_SECONDS: Final = 2.0
_LOG_LINES: Final = 12


@dataclass(frozen=True, slots=True)
class Trial:
    """The seconds that each step took, as it is felt here."""

    queued_seconds: float  # of the next, uncharged in the back end's queue
    join_seconds: float  # from the request until the worker had joined
    task_seconds: float  # from sending `true` to its result
    stop_seconds: float  # from asking until the machine was gone
    charged_seconds: float | None  # as the provider counts it
    address: str


async def attempt(
    backend: Backend, master: Endpoint, ready: Callable[[Ticket], Ticket], patience_seconds: float
) -> Trial:
    """Try one machine; `ready` completes its ticket. Raises BackendError with what went wrong.

    The machine is asked to stop whatever happens.
    """
    ticket = ready(master.ticket(lease_seconds=patience_seconds + _TASK_SECONDS + _STOP_SECONDS))
    machine = ticket.machine
    clock = asyncio.get_running_loop().time
    asked_at = clock()
    watch = _Watch(backend, machine)
    try:
        watch.saw((await backend.start([ticket]))[machine])
        await watch.until(lambda: master.has_joined(machine), patience_seconds, "join")
        joined_at = clock()
        try:
            result = await master.run(machine, "true", _TASK_SECONDS)
        except AssertionError:
            raise BackendError(
                await watch.explained(f"`true` took over {_TASK_SECONDS:g} s")
            ) from None
        if result.outcome != Outcome.DONE:
            raise BackendError(await watch.explained(f"`true` failed: {result.excerpt}"))
        ran_at = clock()
    finally:
        await backend.stop([machine])
    stopped = await watch.until(lambda: False, _STOP_SECONDS, "stop", gone=True)
    return Trial(
        queued_seconds=watch.queued_seconds,
        join_seconds=joined_at - asked_at,
        task_seconds=ran_at - joined_at,
        stop_seconds=clock() - ran_at,
        charged_seconds=stopped.charged_seconds,
        address=stopped.address or watch.address,
    )


class _Watch:
    """Asks the back end about one machine until something is true, or cannot be any more."""

    def __init__(self, backend: Backend, machine: MachineId) -> None:
        self._backend = backend
        self._machine = machine
        self._clock = asyncio.get_running_loop().time
        self._queued_since: float | None = None
        self.queued_seconds = 0.0
        self.address = ""
        self.seen = Sighting(State.REQUESTED)

    def saw(self, seen: Sighting) -> None:
        now = self._clock()
        if seen.state is State.QUEUED:
            self._queued_since = self._queued_since or now
        elif self._queued_since is not None:
            self.queued_seconds += now - self._queued_since
            self._queued_since = None
        self.address = seen.address or self.address
        self.seen = seen

    async def until(
        self, true: Callable[[], bool], patience_seconds: float, what: str, *, gone: bool = False
    ) -> Sighting:
        """`gone`: that is what is waited for; else it is what went wrong."""
        ends = self._clock() + patience_seconds
        pause = _FIRST_LOOK_SECONDS
        while not true():
            if self.seen.state is State.GONE:
                if gone:
                    break
                raise BackendError(f"its machine is gone: {self.seen.detail or 'nobody said why'}")
            if self._clock() > ends:
                state = f"it is {self.seen.state.value}"
                raise BackendError(
                    await self.explained(f"did not {what} within {patience_seconds:g} s; {state}")
                )
            await asyncio.sleep(pause)
            pause = min(_GROWTH * pause, _LONGEST_PAUSE_SECONDS)
            self.saw((await self._backend.status([self._machine]))[self._machine])
        return self.seen

    async def explained(self, said: str) -> str:
        """The reason with the last lines of the worker's log."""
        try:
            lines = (await self._backend.log(self._machine)).strip().splitlines()
        except BackendError as error:
            lines = [f"(its log cannot be had: {error})"]
        return "\n".join([said, *lines[-_LOG_LINES:]])


def at(*addresses: str) -> Callable[[Ticket], Ticket]:
    """Tickets for machines that are to try these addresses of the master."""
    return lambda ticket: replace(ticket, master=addresses or ticket.master)
