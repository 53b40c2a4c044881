"""Where runtimes follow from parameters the longest tasks go first, and plans count on that."""

import random
from itertools import pairwise

import numpy as np
import pytest
from helpers.workbench import free, offering, settings

from bats.master.brain.books.ready import LongestFirst
from bats.master.brain.engine import Engine, replay
from bats.master.brain.protocol.journal import (
    event_from,
    plain,
    plain_settings,
    settings_from,
)
from bats.master.brain.protocol.parameters import Parameter
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell

TASKS = 80


def swept(seed: int = 1) -> tuple[tuple[Parameter, ...], list[float]]:
    rng = np.random.default_rng([15, seed])
    n = 2.0 ** rng.integers(0, 7, TASKS)
    seconds = 20 * n * np.exp(rng.normal(0, 0.1, TASKS))
    return (Parameter("n", tuple(n.tolist())),), [float(one) for one in seconds]


def simulated(of: Settings, seconds: list[float], start: float = 0.0) -> Simulation:
    simulation = Simulation(
        of,
        lambda task, _cluster: seconds[task],
        Conditions(start_seconds=lambda _rng, _cluster: start),
        foretell=foretell,
        keep_events=True,
    )
    simulation.run()
    return simulation


def bag(parameters: tuple[Parameter, ...], **more: object) -> Settings:
    return settings(TASKS, free(machines=8), sampling="none", parameters=parameters, **more)


def begun(simulation: Simulation) -> list[int]:
    """Tasks in the order of their first attempts."""
    return [
        int(task)
        for commands in simulation.history.commands
        for command in commands
        for task, attempt in getattr(command, "orders", ())
        if attempt == 1
    ]


def test_the_longest_tasks_go_first_as_soon_as_a_law_is_found_and_the_bag_ends_sooner():
    parameters, seconds = swept()
    with_them, without = simulated(bag(parameters), seconds), simulated(bag(()), seconds)
    order = [parameters[0].values[task] for task in begun(with_them)]
    known = 16  # of eight machines: the law is found in the first eight results
    assert sum(a < b for a, b in pairwise(order[known:])) <= 2, "all fall but where it is refined"
    assert with_them.history.ended_at is not None
    assert without.history.ended_at is not None
    assert with_them.history.ended_at < 0.92 * without.history.ended_at
    said = [
        words for _, words in with_them.history.decisions if "the longest tasks go first" in words
    ]
    assert said[0].startswith("runtime grows with n: × 2")
    told = with_them.engine.explain().law
    assert told is not None
    assert told.explained > 0.9
    assert without.engine.explain().law is None


def test_chance_picks_while_parameters_say_nothing():
    parameters, seconds = swept()
    random.Random(1).shuffle(seconds)
    with_them, without = simulated(bag(parameters), seconds), simulated(bag(()), seconds)
    assert begun(with_them) == begun(without)
    assert with_them.history.ended_at == without.history.ended_at


@pytest.mark.parametrize("atu", [1.0, 3600.0])
def test_a_budget_is_kept_and_a_replay_is_exact(atu: float):
    parameters, seconds = swept(2)
    budget = int(1.4 * sum(seconds) / atu) + 8
    of = settings(
        TASKS, offering(price=1, machines=8, atu=atu), budget=budget, parameters=parameters,
        foresight=True,
    )  # fmt: skip
    ran = simulated(of, seconds, start=20.0)
    run = ran.engine.headline()
    assert run.done == TASKS
    assert run.settled <= (of.budget or 0)
    assert ran.engine.explain().law is not None
    read = settings_from(plain_settings(of))
    assert read == of
    events = [(at, event_from(plain(event))) for at, event in ran.history.events]
    again = replay(read, events)
    assert again.digest() == ran.engine.digest()
    assert again.explain() == ran.engine.explain()


def test_offers_are_told_by_the_law_and_come_true():
    parameters, seconds = swept(3)
    of = settings(
        TASKS, offering(price=1, machines=8, atu=60.0), rule="fastest", parameters=parameters,
        foresight=True,
    )  # fmt: skip
    ran = simulated(of, seconds, start=10.0)
    told = ran.engine.view().told
    assert told is not None
    assert ran.history.ended_at == pytest.approx(told.seconds, rel=0.1)


def test_settings_of_before_know_no_parameters():
    written = plain_settings(settings(3))
    del written["parameters"]
    assert settings_from(written).parameters == ()
    assert Engine(settings_from(written)).run.seeker is None


@pytest.mark.parametrize("seed", range(20))
def test_what_is_taken_is_the_longest_of_what_waits_and_fits(seed: int):
    rng = random.Random(seed)
    lengths = [float(rng.randint(1, 9)) for _ in range(30)]
    ready = LongestFirst(range(20), rng, lengths.__getitem__)
    left = set(range(20))
    for _ in range(60):
        move = rng.random()
        if move < 0.3 and len(left) < 30:
            task = rng.choice([one for one in range(30) if one not in left])
            ready.add(task)
            left.add(task)
            continue
        limit = rng.choice([2.0, 5.0, 99.0])
        taken = ready.take() if limit == 99.0 else ready.take_within(limit)
        fitting = [lengths[one] for one in left if lengths[one] <= limit]
        if taken is None:
            assert not fitting
        else:
            assert lengths[taken] == max(fitting)
            left.remove(taken)
        assert sorted(ready) == sorted(left)
