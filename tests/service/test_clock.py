"""A bag's time goes on evenly, whatever happens to the calendar and to masters."""

import time

import pytest

from bats.master.bag import Anchor
from bats.master.service.bags.clock import BagClock


@pytest.mark.parametrize("jump", [-86_400.0, -5.0, 5.0, 86_400.0])
def test_a_new_master_goes_on_in_time_though_the_calendar_was_set(
    monkeypatch: pytest.MonkeyPatch, jump: float
):
    began = time.time() - 100.0
    first = BagClock(began, reached=90.0)
    before = first()
    monkeypatch.setattr(time, "time", lambda calendar=time.time: calendar() + jump)
    second = BagClock(began, reached=90.0, anchor=first.anchor)
    assert second() == pytest.approx(before, abs=1.0)


def test_after_a_reboot_the_calendar_says_how_long_the_master_was_away():
    clock = BagClock(time.time() - 500.0, reached=90.0, anchor=Anchor("another boot", 12.0))
    assert clock() == pytest.approx(500.0, abs=1.0)
    assert clock.anchor.boot != "another boot"


@pytest.mark.parametrize("anchor", [None, Anchor("another boot", 12.0)])
def test_time_never_goes_back_behind_the_last_event(anchor: Anchor | None):
    clock = BagClock(time.time() + 1000.0, reached=90.0, anchor=anchor)
    assert clock() >= 90.0


def test_a_bag_begins_at_nought():
    assert BagClock(time.time() - 3.0)() == pytest.approx(0.0, abs=0.5)
