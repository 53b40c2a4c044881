"""Money: exact integers of a billionth of the currency, never binary floating point."""

import re
from decimal import Decimal, InvalidOperation, localcontext
from typing import Final, NewType

Money = NewType("Money", int)
"""An amount in billionths of one dollar (or euro, or core-hour): exact under + - * and //."""

UNITS: Final = 1_000_000_000
NOTHING: Final = Money(0)

_SHOWN: Final = re.compile(r"[$€£¥]?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)", re.ASCII)
_SIGNS: Final = "$€£¥"
_NAMED: Final = re.compile(r"([\d.,_]+) *([A-Z]{3}|[a-z]+-[a-z]+)", re.ASCII)


def money(text: str | int | Decimal) -> Money:
    """Read an amount such as `"0.08"`, `12`, `"1_500.25"` or `"$1,500.25"`, as `show` writes it.

    Floats are not taken: write the digits you mean.
    """
    if isinstance(text, str) and (shown := _SHOWN.fullmatch(text.strip())):
        text = shown[1].replace(",", "")
    try:
        with localcontext() as exact:
            exact.prec = 60
            units = Decimal(text) * UNITS
            whole = units.to_integral_value()
    except (InvalidOperation, ValueError) as error:
        raise ValueError(_not_money(text)) from error
    if not units.is_finite():
        raise ValueError(_not_money(text))
    if whole != units:
        raise ValueError(f"{text} is finer than a billionth, the smallest unit kept")
    return Money(int(whole))


def _not_money(text: object) -> str:
    comma = re.fullmatch(r"(\d+),(\d{1,2})", str(text).strip(), re.ASCII)
    wanted = f"{comma[1]}.{comma[2]}" if comma else "for example 12.50"
    return f"{text!r} is not an amount of money; write {wanted}"


def currency_apart(text: str) -> tuple[str, str]:
    """`5.00 EUR`, as `show` writes it, into amount and currency; "" where it names none."""
    text = text.strip()
    if written := _NAMED.fullmatch(text):
        return written[1], written[2]
    return text, text[0] if text[:1] in {*_SIGNS} else ""


def show(amount: Money, currency: str = "$", *, places: int = 2) -> str:
    """Write an amount for people, rounded half up to `places`, further if it would show as nothing.

    A currency of one character stands before the number, a longer one (`core-hours`) after it.
    """
    value = Decimal(abs(amount)) / UNITS
    while amount and places < 9 and value < Decimal(1).scaleb(-places) / 2:
        places += 1
    sign = "-" if amount < 0 else ""
    digits = f"{_half_up(value, places):,.{places}f}"
    return f"{sign}{currency}{digits}" if len(currency) == 1 else f"{sign}{digits} {currency}"


def as_decimal(amount: Money) -> Decimal:
    """The amount in whole currency, exactly; what `--json` prints as text."""
    return Decimal(amount) / UNITS


def _half_up(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), rounding="ROUND_HALF_UP")
