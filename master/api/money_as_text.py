"""Money as exact text, found among facts by its type: JSON has no billionths."""

import functools
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import (
    Any,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from bats.common.money import Money, as_decimal


def money_as_text(value: Any, kind: Any = None) -> Any:
    """The facts again, with `"0.0125"` where their `kind` says Money, and bytes as text.

    Dataclasses among them tell their kind themselves.
    """
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if is_dataclass(value) and not isinstance(value, type):
        kind, value = type(value), {one.name: getattr(value, one.name) for one in fields(value)}
    kind = _bare(kind)
    if kind is Money and type(value) is int:
        return f"{as_decimal(Money(value)).normalize():f}"
    if isinstance(value, Mapping):
        keys, others = _parts(kind)
        return {str(k): money_as_text(part, keys.get(k, others)) for k, part in value.items()}
    if isinstance(value, list | tuple):
        (of_each, *_) = get_args(kind) or (None,)
        return [money_as_text(part, of_each) for part in value]
    return value


def _parts(kind: Any) -> tuple[Mapping[str, Any], Any]:
    """The kinds of a table's values: of those of known keys, and of the others."""
    if is_typeddict(kind) or is_dataclass(kind):
        return _hints(kind), None
    if get_origin(kind) is dict:
        return {}, get_args(kind)[1]
    return {}, None


@functools.cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _bare(kind: Any) -> Any:
    """Without what says that it may be absent."""
    while get_origin(kind) in {NotRequired, Required}:
        (kind,) = get_args(kind)
    if get_origin(kind) in {Union, types.UnionType}:
        kinds = [one for one in get_args(kind) if one is not types.NoneType]
        return kinds[0] if len(kinds) == 1 else None
    return kind
