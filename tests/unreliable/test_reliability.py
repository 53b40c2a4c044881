"""The reliability of a pool as its tail knows it: three epochs."""

import random

import pytest

from bats.master.brain.unreliable.reliability import Sent, reliability

D = 4000.0


def sent(rng: random.Random, share: float, begin: float, end: float, now: float) -> list[Sent]:
    """One instance every 5 s; those that return do so after 1,000 to 3,000 s."""
    found = []
    at = begin
    while at < end:
        t = rng.uniform(1000, 3000)
        back = rng.random() < share and at + t <= now
        found.append(Sent(at, t if back else None))
        at += 5
    return found


def test_a_pool_that_stays_the_same_is_known_by_both_epochs():
    rng = random.Random(1)
    known = reliability(sent(rng, 0.8, 0, 20_000, 20_000), 20_000, D)
    assert known.known == pytest.approx(0.8, abs=0.03)
    assert known.lately == pytest.approx(0.8, abs=0.12)
    assert known.ahead == pytest.approx((known.known + known.lately) / 2)


def test_a_pool_that_gets_better_is_told_by_its_last_epoch_and_half_believed():
    rng = random.Random(2)
    before = sent(rng, 0.5, 0, 16_000, 20_000)
    lately = sent(rng, 1.0, 16_000, 20_000, 20_000)
    known = reliability(before + lately, 20_000, D)
    assert known.known == pytest.approx(0.5, abs=0.04)
    assert known.lately > 0.75
    assert known.known < known.ahead < known.lately


def test_a_pool_that_gets_worse_is_held_to_be_no_worse_than_it_was_at_its_worst():
    rng = random.Random(3)
    before = sent(rng, 0.9, 0, 16_000, 20_000)
    lately = sent(rng, 0.0, 16_000, 20_000, 20_000)
    known = reliability(before + lately, 20_000, D)
    assert known.lately >= known.least > 0.6


def test_instances_that_were_sent_together_need_no_order():
    together = [Sent(0.0, None), Sent(0.0, 5.0), Sent(0.0, None), Sent(0.0, 7.0)]
    assert reliability(together, 10_000.0, D).ahead == 0.5


def test_a_pool_of_which_one_set_is_known_does_not_seem_better_than_it_is():
    rng = random.Random(4)
    few = [reliability(sent(rng, 0.7, 0, 4200, 4200), 4200, D) for _ in range(400)]
    assert sum(one.ahead for one in few) / len(few) == pytest.approx(0.7, abs=0.02)


def test_what_has_just_been_sent_says_nothing_and_nothing_at_all_is_no_loss():
    assert reliability([], 100.0, D).ahead == 1.0
    assert reliability([Sent(99.0, None)], 100.0, D).ahead == 1.0


def test_a_pool_that_never_answered_is_known_for_it():
    silent = [Sent(float(k), None) for k in range(50)]
    assert reliability(silent, 10_000.0, D).ahead == 0.0
