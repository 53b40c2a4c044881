"""Facts as plain data: what goes over the wire and into JSON. Money stays in billionths."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """Dataclasses and named tuples become tables, enumerations their values."""
    if value is None or isinstance(value, bool | str | bytes):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, int | float):
        return value
    if is_dataclass(value):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if hasattr(value, "item"):  # a number of numpy's
        return value.item()
    return str(value)
