"""Asking with requests that have a type: the answer has the one that its request declares."""

from collections.abc import AsyncIterator
from typing import Any, Protocol, TypeVar, cast

from bats.master.api.requests import Request

R = TypeVar("R")


class Asks(Protocol):
    """A master, or a store that answers in its stead."""

    async def ask(self, verb: str, **body: Any) -> dict[str, Any]: ...


class Streams(Protocol):
    def stream(self, verb: str, **body: Any) -> AsyncIterator[dict[str, Any]]: ...


async def ask(whom: Asks, request: Request[R]) -> R:
    return cast("R", await whom.ask(request.verb, **request.body()))


def parts(whom: Streams, request: Request[Any]) -> AsyncIterator[Any]:
    """The parts of a long answer; each is what the request says."""
    return whom.stream(request.verb, **request.body())
