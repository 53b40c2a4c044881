"""Checks of a message's fields: one for each, built from its annotation.

Numbers are finite and not negative, except where `_RANGES` says so. Text and lists are bounded
by the size of the frame they came in.
"""

import math
import typing
from collections.abc import Callable
from itertools import islice
from typing import Any, Final, get_args, get_origin

from bats.common import messages as m
from bats.common.errors import BatsError

_LARGEST_INT: Final = 2**63 - 1
_RANGES: Final = {
    "exit_code": (-(2**31), 2**31),  # negative: ended by that signal
    "machine": (-1, _LARGEST_INT),  # -1: not numbered yet
    "attempt": (1, 2**31),
}


class ProtocolError(BatsError):
    """The peer sent what is no message of ours; nothing of it was taken in."""


Check = Callable[[Any, str], Any]
"""Turns what msgpack unpacked into what a field holds, or raises `ProtocolError`."""


def _whole(low: int, high: int) -> Check:
    def check(value: Any, where: str) -> int:
        if type(value) is int and low <= value <= high:
            return value
        raise ProtocolError(f"{where}: {_shown(value)} is not a whole number in {low}..{high}")

    return check


def _real(value: Any, where: str) -> float:
    if type(value) is float and 0.0 <= value < math.inf:
        return value
    if type(value) is int and 0 <= value <= _LARGEST_INT:
        return float(value)
    raise ProtocolError(f"{where}: {_shown(value)} is not a finite number from 0")


def _outcome(value: Any, where: str) -> m.Outcome:
    return m.Outcome(_whole(min(m.Outcome), max(m.Outcome))(value, where))


def _exactly(kind: type[Any], called: str) -> Check:
    def check(value: Any, where: str) -> Any:
        if type(value) is kind:
            return value
        raise ProtocolError(f"{where}: {_shown(value)} is not {called}")

    return check


def _many(item: Check) -> Check:
    def check(value: Any, where: str) -> tuple[Any, ...]:
        if type(value) is not tuple and type(value) is not list:
            raise ProtocolError(f"{where}: {_shown(value)} is not a list")
        return tuple([item(one, where) for one in value])

    return check


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if type(value) is tuple and set(map(type, value)) <= {str}:
        return value
    raise ProtocolError(f"{where}: {_shown(value)} is not a list of texts")


def _row(checks: tuple[tuple[Check, str], ...], build: Callable[[Any], Any] | None) -> Check:
    def check(value: Any, where: str) -> Any:
        if type(value) is not tuple or len(value) != len(checks):
            raise ProtocolError(f"{where}: {_shown(value)} is not a row of {len(checks)}")
        row = tuple(
            [
                check(one, f"{where}.{name}")
                for one, (check, name) in zip(value, checks, strict=True)
            ]
        )
        return row if build is None else build(row)

    return check


def _keyed(value: Any, where: str) -> dict[str, Any]:
    if type(value) is dict and set(map(type, value)) <= {str}:
        return value
    raise ProtocolError(f"{where}: {_shown(value)} is not a table with text keys")


def _text_table(value: Any, where: str) -> dict[str, str]:
    if set(map(type, _keyed(value, where).values())) <= {str}:
        return typing.cast("dict[str, str]", value)
    raise ProtocolError(f"{where}: values must be texts")


def _result(slow: Check) -> Check:
    """Most results pass one comparison of types and one of ranges; the others are told why not."""
    ordinary = (int, int, int, int, int, float, float, float, int, int, str, int, tuple)
    outcomes, new, endless = tuple(m.Outcome), tuple.__new__, math.inf
    failed, added = int(m.Outcome.NOT_STARTED), tuple(m.Result._field_defaults.values())[1:]

    def check(value: Any, where: str) -> m.Result:
        if type(value) is tuple and tuple(map(type, value)) == ordinary:
            bag, task, attempt, outcome, code, wall, user, system, peak, size, _, slot, files = (
                value
            )
            if (
                0 <= outcome <= failed
                and -255 <= code <= 255
                and attempt > 0 <= bag
                and task >= 0 <= peak
                and size >= 0 <= slot
                and 0.0 <= wall < endless
                and 0.0 <= user < endless
                and 0.0 <= system < endless
                and not files
            ):
                return new(m.Result, (*value[:3], outcomes[outcome], *value[4:], *added))
        return typing.cast("m.Result", slow(value, where))

    return check


def _order(slow: Check) -> Check:
    ordinary, text, new = (int, int, tuple), {str}, tuple.__new__

    def check(value: Any, where: str) -> m.Order:
        if type(value) is tuple and tuple(map(type, value)) == ordinary:
            task, attempt, values = value
            if task >= 0 < attempt and set(map(type, values)) <= text:
                return new(m.Order, value)
        return typing.cast("m.Order", slow(value, where))

    return check


def check_for(hint: Any, name: str) -> Check:
    """The check that an annotation asks for. A field of a new kind must be taught here."""
    hint = getattr(hint, "__supertype__", hint)  # NewType
    origin, args = get_origin(hint), get_args(hint)
    if hint is int:
        return _whole(*_RANGES.get(name, (0, _LARGEST_INT)))
    if hint is m.Outcome:
        return _outcome
    if hint is float:
        return _real
    if hint is str:
        return _exactly(str, "a text")
    if hint is bytes:
        return _exactly(bytes, "bytes")
    if hint is bool:
        return _exactly(bool, "true or false")
    if origin is dict:
        return _text_table if args[1] is str else _keyed
    if origin is tuple and args[-1] is Ellipsis:
        return _texts if args[0] is str else _many(check_for(args[0], name))
    if origin is tuple:
        return _row(tuple((check_for(a, str(i)), str(i)) for i, a in enumerate(args)), None)
    if isinstance(hint, type) and hasattr(hint, "_make"):
        hints = typing.get_type_hints(hint)
        told = m.TOLD_BY_WORKER if hint is m.Result else len(hints)
        checks = tuple((check_for(h, n), n) for n, h in islice(hints.items(), told))
        slow = _row(checks, lambda values: hint(*values))
        return _result(slow) if hint is m.Result else _order(slow) if hint is m.Order else slow
    raise TypeError(f"no check for {name}: {hint}")


def _shown(value: Any) -> str:
    """Short, whatever it is: this text goes to logs and back to the peer."""
    if type(value) in {tuple, list, dict, bytes} or (type(value) is str and len(value) > 40):
        return f"{type(value).__name__} of {len(value)}"
    return repr(value)[:60]
