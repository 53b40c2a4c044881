"""The runs that the thesis published come out of the engine: mixes, costs, makespans, decisions."""

from dataclasses import replace

import pytest
from studies import table2_1, table3
from studies.two_clusters import SCENARIOS, simulate, sleep_bag

from bats.master.brain.protocol.settings import Sampling
from bats.master.simulate.driver import Conditions

SEED = 1
BATS = [p for p in table2_1.PUBLISHED if p.budget is not None]


@pytest.mark.parametrize("published", BATS, ids=lambda p: f"{p.scenario} {p.run}")
def test_a_run_of_table_2_1_buys_the_published_mix_for_the_published_money(
    published: table2_1.Published,
) -> None:
    ours = table2_1.one((published.scenario, published.budget, SEED, 0.0))
    assert ours.completed
    assert table2_1.same_mix(published.scenario, ours.mix, published.mix)
    assert ours.dollars <= (published.budget or 0)
    assert ours.dollars == pytest.approx(published.dollars, rel=0.03)


@pytest.mark.parametrize("published", BATS, ids=lambda p: f"{p.scenario} {p.run}")
def test_as_in_the_paper_paid_time_is_taken_for_worked_though_machines_stop_before_it_ends(
    published: table2_1.Published,
) -> None:
    usual = table2_1.settings(published.scenario, published.budget, SEED)
    offerings = tuple(replace(one, boundary_seconds=240.0) for one in usual.offerings)
    ours = simulate(
        SCENARIOS[published.scenario],
        replace(usual, offerings=offerings),
        sleep_bag(table2_1.TASKS, SEED),
    )
    assert table2_1.same_mix(published.scenario, ours.mix, published.mix)
    assert ours.dollars <= (published.budget or 0)


@pytest.mark.parametrize(("scenario", "budget"), table2_1.TOO_TIGHT)
def test_a_budget_that_is_too_tight_is_never_overspent(scenario: str, budget: int) -> None:
    for seed in range(5):
        assert table2_1.one((scenario, budget, seed, 0.0)).dollars <= budget


@pytest.mark.parametrize("scenario", table3.SAMPLING)
def test_a_sample_costs_what_table_3_1_says(scenario: str) -> None:
    by_regression, implicit = table3.SAMPLING[scenario]
    assert table3.sampling_cost(scenario, Sampling.REGRESSION, SEED) == by_regression
    assert table3.sampling_cost(scenario, Sampling.IMPLICIT, SEED) == implicit


@pytest.mark.parametrize(("scenario", "name", "budget", "mix"), table3.SCHEDULES)
def test_the_schedules_of_table_3_2_are_offered(
    scenario: str, name: str, budget: int, mix: tuple[int, int]
) -> None:
    assert table3.offered(scenario, budget).mix == mix, name


@pytest.mark.parametrize(("scenario", "name", "budget", "cushion", "minutes"), table3.RUNS)
def test_a_run_of_table_3_2_takes_the_published_time(
    scenario: str, name: str, budget: int, cushion: int, minutes: int
) -> None:
    ours = table3.run((scenario, budget, cushion, SEED))
    assert ours.completed, name
    assert ours.hours * 60 == pytest.approx(minutes, rel=0.06)
    assert ours.dollars <= budget + cushion


def test_round_robin_with_a_slow_start_takes_and_costs_what_was_published() -> None:
    for published in table2_1.PUBLISHED:
        if published.budget is None:
            ours = simulate(
                SCENARIOS[published.scenario],
                table2_1.settings(published.scenario, None, SEED),
                sleep_bag(table2_1.TASKS, SEED),
                Conditions(boot_seconds=table2_1.BOOT_SECONDS),
            )
            assert ours.dollars == pytest.approx(published.dollars, rel=0.05)
            assert ours.hours * 60 == pytest.approx(
                table2_1.RR_MINUTES[published.scenario], rel=0.03
            )
