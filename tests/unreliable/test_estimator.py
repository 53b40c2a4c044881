"""The estimator beside a stupid twin that lets time pass in small steps."""

import time
from statistics import fmean, stdev

import numpy as np
import pytest
from helpers.two_pools import Twin

from bats.master.brain.unreliable.estimator import estimate
from bats.master.brain.unreliable.pools import NEVER, Billing, Pool, World
from bats.master.brain.unreliable.strategy import STATIC, Strategy, static
from bats.master.brain.unreliable.throughput import until_tail
from bats.master.brain.unreliable.tradeoff import grid

RUNS = 25
SPREAD = tuple(1000.0 + 40.0 * k for k in range(60))
PAPER = World(24, 8, Pool(SPREAD, 1.0, 3600.0, reliability=0.8), Pool((2300.0,), 34.0, 3600.0))
REAL = World(
    24,
    8,
    Pool(SPREAD, 0.3, 3600.0, 120.0, reliability=0.9, hazard_per_hour=0.3),
    Pool((2000.0, 2400.0), 1.0, 3600.0, 180.0),
    Billing.UPTIME,
    kills=True,
)
SECONDS = World(30, 10, Pool(SPREAD, 0.001, 1.0, 60.0, hazard_per_hour=0.5),
                Pool((2000.0,), 0.003, 1.0, 60.0), Billing.UPTIME)  # fmt: skip


def close(ours: float, spread: float, theirs: list[float]) -> bool:
    """Within three standard errors of both, and one in a hundred for the steps of the twin."""
    error = (spread**2 / 400 + stdev(theirs) ** 2 / len(theirs)) ** 0.5
    return abs(ours - fmean(theirs)) <= 3 * error + 0.01 * fmean(theirs)


@pytest.mark.parametrize("world", [PAPER, REAL, SECONDS], ids=["paper", "hours", "seconds"])
@pytest.mark.parametrize(
    "strategy",
    [
        Strategy(3, 2000.0, 4000.0, 0.1),
        Strategy(2, 0.0, 3000.0, 0.3),
        Strategy(0, 500.0, 3000.0, 0.2),
        Strategy(None, 1000.0, 2500.0, 0.0),
    ],
    ids=str,
)
def test_strategies_come_to_what_the_twin_comes_to(world: World, strategy: Strategy):
    _compare(world, strategy)


def test_a_silent_machine_is_in_the_way_of_the_next_until_it_is_gone():
    """It takes as long as a task to be sure of it and to end it."""
    spot = Pool(SPREAD, 0.3, 3600.0, 120.0, reliability=0.7, ending_seconds=2000.0)
    world = World(60, 8, spot, REAL.reliable, Billing.UPTIME, kills=True)
    _compare(world, Strategy(2, 1000.0, 4000.0, 0.3))


@pytest.mark.parametrize("name", STATIC)
def test_static_strategies_come_to_what_the_twin_comes_to(name: str):
    _compare(PAPER, static(name, PAPER, 0.25, budget=200.0))


def _compare(world: World, strategy: Strategy) -> None:
    (ours,) = estimate(world, [strategy], 400, seed=5)
    twins = [Twin(world, strategy, seed).run() for seed in range(RUNS)]
    seconds, cost = [twin.now for twin in twins], [twin.cost for twin in twins]
    assert close(ours.seconds, ours.seconds_spread, seconds), (ours.seconds, fmean(seconds))
    assert close(ours.cost, ours.cost_spread, cost), (ours.cost, fmean(cost))


def test_a_bag_that_always_takes_the_same_comes_out_to_the_second():
    """Six tasks of 100 s on two machines that never fail; one cent an hour."""
    world = World(6, 2, Pool((100.0,), 1.0, 3600.0), Pool((50.0,), 10.0, 3600.0))
    (plain,) = estimate(world, [Strategy(0, 1000.0, 1000.0, 0.5)], 3)
    assert (plain.seconds, plain.seconds_spread) == (300.0, 0.0)
    assert plain.cost == pytest.approx(600 / 3600)
    assert plain.reliable_instances == 0


def test_copies_at_once_are_paid_and_the_sooner_one_counts():
    """The tail begins at 300 s, when one task of three is left, sent at 200 s."""
    world = World(3, 2, Pool((100.0,), 1.0, 1.0), Pool((50.0,), 10.0, 1.0))
    (copied,) = estimate(world, [Strategy(0, 0.0, 1000.0, 0.5)], 1)
    assert copied.seconds == pytest.approx(150.0)
    assert copied.cost == pytest.approx(3 * 100 + 50 * 10)  # what was sent is paid
    killed = World(3, 2, world.unreliable, world.reliable, kills=True)
    (cheaper,) = estimate(killed, [Strategy(0, 0.0, 1000.0, 0.5)], 1)
    assert cheaper.cost == pytest.approx(2 * 100 + 50 * 10)


def test_what_never_returns_is_ended_by_the_reliable_machines_or_not_at_all():
    silent = Pool((100.0,), 1.0, 1.0, reliability=0.0)
    world = World(5, 10, silent, Pool((60.0,), 2.0, 1.0))
    helped, alone = estimate(
        world, [Strategy(1, 100.0, 200.0, 0.1), Strategy(None, 100.0, 200.0, 0.0)], 2
    )
    assert helped.seconds == pytest.approx(200 + 5 * 60)  # one machine, one after another
    assert helped.cost == pytest.approx(5 * 60 * 2)  # nothing else returned
    assert alone.seconds == NEVER


def test_a_machine_that_returns_nothing_is_paid_where_uptime_is():
    silent = Pool((100.0,), 1.0, 10.0, reliability=0.0)
    world = World(1, 10, silent, Pool((60.0,), 2.0, 1.0), Billing.UPTIME)
    (one,) = estimate(world, [Strategy(0, 250.0, 200.0, 0.1)], 1)
    assert one.cost == pytest.approx(world.throughput_deadline / 10 + 60 * 2)


@pytest.mark.parametrize("billing", Billing)
def test_a_million_tasks_take_what_their_share_of_the_machines_says(billing: Billing):
    pool = Pool(SPREAD, 1.0, 3600.0, reliability=0.9)
    world = World(1_000_000, 1000, pool, Pool((2300.0,), 34.0, 3600.0), billing)
    began = time.process_time()
    (one,) = estimate(world, [Strategy(3, 2000.0, 4000.0, 0.02)], 1)
    per_task = 0.9 * pool.mean_seconds + 0.1 * world.throughput_deadline
    assert one.seconds == pytest.approx(1000 * per_task / 0.9, rel=0.03)
    up = (per_task + 0.1 * 1800) / 0.9  # each machine that is lost leaves half an hour unused
    paid = up if billing is Billing.UPTIME else pool.mean_seconds
    assert one.cost == pytest.approx(1e6 * paid / 3600, rel=0.03)
    assert time.process_time() - began < 5


def test_the_paper_s_grid_ten_times_over_takes_seconds():
    world = World(150, 50, Pool(SPREAD, 1.0, 3600.0, reliability=0.827), PAPER.reliable)
    began = time.process_time()
    estimates = estimate(world, grid(world, 0.5), 10)
    assert len(estimates) > 400
    assert time.process_time() - began < 3


def test_the_same_seed_gives_the_same_estimate_and_another_one_does_not():
    strategy = Strategy(2, 1000.0, 3000.0, 0.1)
    once, again = (estimate(PAPER, [strategy], 5, seed=1) for _ in range(2))
    assert once == again
    assert once != estimate(PAPER, [strategy], 5, seed=2)


def test_of_what_is_due_when_the_tail_begins_the_longest_sent_comes_first():
    """The engine does so: a task that has been waited for long is the likelier to be lost."""
    cheap = Pool(tuple(float(k) for k in range(1000, 3400, 40)), 1.0, 3600.0, 0.0, 0.8)
    dear = Pool((2300.0,), 34.0, 3600.0, 0.0)
    world = World(60, 20, cheap, dear, Billing.UPTIME, kills=True)
    start = until_tail(world, Strategy(0, 0.0, 4000.0, 0.1), np.random.default_rng(1))
    assert len(start.sent) > 10
    assert list(start.sent) == sorted(start.sent)


def test_the_share_that_returns_is_that_of_instances_which_are_neither_silent_nor_lost() -> None:
    pool = Pool((1.0, 100.0), 1.0, reliability=0.9, hazard_per_hour=30.0)
    back = pool.draw(np.random.default_rng(1), 100_000).back
    assert np.isfinite(back).mean() == pytest.approx(pool.returns, abs=0.005)
    assert pool.returns < 0.75
