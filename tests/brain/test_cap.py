"""Windows of caps: days, weeks and months of named time zones, whatever their clocks do."""

import math
import random
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bats.common.money import money
from bats.master.brain.household.cap import FOR_EVER, Cap, Period, Window

HOUR = 3600.0


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def window(period: Period, zone: str, text: str) -> Window:
    return Cap(money(1), period, zone=zone).window(at(text, zone))


def test_a_day_is_that_of_its_zone() -> None:
    tokyo = window(Period.DAY, "Asia/Tokyo", "2026-11-20 08:00")
    assert tokyo == (at("2026-11-19 15:00"), at("2026-11-20 15:00"))


def test_a_week_begins_on_monday_and_a_month_with_its_first() -> None:
    week = window(Period.WEEK, "Europe/Berlin", "2026-11-22 23:59")
    assert week == (at("2026-11-15 23:00"), at("2026-11-22 23:00"))
    month = window(Period.MONTH, "UTC", "2028-02-29 12:00")
    assert month == (at("2028-02-01 00:00"), at("2028-03-01 00:00"))


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-20", 24)]
)
def test_days_on_which_clocks_change_have_an_hour_less_or_more(day: str, hours: int) -> None:
    since, until = window(Period.DAY, "Europe/Berlin", f"{day} 12:00")
    assert until - since == hours * HOUR


def test_a_midnight_that_clocks_skip_is_when_they_are_put_forward() -> None:
    since, until = window(Period.DAY, "America/Sao_Paulo", "2018-11-04 12:00")
    assert (since, until) == (at("2018-11-04 03:00"), at("2018-11-05 02:00"))


def test_a_midnight_that_comes_twice_begins_the_day_the_first_time() -> None:
    since, _ = window(Period.DAY, "Atlantic/Azores", "2026-10-25 12:00")
    assert since == at("2026-10-25 00:00")  # clocks go from 1:00 back to 0:00 an hour later


def test_what_is_for_good_has_no_end() -> None:
    assert Cap(money(1)).window(0.0) == FOR_EVER == (-math.inf, math.inf)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"])
@pytest.mark.parametrize("period", [Period.DAY, Period.WEEK, Period.MONTH])
def test_windows_follow_each_other_without_a_gap(zone: str, period: Period) -> None:
    rng = random.Random(f"{zone}{period}")
    cap = Cap(money(1), period, zone=zone)
    for _ in range(40):
        now = rng.uniform(at("2008-01-01 00:00"), at("2028-01-01 00:00"))
        this = cap.window(now)
        assert this.since <= now < this.until
        following = cap.window(this.until)
        assert following.since == this.until
        assert cap.window(math.nextafter(this.until, 0)) == this


def test_a_cap_is_told_in_words() -> None:
    assert str(Cap(money("5"), Period.DAY, "ann")) == "$5.00 a day for ann"
    cap = Cap(money(20), Period.MONTH, zone="Europe/Berlin", currency="€")
    assert str(cap) == "€20.00 a month"
    assert cap.calendar(cap.window(at("2026-11-20 12:00")).until) == (
        "2026-12-01 00:00 Europe/Berlin"
    )
