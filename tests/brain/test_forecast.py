"""Questions about offered schedules know the machines that are there and what they are paid for."""

from dataclasses import replace
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest

from bats.common.money import NOTHING, Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.phase import Phase
from bats.master.brain.engine import Engine
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.policies.by_name import REPLICATORS
from bats.master.brain.prediction.predictors import Question, Standing, predict
from bats.master.brain.prediction.rollout import NO_COPIES
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import ASK, Sampling, Settings
from bats.master.brain.views.forecast import foretold, promised, questions
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import WORKLOADS

SPEEDS = (1.0, 2.0)
OFFERINGS = (
    Offering(ClusterName("slow"), money(1), 3600, 10),
    Offering(ClusterName("fast"), money(3), 3600, 10),
)
STOPPING = tuple(replace(one, boundary_seconds=300.0) for one in OFFERINGS)


def test_a_bag_of_equal_tasks_takes_as_long_as_the_forecast_says():
    asked: list[tuple[float, tuple[Question, ...]]] = []

    def look(engine: Engine) -> None:
        if engine.run.phase is Phase.CHOOSING and not asked:
            asked.append((engine.run.now, questions(engine.run, engine.run.schedules)))

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
    offered = foretold(world.engine.run.schedules, bounds)
    assert [schedule.bounds for schedule in offered] == bounds
    assert offered[-1].makespan_seconds == bounds[-1].median_seconds


@pytest.mark.parametrize("replicate", [True, False])
@pytest.mark.parametrize("tail", REPLICATORS)
def test_what_a_question_counts_on_is_what_its_replicator_says(tail: str, replicate: bool):
    asked: list[Question] = []

    def look(engine: Engine) -> None:
        asked.extend(questions(engine.run, engine.run.schedules))

    settings = Settings(100, OFFERINGS, tail=tail, replicate=replicate)
    Simulation(settings, lambda _task, _cluster: 600.0, after_event=look).run()
    foreseen = REPLICATORS[tail].foreseen if replicate else NO_COPIES
    assert {one.copying for one in asked} == {foreseen}


@pytest.mark.parametrize("limits", [{}, {"budget": money(200)}, {"sampling": Sampling.NONE}])
def test_there_is_nothing_to_ask_while_nothing_is_offered(limits: dict[str, Any]):
    unoffered = []

    def look(engine: Engine) -> None:
        if not engine.run.schedules:
            unoffered.append(questions(engine.run, promised(engine.run)))

    settings = Settings(40, OFFERINGS, **limits)
    Simulation(settings, lambda _task, _cluster: 600.0, after_event=look).run()
    assert set(unoffered) == {()}


@pytest.mark.parametrize(
    ("kind", "limits", "called", "tolerance"),
    [
        ("normal", {"rule": "fastest"}, "fastest", 0.1),
        ("normal", {"budget": money(280)}, "fastest", 0.1),
        # Planned with room for error, and upgraded when less room is needed: faster than promised.
        ("normal", {"budget": money(200)}, "budget", 0.6),
        ("normal", {"deadline_seconds": 12 * 3600.0}, "deadline", 0.1),
        # With four runtimes of each cluster little can be promised of bags with a long tail.
        ("levy", {"budget": money(280)}, "fastest", 0.35),
        ("multi-modal", {"budget": money(280)}, "fastest", 0.35),
    ],
)
def test_what_is_promised_comes_true_whoever_chose(
    kind: str, limits: dict[str, Any], called: str, tolerance: float
):
    """Median of some runs: start delays, machines that stand, whole tasks and tail are counted."""
    kept = [promise_and_outcome(kind, Settings(600, OFFERINGS, seed=k, **limits)) for k in range(7)]
    assert {promise.name for promise, _, _ in kept} == {called}
    times = [promise.makespan_seconds / took for promise, took, _ in kept]
    costs = [promise.cost / paid for promise, _, paid in kept]
    assert median(times) == pytest.approx(1, abs=tolerance), times
    assert median(costs) == pytest.approx(1, abs=tolerance), costs


@pytest.mark.parametrize("rule", ["fastest", "fastest-20%"])
def test_the_90_percent_bound_holds_though_the_schedule_leaves_no_money_to_spare(rule: str):
    """The machines are paid for few ATUs, and the last of each is not worked to its end."""
    settings = (Settings(300, STOPPING, rule=rule, seed=k) for k in range(24))
    kept = [promise_and_outcome("normal", one) for one in settings]
    held = [promise.bounds and took <= promise.bounds.makespan_seconds for promise, took, _ in kept]
    assert sum(map(bool, held)) >= 19, held


@pytest.mark.parametrize("kind", ["normal", "levy", "multi-modal"])
def test_the_chance_that_is_told_is_the_share_of_runs_that_the_money_finishes(kind: str):
    rules = ("cheapest", "cheapest+10%", "cheapest+20%", "fastest")
    kept = [chance_and_outcome(kind, rule, seed) for rule in rules for seed in range(8)]
    told, finished = (fmean(column) for column in zip(*kept, strict=True))
    assert 0.3 < finished < 1  # so that there is something to tell
    assert told == pytest.approx(finished, abs=0.2)


def chance_and_outcome(kind: str, rule: str, seed: int) -> tuple[float, bool]:
    """Of a bag for which a schedule is chosen by name: its budget and nothing more."""
    settings = Settings(300, STOPPING, rule=ASK, seed=seed)
    tasks = WORKLOADS[kind].draw(settings.tasks, np.random.default_rng(seed))
    chances: list[float] = []

    def answers(schedules: tuple[Schedule, ...], now: float) -> tuple[float, Chosen]:
        run = world.engine.run
        chosen = [one for one in schedules if one.name == rule]
        chances.extend(predict(one).chance_in_budget for one in questions(run, chosen))
        return now, Chosen(rule)

    world = Simulation(
        settings,
        lambda task, cluster: float(tasks[task]) / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: 240.0, answers=answers),
    )
    done = len(world.run().records)
    return chances[-1], done == settings.tasks


def promise_and_outcome(kind: str, settings: Settings) -> tuple[Schedule, float, Money]:
    """The promise when the schedule was chosen; the time and money that it took from then."""
    tasks = WORKLOADS[kind].draw(settings.tasks, np.random.default_rng(settings.seed))
    told: list[tuple[float, Money, Schedule]] = []
    committed = [NOTHING]  # before each event

    def look(engine: Engine) -> None:
        run = engine.run
        if run.choice.name and not told:
            chosen = [one for one in promised(run) if one.name == run.choice.name]
            bounds = [predict(question) for question in questions(run, chosen)]
            told.append((run.now, committed[-1], *foretold(chosen, bounds)))
        committed.append(run.ledger.committed)

    world = Simulation(
        settings,
        lambda task, cluster: float(tasks[task]) / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: 240.0),
        after_event=look,
    )
    ended = world.run().ended_at
    assert ended is not None
    [(chosen_at, before, promise)] = told
    return promise, ended - chosen_at, Money(world.engine.run.ledger.settled - before)


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
