"""Cells of a table for a spreadsheet: text that tasks wrote is shown there, and not reckoned."""

from typing import Final

_BEGIN_FORMULAS: Final = frozenset("=+-@\t\r＝＋－＠")


def cell(value: object) -> object:
    """The value, an apostrophe before what a spreadsheet would take for a formula."""
    if not isinstance(value, str) or value[:1] not in _BEGIN_FORMULAS or _is_number(value):
        return value
    return f"'{value}"


def as_it_is(value: object) -> object:
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
