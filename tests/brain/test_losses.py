"""What is learned of an unreliable offering, from bag to bag."""

import random
from statistics import fmean

import pytest

from bats.common.messages import TaskId
from bats.master.brain.books.instances import Instances
from bats.master.brain.learning.experience import HALF_LIFE_SECONDS
from bats.master.brain.learning.losses import (
    MOST,
    Losses,
    reliability_with_earlier,
    seconds_a_result,
)

SEEN = Losses(100, 80, 6, 36_000.0, 0.8, 0.7, 0.75, 12.0)


def test_the_older_it_is_the_less_it_counts_and_it_says_the_same():
    old = SEEN.aged(HALF_LIFE_SECONDS)
    assert old.sent == pytest.approx(50)
    assert old.reliability == pytest.approx(SEEN.reliability)
    assert old.hazard_per_hour == pytest.approx(SEEN.hazard_per_hour)


def test_much_experience_counts_as_so_many_instances_at_most():
    assert Losses(1e6, 8e5).aged(0.0).sent == pytest.approx(MOST)


def test_of_two_bags_the_counts_are_added_and_the_epochs_are_the_newer_ones():
    both = SEEN.with_more(Losses(100, 60, 0, 36_000.0, 0.6, 0.5, 0.55))
    assert (both.sent, both.returned, both.hazard_per_hour) == (200, 140, pytest.approx(0.3))
    assert (both.known, both.lately, both.ahead, both.size) == (0.6, 0.5, 0.55, 12.0)


def test_a_few_instances_are_completed_by_many_unless_these_were_others():
    assert reliability_with_earlier(0.9, 20, [SEEN]) == pytest.approx((18 + 80) / 120)
    assert reliability_with_earlier(0.2, 50, [SEEN]) == 0.2, "it is another pool by now"
    assert reliability_with_earlier(0.9, 20, []) == 0.9


@pytest.mark.parametrize(
    ("seconds", "hazard", "restart"), [(60.0, 0.01, 5.0), (1800.0, 1e-4, 120.0)]
)
def test_a_result_takes_as_long_as_beginning_anew_after_every_loss(
    seconds: float, hazard: float, restart: float
):
    rng = random.Random(1)

    def one() -> float:
        took = 0.0
        while (life := rng.expovariate(hazard)) < seconds:
            took += life + restart
        return took + seconds

    twin = fmean(one() for _ in range(100_000))
    assert seconds_a_result(seconds, hazard, restart) == pytest.approx(twin, rel=0.01)
    assert seconds_a_result(seconds, 0.0, restart) == seconds


def test_the_rate_of_losses_that_are_told_counts_what_runs():
    """Machines are lost at a rate of 1 in 1000 s: an early look finds many that run on."""
    rng = random.Random(2)
    instances, rate, looked_at = Instances(), 1e-3, 500.0
    for task in range(4000):
        instances.send(TaskId(task), 1, 0.0, task % 2)
        life = rng.expovariate(rate)
        if life < looked_at:
            instances.end(TaskId(task), 1, life, returned=False, told=True)
    seen = [instances.told(kind, looked_at) for kind in (0, 1)]
    for one in [*seen, seen[0].with_more(seen[1])]:
        assert one.told / one.busy_seconds == pytest.approx(rate, rel=0.1)
