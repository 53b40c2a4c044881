"""The soonest end that the money covers; runs that keep to it finish, without back and forth."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from helpers.workbench import HOUR, MINUTE

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.learning.sample_size import sample_size
from bats.master.brain.planning.timetable import Errand, Group, Residual, Timetable, soonest
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import WORKLOADS

CHEAP = Offering(ClusterName("cheap"), money(3), HOUR, 32)
DEAR = Offering(ClusterName("dear"), money(12), HOUR, 32)
QUARTER = Residual([15 * MINUTE] * 30)


def group(
    offering: Offering = CHEAP,
    count: int = 1,
    paid: float = HOUR,
    *,
    ready: float = 0.0,
    fresh: bool = False,
) -> Group:
    cluster = (CHEAP, DEAR).index(offering)
    return Group(cluster, offering, count, 15 * MINUTE, ready, paid, fresh=fresh)


def ahead(tasks: float, budget: int, *groups: Group) -> Timetable | None:
    return soonest(groups, Errand(tasks, 0.5, QUARTER, 0.0), money(budget))


def test_what_runs_lasts_on_as_renewal_theory_says() -> None:
    rng = random.Random(5)
    sample = [rng.expovariate(1 / 600) + 1 for _ in range(40)]
    residual = Residual(sample)
    for x in (0.0, 30.0, 600.0, 1500.0, 1e6):
        stupid = sum(max(0.0, runtime - x) for runtime in sample) / sum(sample)
        assert residual.exceeds(x) == pytest.approx(stupid)


def test_what_runs_on_beyond_paid_time_is_that_of_plain_sums() -> None:
    rng = random.Random(6)
    sample = [rng.expovariate(1 / 600) + 1 for _ in range(40)]
    residual = Residual(sample)
    for x in (0.0, 30.0, 600.0, 1500.0, 1e6):
        longer = [runtime - x for runtime in sample if runtime > x]
        mean = sum(more**2 for more in longer) / 2 / sum(sample)
        square = sum(more**3 for more in longer) / 3 / sum(sample)
        assert residual.excess(x) == (pytest.approx(mean), pytest.approx(square))
        expected = sum(longer) / len(longer) if longer else sum(sample) / len(sample)
        assert residual.remaining(x) == pytest.approx(expected)


def test_the_last_of_cheap_machines_leaves_when_the_work_is_done() -> None:
    """With ATUs of a second work costs the same on eight as on six, whenever it ends."""
    by_the_second, dearer = (
        replace(kind, price=Money(kind.price // 3600), atu_seconds=1.0) for kind in (CHEAP, DEAR)
    )
    there = Group(0, by_the_second, 6, 15 * MINUTE, ready=855.0, paid=900.0)
    more = Group(0, by_the_second, 2, 15 * MINUTE, ready=60.0, paid=60.0, fresh=True)
    dear = Group(1, dearer, 8, 7.5 * MINUTE, ready=60.0, paid=60.0, fresh=True)
    work = int(1342 * 15 * MINUTE * by_the_second.price)
    table = soonest((there, more, dear), Errand(1342, 0.5, QUARTER, 2.0), Money(work + work // 100))
    assert table is not None
    assert table.end == pytest.approx(1342 / 8 * 15 * MINUTE, rel=0.01)


def test_work_that_fits_into_paid_time_costs_nothing() -> None:
    table = ahead(6, 0, group(count=2))
    assert table is not None
    assert (table.cost, table.stays) == (0, ())
    assert table.end <= HOUR


def test_no_atu_is_bought_for_the_few_minutes_that_another_machine_can_fill() -> None:
    """One is paid to the hour, one to its second hour; 9 tasks are left."""
    table = ahead(9, 0, group(paid=HOUR), group(paid=2 * HOUR))
    assert table is not None
    assert table.stays == ()
    sooner = ahead(9, 30, group(paid=HOUR), group(paid=2 * HOUR))
    assert sooner is not None
    assert sooner.end < table.end


def test_without_the_money_there_is_no_timetable() -> None:
    assert ahead(1000, 30, group(count=7)) is None


def test_more_money_never_makes_the_end_later() -> None:
    there = group(count=7, paid=45 * MINUTE, ready=5 * MINUTE)
    fresh = group(CHEAP, 25, 0.0, fresh=True)
    dear = group(DEAR, 32, 0.0, fresh=True)
    ends = []
    for budget in range(740, 3000, 60):
        table = ahead(950, budget, there, fresh, dear)
        if table is not None:
            assert table.cost <= money(budget)
            ends.append(table.end)
    assert len(ends) > 30
    assert all(later <= sooner * 1.02 for sooner, later in itertools.pairwise(ends))
    assert ends[-1] < ends[0] * 0.6


def run(
    kind: str, budget: float, watch: Callable[[Engine], None] = lambda _engine: None
) -> Simulation:
    """1000 tasks on 32 + 32 machines of one speed, of which 32 cost four times as much."""
    runtimes = np.asarray(WORKLOADS[kind].draw(1000, np.random.default_rng(11)))
    lowest = float(runtimes.sum()) / HOUR * CHEAP.price
    settings = Settings(1000, (CHEAP, DEAR), Money(int(lowest * budget)), seed=1)
    world = Simulation(settings, lambda task, _: float(runtimes[task]), after_event=watch)
    world.run()
    return world


@pytest.mark.parametrize("kind", ["bimodal", "weibull", "log-normal", "levy"])
def test_a_bag_with_a_long_tail_is_finished_with_half_as_much_again_as_it_needs(kind: str) -> None:
    history = run(kind, 1.5).history
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE


def test_dear_machines_are_not_begun_on_the_word_of_the_first_short_tasks() -> None:
    known_when_hired: list[int] = []

    def look(engine: Engine) -> None:
        if not known_when_hired and len(engine.run.pool.living[1]) > 7:
            known_when_hired.append(engine.run.canonical.count)

    run("bimodal", 1.5, look)
    assert not known_when_hired or known_when_hired[0] >= sample_size(1000)


def test_machines_do_not_come_and_go_with_every_look_at_the_plan() -> None:
    world = run("normal", 1.25)
    started = [cluster for cluster, _, _ in world.history.uptimes.values()]
    assert started.count(0) <= 33  # one that left may be wanted once more, for the last tasks


@pytest.mark.parametrize("x", [-7.3, -4.0, 0.0, 0.2, 3.0, 40.0])
@pytest.mark.parametrize("step", [0.5, 1.0, 7.0])
def test_the_steps_that_the_rest_of_a_task_begins_are_as_one_by_one(x: float, step: float) -> None:
    residual = Residual(np.random.default_rng(3).lognormal(1.0, 1.0, 50))
    chances = [residual.exceeds(x + k * step) for k in range(2000)]
    assert chances[-1] == 0
    mean, square = residual.steps_begun(x, step)
    assert mean == pytest.approx(sum(chances), abs=1e-9)
    assert square == pytest.approx(sum((2 * k + 1) * c for k, c in enumerate(chances)), abs=1e-9)
