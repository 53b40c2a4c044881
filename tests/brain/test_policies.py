"""A policy is named in the settings, and is then the one that is asked: ours or another's."""

import numpy as np
import pytest
from helpers.workbench import HOUR, MINUTE, offering

from bats.common.money import money
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.planners import PLANNERS, Planner
from bats.master.brain.planning.problem import Plan, Problem
from bats.master.brain.planning.schedules import offers
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import History, Simulation
from bats.master.simulate.workloads import WORKLOADS

OFFERINGS = (offering("slow", 3, machines=8), offering("fast", 12, machines=8))
SPEEDS = (1.0, 3.0)


def simulated(of: Settings, seed: int = 1) -> tuple[Simulation, History]:
    minutes = WORKLOADS["normal"].draw(of.tasks, np.random.default_rng(seed))
    simulation = Simulation(of, lambda task, cluster: float(minutes[task]) / SPEEDS[cluster])
    history = simulation.run()
    simulation.engine.check()
    return simulation, history


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Problem]:
    """Every problem that the planner named `counting` was given."""
    problems: list[Problem] = []

    def counting(problem: Problem) -> Plan | None:
        problems.append(problem)
        return knapsack(problem)

    monkeypatch.setitem(PLANNERS, "counting", Planner(counting))
    return problems


LIMITS = {
    "offers alone": {},
    "a budget": {"budget": money(400)},
    "a deadline": {"deadline_seconds": 6 * HOUR},
    "a deadline and a budget": {"deadline_seconds": 6 * HOUR, "budget": money(400)},
    "the paper's way": {"budget": money(400), "prudence": 0.0},
}


@pytest.mark.parametrize("limits", LIMITS)
def test_the_planner_named_is_consulted(limits: str, asked: list[Problem]) -> None:
    of = Settings(300, OFFERINGS, planner="counting", **LIMITS[limits])  # type: ignore[arg-type]
    simulation, history = simulated(of)
    assert len(history.records) == 300
    first = history.offers[0][1]
    assert {one.budget for one in first} <= {one.budget for one in asked}, "not for the offers"
    timed = [one for one in asked if one.deadline_seconds < 6 * HOUR]
    assert bool(timed) == ("deadline" in limits)
    assert simulation.engine.run.choice.name


def test_what_finishing_would_cost_is_asked_of_the_planner_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the paper's way, when the money will not do: one that finds nothing cheap says more."""

    def spendthrift(problem: Problem) -> Plan | None:
        return None if problem.known_seconds else knapsack(problem)

    monkeypatch.setitem(PLANNERS, "spendthrift", Planner(spendthrift))
    said = []
    for planner in ("knapsack", "spendthrift"):
        _, history = simulated(Settings(300, OFFERINGS, money(60), prudence=0.0, planner=planner))
        said.append(next(words for _, words in history.decisions if "hardly finish" in words))
    assert said[0] != said[1]


@pytest.mark.parametrize("limits", LIMITS)
def test_the_other_planner_runs_a_bag_as_well(limits: str) -> None:
    of = Settings(300, OFFERINGS, planner="milp", **LIMITS[limits])  # type: ignore[arg-type]
    simulation, history = simulated(of)
    assert len(history.records) == 300
    if of.budget is not None:
        assert simulation.engine.run.ledger.settled <= of.budget


@pytest.mark.parametrize("seed", range(10))
def test_both_planners_offer_the_same_schedules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = tuple(
        offering(f"m{k}", int(rng.integers(1, 40)), machines=int(rng.integers(1, 30)))
        for k in range(3)
    )
    clusters = tuple(
        Cluster(kind, float(rng.uniform(2, 30)) * MINUTE, kind.max_machines) for kind in kinds
    )
    ours, other = (offers(clusters, 500, planner=PLANNERS[name]) for name in ("knapsack", "milp"))
    assert [(one.name, one.cost, one.mix) for one in ours] == [
        (one.name, one.cost, one.mix) for one in other
    ]
