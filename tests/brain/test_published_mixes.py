"""Every mix printed in the thesis is the exact optimum."""

import pytest
from helpers.market import hourly

from bats.common.money import money
from bats.master.brain.planning.planners import PLANNERS
from bats.master.brain.planning.problem import Problem

S4_1 = ((15, 15), (3, 12), (32, 32))
S4_3 = ((15, 5), (3, 12), (32, 32))
S1_1 = ((15, 15), (3, 3), (32, 32))
S3_4 = ((15, 3.75), (3, 9), (32, 32))
S1_4 = ((15, 3.75), (3, 3), (32, 32))
S4_1_LEARNED = ((15.15, 15.15), (3, 12), (32, 32))
S3_4_LEARNED = ((15.1, 3.8), (3, 9), (32, 32))
KOHONEN = ((1.66, 0.86, 0.97), ("0.08", "0.16", "0.32"), (10, 10, 10))
SARSA = ((0.2960, 0.1542, 0.0822), ("0.08", "0.16", "0.32"), (10, 10, 10))

PUBLISHED = [
    (S4_1, 784, 1584, (32, 25)),
    (S4_1, 784, 678, (32, 1)),
    (S4_3, 520, 612, (30, 18)),
    (S4_3, 520, 565, (30, 16)),
    (S3_4, 400, 408, (32, 32)),
    (S3_4, 400, 293, (1, 32)),
    (S1_4, 400, 204, (32, 32)),
    (S1_4, 400, 129, (11, 32)),
    (S4_1_LEARNED, 963, 732, (4, 0)),
    (S4_1_LEARNED, 963, 872, (32, 1)),
    (S4_1_LEARNED, 963, 1536, (32, 17)),
    (S4_1_LEARNED, 963, 1633, (32, 19)),
    (S4_1_LEARNED, 963, 1920, (32, 32)),
    (S3_4_LEARNED, 889, 513, (1, 28)),
    (S3_4_LEARNED, 889, 524, (0, 29)),
    (S3_4_LEARNED, 889, 615, (6, 32)),
    (KOHONEN, 4841, "10.72", (2, 0, 0)),
    (KOHONEN, 4841, "11.79", (9, 10, 0)),
    (KOHONEN, 4841, "12.86", (10, 10, 0)),
    (KOHONEN, 4841, "13.44", (10, 10, 3)),
    (KOHONEN, 4841, "15.12", (10, 10, 4)),
    (KOHONEN, 4841, "16.80", (10, 10, 10)),
    (SARSA, 7885, "3.12", (3, 0, 0)),
    (SARSA, 7885, "3.43", (10, 10, 3)),
    (SARSA, 7885, "3.74", (10, 10, 4)),
    (SARSA, 7885, "4.48", (10, 9, 7)),
    (SARSA, 7885, "5.04", (9, 9, 9)),
    (SARSA, 7885, "5.60", (10, 10, 10)),
]

Scenario = tuple[tuple[float, ...], tuple[str | int, ...], tuple[int, ...]]


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize(("scenario", "tasks", "budget", "mix"), PUBLISHED)
def test_the_planner_finds_the_published_mix(
    planner: str, scenario: Scenario, tasks: int, budget: str | int, mix: tuple[int, ...]
) -> None:
    plan = PLANNERS[planner].fastest(Problem(hourly(*scenario), tasks, money(budget)))
    assert plan is not None
    assert plan.mix == mix
    assert plan.cost <= money(budget)
    assert plan.exact


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize(("budget", "machines"), [(630, 52), (651, 54)])
def test_of_two_like_clusters_any_split_of_the_published_number_will_do(
    planner: str, budget: int, machines: int
) -> None:
    plan = PLANNERS[planner].fastest(Problem(hourly(*S1_1), 784, money(budget)))
    assert plan is not None
    assert plan.machines == machines
