"""An offering's back end table, read into the back end's own dataclass, key by key."""

import dataclasses
import types
import typing
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from bats.common.errors import UsageError
from bats.common.offering import Offering

T = TypeVar("T")

UNIONS: Final = (types.UnionType, typing.Union)  # `str | int`, and with a Literal in it


def read(kind: type[T], offering: Offering) -> T:
    """Fill the dataclass `kind` from `offering.settings`; UsageError names the key that is wrong.

    Fields may be str, bool, int, float, tuple[str, ...], and unions of these. A single string is
    taken for a tuple of one, a whole number for a float.
    """
    where = f"offering {offering.name}, back end {offering.backend}"
    hints = typing.get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in offering.settings.items():
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."
            raise UsageError(f"{where}: there is no setting `{key}`; {hint}")
        fits, values[key] = _fit(value, hints[key])
        if not fits:
            raise UsageError(f"{where}: `{key} = {value!r}` should be {_say(hints[key])}.")
    try:
        return kind(**values)
    except TypeError:
        missing = [
            field.name
            for field in dataclasses.fields(kind)  # type: ignore[arg-type]
            if field.name not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        raise UsageError(f"{where}: `{missing[0]}` must be given.") from None
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def _fit(value: Any, hint: Any) -> tuple[bool, Any]:
    """Two answers: True if a value is of that type, and the value as that type."""
    if typing.get_origin(hint) in UNIONS:
        for option in typing.get_args(hint):
            fits, taken = _fit(value, option)
            if fits:
                return True, taken
        return False, value
    if typing.get_origin(hint) is tuple:
        items = (value,) if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            return False, value
        return all(isinstance(item, str) for item in items), tuple(items)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number, float(value) if number else value
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if typing.get_origin(hint) is typing.Literal:
        return value in typing.get_args(hint), value
    return isinstance(value, hint), value


def _say(hint: Any) -> str:
    if typing.get_origin(hint) in UNIONS:
        return " or ".join(_say(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return "a list of texts"
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(repr(option) for option in typing.get_args(hint))
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(hint, "nothing")
