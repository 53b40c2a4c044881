"""How much room for error a sum of money leaves, and by how much keeping it delays a mix."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.workbench import HOUR, MINUTE

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.room_for_error import EXACTLY, SUREST, Means
from bats.master.brain.planning.timetable import Errand, Group, Residual

CHEAP = Offering(ClusterName("cheap"), money(3), HOUR, 10)
DEAR = Offering(ClusterName("dear"), money(12), HOUR, 10)
ALL = (10, 10)


def means(budget: int) -> Means:
    """400 tasks of about 15 minutes, on machines that are all still to be asked for."""
    groups = tuple(
        Group(cluster, offering, 10, 15 * MINUTE, 0.0, 0.0, fresh=True)
        for cluster, offering in enumerate((CHEAP, DEAR))
    )
    runtimes = np.random.default_rng(3).normal(15 * MINUTE, 3 * MINUTE, 30)
    return Means(groups, Errand(400, 0.52, Residual(runtimes.tolist())), 0.04, money(budget), 2.0)


def test_more_money_leaves_more_room():
    spare = [means(budget).spare() for budget in range(240, 400, 5)]
    assert spare == sorted(spare)
    assert spare[0] == -SUREST
    assert spare[-1] == SUREST
    assert len(set(spare)) > 4


@pytest.mark.parametrize("budget", [320, 330, 340, 600])
def test_the_room_is_the_most_that_trying_all_finds(budget: int):
    given = means(budget)
    tried = [z for z in np.arange(-SUREST, SUREST + 0.01, 0.02) if given.table(float(z))]
    assert given.spare() == pytest.approx(max(tried), abs=EXACTLY)


@pytest.mark.parametrize(("budget", "kept"), [(600, 2.0), (314, 0.5), (305, 0.0), (240, None)])
def test_a_run_keeps_all_the_room_it_wants_or_half_or_a_quarter(budget: int, kept: float | None):
    given = means(budget)
    found = given.kept()
    assert (found and found[0]) == kept
    if found is not None:
        assert found == (kept, given.table(found[0]))
        assert found[0] <= given.spare()


def test_money_to_spare_delays_nothing():
    for z in (0.0, 1.0, 2.0):
        assert means(10_000).delay(ALL, z) == 1.0


def test_the_less_money_the_longer_the_mix_takes_by_as_much_as_the_timetable_is_later():
    given = [means(budget) for budget in (400, 440, 480, 600)]
    delays = [one.delay(ALL, 2.0) for one in given]
    assert all(less >= more for less, more in itertools.pairwise(delays))
    assert delays[0] > 1.2
    scarce, ample = (one.table(2.0) for one in (given[0], replace(given[0], money=money(10_000))))
    assert scarce is not None
    assert ample is not None
    assert delays[0] == pytest.approx(scarce.end / ample.end, rel=0.1)


def test_a_small_mix_is_not_delayed_when_the_money_buys_more_machines():
    assert means(600).delay((1, 0), 2.0) < 0.5


def test_nothing_is_told_of_the_end_of_what_the_money_does_not_pay_for():
    assert means(240).delay(ALL, 0.0) == 1.0
