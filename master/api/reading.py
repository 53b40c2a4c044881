"""Requests read from what a client sent: each field checked, or refused in a sentence."""

import functools
import types
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING, Field, fields
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from bats.common.errors import UsageError, quoted
from bats.common.money import Money
from bats.master.api.requests import Request, Submit

R = TypeVar("R")

_LONGEST_SECONDS: Final = 1e9
_CALLED: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
}


class Asked(Protocol):
    """A request on its way to its handler."""

    @property
    def body(self) -> Mapping[str, Any]: ...


Q = TypeVar("Q", bound=Asked)


def takes(
    kind: type[Request[R]],
) -> Callable[[Callable[[Q, Any], Awaitable[R]]], Callable[[Q], Awaitable[R]]]:
    """Declares what a handler is asked for, which is read for it, and what it answers."""

    def declared(handler: Callable[[Q, Any], Awaitable[R]]) -> Callable[[Q], Awaitable[R]]:
        @functools.wraps(handler)
        async def handle(asked: Q) -> R:
            return await handler(asked, read(kind, asked.body))

        handle.request = kind  # type: ignore[attr-defined]
        return handle

    return declared


def read(kind: type[Request[Any]], body: Mapping[str, Any]) -> Request[Any]:
    """The request in a body; keys that it does not know are another release's. UsageError.

    Of a submission all keys must be known; what they hold is checked where a bag is made of it.
    """
    if kind is Submit:
        return submission(body)
    hints = _hints(cast("Any", kind))
    return kind(**{one.name: _field(one, hints[one.name], body) for one in fields(kind)})


def submission(given: Mapping[str, Any]) -> Submit:
    """Raises UsageError that names a key which is none of a submission."""
    known = [one.name for one in fields(Submit)]
    if unknown := sorted(set(given) - set(known)):
        near = get_close_matches(unknown[0], known, 1)
        meant = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."
        raise UsageError(f"`{unknown[0]}` is no key of a submission; {meant}")
    if not isinstance(given.get("sweep"), Mapping):
        raise UsageError("`sweep` is missing: there is nothing to run.")
    if not isinstance(given.get("after") or [], list | tuple):
        raise UsageError(f"`after` should be a list of bags, not {quoted(given['after'])}.")
    return Submit(**given)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _field(one: Field[Any], hint: Any, body: Mapping[str, Any]) -> Any:
    value = body.get(one.name)
    if value is None:
        if one.default is not MISSING:
            return one.default
        if one.default_factory is not MISSING:
            return one.default_factory()
    return _checked(one.name, hint, value)


def _checked(key: str, hint: Any, value: Any) -> Any:
    if get_origin(hint) in {Union, types.UnionType}:
        kinds = [kind for kind in get_args(hint) if kind is not types.NoneType]
        return value if len(kinds) > 1 else _checked(key, kinds[0], value)
    if hint is Money:
        return Money(_whole(key, value))
    if hint is int:
        return _whole(key, value)
    if hint is float:
        if type(value) not in {int, float} or not 0 <= value < _LONGEST_SECONDS:
            raise UsageError(f"`{key}` should be a number of seconds, not {quoted(value)}.")
        return float(value)
    return _of_kind(key, get_origin(hint) or hint, value)


def _whole(key: str, value: Any) -> int:
    whole: int = _of_kind(key, int, value)
    if whole < 0:
        raise UsageError(f"`{key}` should be 0 or more, not {whole}.")
    return whole


def _of_kind(key: str, kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise UsageError(f"`{key}` should be {_CALLED[kind]}, not {quoted(value)}.")
    return value
