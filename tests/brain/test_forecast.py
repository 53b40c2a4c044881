"""Questions about offered schedules know the machines that are there and what they are paid for."""

import pytest

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.events import Chosen
from bats.master.brain.forecast import questions, with_bounds
from bats.master.brain.mix import Cluster
from bats.master.brain.predictors import Question, Standing, predict
from bats.master.brain.settings import ASK, Settings
from bats.master.brain.state import Phase
from bats.master.simulate.driver import Conditions, Simulation

SPEEDS = (1.0, 2.0)
OFFERINGS = (
    Offering(ClusterName("slow"), money(1), 3600, 10),
    Offering(ClusterName("fast"), money(3), 3600, 10),
)


def test_a_bag_of_equal_tasks_takes_as_long_as_the_forecast_says():
    asked: list[tuple[float, tuple[Question, ...]]] = []

    def look(engine: Engine) -> None:
        if engine.run.phase is Phase.CHOOSING and not asked:
            asked.append((engine.run.now, questions(engine.run)))

    settings = Settings(400, OFFERINGS, budget=money(1000), rule=ASK)
    world = Simulation(
        settings,
        lambda _task, cluster: 600.0 / SPEEDS[cluster],
        Conditions(answers=lambda schedules, now: (now, Chosen(schedules[-1].name))),
        after_event=look,
    )
    ended = world.run().ended_at
    assert ended is not None
    [(chosen_at, about)] = asked
    fastest = about[-1]
    assert fastest.mix == (10, 10)
    assert len(fastest.standing) == 14
    bounds = [predict(question) for question in about]
    assert bounds[-1].makespan_seconds == pytest.approx(ended - chosen_at, abs=600)
    offered = with_bounds(world.engine.run.schedules, bounds[: len(world.engine.run.schedules)])
    assert [schedule.bounds for schedule in offered] == bounds[: len(offered)]


def test_what_is_paid_already_is_not_counted_again():
    offering = OFFERINGS[0]
    cluster = Cluster(offering, 600.0, 10)
    there = Standing(0, busy_seconds=(300.0,), uptime_seconds=1800.0, atus=1)
    bounds = predict(Question((cluster,), ([600.0] * 10,), 4, (2,), standing=(there,)))
    assert bounds.makespan_seconds == pytest.approx(300 + 2 * 600)
    assert bounds.cost == money(1)  # for the new machine only
    longer = predict(Question((cluster,), ([600.0] * 10,), 8, (2,), standing=(there,)))
    assert longer.makespan_seconds == pytest.approx(300 + 4 * 600)
    assert longer.cost == money(2)  # the standing one enters its second ATU
