"""Caps over several bags, as the household keeps them: reserve, then settle."""

import random
from datetime import UTC, datetime

import pytest

from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId
from bats.common.money import NOTHING, Money, money
from bats.master.brain.household.cap import Cap, Period
from bats.master.brain.household.household import Household
from bats.master.brain.household.notices import (
    Allowance,
    Capped,
    Closed,
    Committed,
    Opened,
    Spent,
    TimePassed,
)
from bats.master.brain.protocol.commands import WakeAt

A, B, C = BagId(1), BagId(2), BagId(3)
EVENING = datetime(2026, 11, 20, 23, tzinfo=UTC).timestamp()
MIDNIGHT = EVENING + 3600
DAILY = Cap(money(10), Period.DAY)


class Home:
    """A household whose bags tell what they have spent, all of it in the window there is."""

    def __init__(self, *caps: Cap, now: float = EVENING) -> None:
        self.household = Household()
        self.now = now
        self.household.handle(Capped(caps), now)
        self.told: dict[BagId, Money | None] = {}
        self.words: dict[BagId, str] = {}

    def has(self, bag: BagId, dollars: str, user: str = "", currency: str = "$") -> None:
        """All that the bag has committed by now."""
        if not self.household.has(bag):
            self.hear(Opened(bag, user))
        amount = money(dollars)
        since = tuple((at, amount) for at in self.household.since)
        self.hear(Committed(Spent(bag, user, currency, since), amount, self.told.get(bag)))

    def hear(self, notice: object) -> None:
        for answer in self.household.handle(notice, self.now):  # type: ignore[arg-type]
            if isinstance(answer, Allowance):
                self.told[answer.bag] = answer.amount
                self.words[answer.bag] = f"{answer.cap}, {answer.until}"
        self.household.check()

    def room(self, bag: BagId, committed: str) -> Money:
        """What it may spend beyond."""
        return Money((self.told[bag] or 0) - money(committed))


def test_a_bag_alone_may_spend_the_whole_cap() -> None:
    home = Home(DAILY)
    home.has(A, "0")
    home.has(A, "4")
    assert home.told == {A: money(10)}
    assert home.words == {A: "$10.00 a day, 2026-11-21 00:00 UTC"}


def test_what_one_bag_spends_the_others_may_not() -> None:
    home = Home(DAILY)
    home.has(A, "0")
    home.has(B, "0")
    home.has(A, "6")
    assert 0 <= money(4) - home.room(B, "0") <= money(4) // 16
    home.has(B, "4")
    assert home.told[B] == money(4)
    assert home.room(A, "6") == 0


def test_a_bag_that_comes_near_to_what_it_was_told_is_told_all_that_is_left() -> None:
    home = Home(DAILY)
    home.has(A, "0")
    home.has(B, "0")
    home.has(A, "2")
    assert home.told[B] == money("7.5")
    home.has(B, "7.4")
    assert home.told[B] == money(8)


def test_a_bag_that_waits_is_told_all_that_is_left() -> None:
    home = Home(DAILY)
    home.has(A, "0")
    home.has(B, "0")
    home.has(A, "9")
    assert home.told[B] == money(1) - money(1) // 16
    since = tuple((at, NOTHING) for at in home.household.since)
    waits = Committed(Spent(B, "", "$", since), NOTHING, home.told[B], waits=True)
    home.hear(waits)
    assert home.told[B] == money(1)


def test_what_a_bag_gives_back_others_may_spend() -> None:
    home = Home(DAILY)
    home.has(A, "10")
    home.has(B, "0")
    assert home.told[B] == NOTHING
    home.has(A, "3")
    assert home.told[B] == money(7)


def test_what_an_ended_bag_has_spent_counts_till_the_window_ends() -> None:
    home = Home(DAILY)
    home.has(A, "6")
    home.has(B, "0")
    home.hear(Closed(A))
    assert home.told[B] == money(4)
    (wake,) = [one for one in home.household.handle(TimePassed(), EVENING) if one] or [None]
    assert wake is None  # it was asked for once
    home.now = MIDNIGHT
    home.hear(TimePassed())
    home.has(B, "0")
    assert home.told[B] == money(10)


def test_it_asks_to_be_woken_when_a_window_ends() -> None:
    answers = Household().handle(Capped((DAILY, Cap(money(50), Period.MONTH))), EVENING)
    assert answers == [WakeAt(MIDNIGHT)]


def test_at_a_roll_a_bag_goes_on_with_what_begins_after_it() -> None:
    """$2.00 of $9.00 are reserved for ATUs of the next day: that day they count."""
    home = Home(DAILY)
    home.has(A, "9")
    home.now = MIDNIGHT
    home.hear(TimePassed())
    spent = Spent(A, "", "$", ((MIDNIGHT, money(2)),))
    home.hear(Committed(spent, money(9), home.told[A]))
    assert home.told[A] == money(17)
    (view,) = home.household.view().caps
    assert (view.committed, view.left) == (money(2), money(8))


def test_the_tightest_of_several_caps_binds_and_a_users_own_holds_only_theirs() -> None:
    home = Home(Cap(money(10)), Cap(money(3), Period.WEEK, "ann"))
    home.has(A, "0", "ann")
    home.has(B, "0", "bob")
    assert (home.told[A], home.told[B]) == (money(3), money(10))
    assert home.words[A] == "$3.00 a week for ann, 2026-11-23 00:00 UTC"
    assert home.words[B] == "$10.00 in all, "
    home.has(B, "9")
    assert money("0.9") < home.room(A, "0") <= money(1)


def test_money_of_another_currency_is_under_no_cap_of_dollars() -> None:
    home = Home(DAILY)
    home.has(A, "0", currency="core-hours")
    assert home.told == {}


def test_a_cap_that_is_lowered_takes_away_what_is_not_reserved_and_no_more() -> None:
    home = Home(DAILY)
    home.has(A, "6")
    home.has(B, "1")
    home.hear(Capped((Cap(money(5), Period.DAY),)))
    assert home.room(A, "6") <= 0
    assert home.room(B, "1") <= 0
    home.hear(Capped(()))
    assert home.told == {A: None, B: None}


def test_a_cap_counts_what_was_spent_before_it_stood() -> None:
    home = Home()
    home.hear(Capped((DAILY,), (Spent(C, "", "$", ((MIDNIGHT - 86400, money(9)),)),)))
    home.has(A, "0")
    assert home.told[A] == money(1)


def test_books_that_let_a_cap_be_passed_are_a_bug() -> None:
    home = Home(DAILY)
    home.has(A, "0")
    home.household._caps._accounts[A].told = money(11)
    with pytest.raises(BrokenInvariantError, match=r"may pass the cap of \$10\.00 a day"):
        home.household.check()


@pytest.mark.parametrize("seed", range(30))
def test_bags_that_spend_at_random_never_pass_a_cap_and_can_use_all_of_it(seed: int) -> None:
    """A twin that only adds up: each bag enters ATUs as long as it was told that it may."""
    rng = random.Random(seed)
    caps = [Cap(money(20)), Cap(money(rng.randint(1, 20)), Period.DAY, "ann")]
    home = Home(*caps)
    users = {BagId(k): rng.choice(["ann", "bob"]) for k in range(1, 6)}
    spent = dict.fromkeys(users, 0)
    for bag, user in users.items():
        home.has(bag, "0", user)
    stuck = 0
    heard = 0
    while stuck < 50:
        bag = rng.choice(list(users))
        atu = rng.choice([1, 7, 50]) * 10_000_000
        if spent[bag] + atu > (home.told[bag] or 0):
            stuck += 1
            continue
        stuck = 0
        spent[bag] += atu
        heard += 1
        home.has(bag, f"{spent[bag] / 10**9:.2f}", users[bag])
        assert sum(spent.values()) <= caps[0].amount
        assert sum(spent[b] for b in users if users[b] == "ann") <= caps[1].amount
    for bag, user in users.items():
        left = caps[0].amount - sum(spent.values())
        if user == "ann":
            left = min(left, caps[1].amount - sum(spent[b] for b in users if users[b] == "ann"))
        visible = (home.told[bag] or 0) - spent[bag]
        assert left // 2 <= visible <= left
