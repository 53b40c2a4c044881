"""Money is exact, from text to text."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common.money import UNITS, Money, as_decimal, currency_apart, money, show


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_exactly_is_read_back_exactly(amount: int) -> None:
    assert money(str(as_decimal(Money(amount)))) == amount


def test_ten_times_ten_cents_is_a_dollar() -> None:
    assert 10 * money("0.1") == money(1) == UNITS


@given(st.integers(0, 10**9), st.sampled_from("$€£"))
def test_an_amount_can_be_given_as_it_was_shown(cents: int, currency: str) -> None:
    amount = Money(cents * UNITS // 100)
    assert money(show(amount, currency)) == amount


@pytest.mark.parametrize(
    "text",
    ["5,50", "1,23", "12,3456", "$", "5 EUR", ",500", "", "nan", "inf", "1e-10", "0.0000000001"],
)
def test_what_is_no_exact_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        money(text)


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("1234.5", "$", "$1,234.50"),
        ("0", "$", "$0.00"),
        ("-3", "$", "-$3.00"),
        ("0.0001", "$", "$0.0001"),
        ("0.005", "$", "$0.01"),
        ("12", "core-hours", "12.00 core-hours"),
    ],
)
def test_people_see_two_places_unless_that_would_hide_the_amount(
    amount: str, currency: str, shown: str
) -> None:
    assert show(money(amount), currency) == shown


def test_a_price_per_second_derived_from_an_hourly_price_stays_close() -> None:
    assert abs(Decimal(money(1) // 3600) * 3600 / UNITS - 1) < Decimal("1e-5")


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("5 EUR", ("5", "EUR")),
        ("1,500.25 core-hours", ("1,500.25", "core-hours")),
        ("$5", ("$5", "$")),
        ("5", ("5", "")),
        ("5 apples", ("5 apples", "")),
        ("", ("", "")),
    ],
)
def test_an_amount_with_its_currency_is_taken_apart(text: str, apart: tuple[str, str]) -> None:
    assert currency_apart(text) == apart
