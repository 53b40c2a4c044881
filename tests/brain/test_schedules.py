"""Schedules: six offers, ΔN and cushions as published, risky ones mended, and the user's choice."""

import pytest
from helpers.market import cluster, hourly, markets, tasks_left
from hypothesis import given, settings

from bats.common.errors import CannotBeMetError
from bats.common.money import NOTHING, money
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import all_machines, lowest_budget
from bats.master.brain.planning.schedules import Schedule, offers, pick, schedule
from bats.master.brain.planning.whole_tasks import cushion, whole_tasks

S4_1 = hourly((15.15, 15.15), (3, 12), (32, 32))
S3_4 = hourly((15.1, 3.8), (3, 9), (32, 32))


def by_name(clusters: tuple[Cluster, ...], tasks: int) -> dict[str, Schedule]:
    return {offer.name: offer for offer in offers(clusters, tasks)}


@pytest.mark.parametrize(
    ("clusters", "tasks", "budget", "left", "extra"),
    [
        (S4_1, 963, 1536, 32, None),
        (S4_1, 963, 1633, -6, 0),
        (S4_1, 963, 1920, 3, 9),
        (S3_4, 889, 513, 14, None),
        (S3_4, 889, 524, -10, 0),
    ],
)
def test_the_published_schedules_leave_as_many_tasks_over(
    clusters: tuple[Cluster, ...], tasks: int, budget: int, left: int, extra: int | None
) -> None:
    found = schedule("published", clusters, tasks, money(budget))
    assert found.delta_n == left
    assert extra is None or found.cushion == money(extra)
    assert found.risky == (left > 0)


def test_the_offers_for_s4_1_are_those_of_table_3_2() -> None:
    offer = by_name(S4_1, 963)
    assert list(offer) == [
        "cheapest",
        "cheapest+10%",
        "cheapest+20%",
        "fastest-20%",
        "fastest-10%",
        "fastest",
    ]
    assert (offer["cheapest"].budget, offer["cheapest"].mix) == (money(732), (4, 0))
    assert offer["cheapest+20%"].mix == (32, 1)
    assert (offer["fastest"].budget, offer["fastest"].mix) == (money(1920), (32, 32))


def test_a_risky_offer_gets_as_many_percent_more_as_make_all_tasks_fit() -> None:
    mended = by_name(S4_1, 963)["fastest-20%"]
    assert (mended.mix, mended.delta_n, mended.cushion) == ((32, 19), -6, NOTHING)
    assert mended.raised == 5 * money("19.20")  # 5 % of Bmax, from 1536 to 1632
    assert mended.budget == money(1632)
    mended = by_name(S3_4, 889)["cheapest"]
    assert (mended.mix, mended.delta_n) == ((0, 29), -10)
    assert money(522) <= mended.budget <= money(524)


def test_where_all_machines_are_in_use_more_money_does_not_help_and_a_cushion_is_named() -> None:
    fastest = by_name(S4_1, 963)["fastest"]
    assert (fastest.budget, fastest.raised) == (money(1920), NOTHING)
    assert (fastest.delta_n, fastest.cushion) == (3, money(9))


def test_the_cushion_prefers_cheap_machines_that_finish_within_one_more_atu() -> None:
    clusters = (
        cluster(5000, money(1), 4),  # cheap, but a task takes it two more hours
        cluster(1000, money(3), 2),
        cluster(1000, money(8), 2, slots=8),
    )
    plan = all_machines(clusters, 1000)
    assert cushion(clusters, plan, 1) == money(3)
    assert cushion(clusters, plan, 8) == money(8)
    assert cushion(clusters, plan, 9) == money(11)
    assert cushion(clusters, plan, 18) == money(22)
    assert cushion(clusters, plan, 19) == money(24)


def test_a_runtime_that_divides_the_paid_time_fits_into_it_to_the_end() -> None:
    assert whole_tasks(cluster(0.1, money(1), 1, atu_seconds=0.3, slots=2), 0.25) == 6
    assert whole_tasks(cluster(3600.0, money(1), 1), 3601.0) == 2


@settings(max_examples=400, deadline=None, derandomize=True)
@given(markets(), tasks_left)
def test_never_more_tasks_are_left_over_than_the_mix_has_slots(
    clusters: tuple[Cluster, ...], tasks: int
) -> None:
    for offer in offers(clusters, tasks):
        slots = sum(a * c.offering.slots for a, c in zip(offer.mix, clusters, strict=True))
        assert offer.delta_n <= slots


@settings(max_examples=400, deadline=None, derandomize=True)
@given(markets(), tasks_left)
def test_every_market_has_six_affordable_offers_or_none(
    clusters: tuple[Cluster, ...], tasks: int
) -> None:
    made = offers(clusters, tasks)
    machines = any(c.limit for c in clusters)
    assert len(made) == (6 if machines else 0)
    for offer in made:
        assert offer.cost <= offer.budget
        assert (offer.cushion == 0) or offer.risky
    if made:
        assert made[-1].mix == all_machines(clusters, tasks).mix


def test_bmin_is_the_bag_on_one_machine_of_the_best_value() -> None:
    assert lowest_budget(S4_1, 963) == money(732)
    own = (cluster(900, NOTHING, 1), cluster(1, money(3), 1))
    assert lowest_budget(own, 100) == NOTHING
    assert lowest_budget((), 5) == NOTHING


def test_a_bag_of_one_task_has_offers_of_one_machine() -> None:
    offer = by_name(hourly((15, 4), (3, 10), (32, 32)), 1)
    assert offer["cheapest"].mix == (1, 0)
    assert offer["cheapest"].cost == money(3)


def test_nothing_left_to_do_costs_nothing_in_all_offers() -> None:
    assert {(offer.cost, offer.mix) for offer in offers(S4_1, 0)} == {(NOTHING, (0, 0))}


# --- the user's choice ----------------------------------------------------------------------------


def test_the_user_picks_an_offer_by_its_name() -> None:
    made = offers(S4_1, 963)
    assert [pick(made, offer.name) for offer in made] == list(made)


def test_balanced_is_the_smallest_makespan_times_cost() -> None:
    made = offers(S4_1, 963)
    chosen = pick(made, "balanced")
    assert all(
        chosen.makespan_seconds * chosen.cost <= offer.makespan_seconds * offer.cost
        for offer in made
    )


def test_a_name_that_is_not_on_offer_is_refused_with_those_that_are() -> None:
    with pytest.raises(CannotBeMetError, match="cheapest, cheapest\\+10%"):
        pick(offers(S4_1, 963), "quickest")
    with pytest.raises(CannotBeMetError):
        pick((), "balanced")
