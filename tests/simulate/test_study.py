"""A study runs the engine on bags of the user's own and sums up what came of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bats.common.errors import UsageError
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.simulate.given_runtimes import of_clusters, parameters, workload
from bats.master.simulate.study import Case, World, _most_at_once, simulations, study
from bats.master.simulate.workloads import Workload, constant, multi_modal, normal, truncated_levy

OFFERINGS = (
    Offering(ClusterName("slow"), money(1), 3600, 8),
    Offering(ClusterName("fast"), money(3), 3600, 8),
)
WORLD = World(150, OFFERINGS, (1.0, 2.0))
FASTEST, CHEAPEST = Case("fastest", "fastest"), Case("cheapest", "cheapest")


def test_the_same_seed_tells_the_same_with_any_number_of_workers() -> None:
    one, two = (study(WORLD, [FASTEST], normal(), runs=3, workers=w) for w in (1, 2))
    assert one == two
    assert study(WORLD, [FASTEST], normal(), runs=3, seed=9) != one


def test_more_money_buys_less_time_and_no_run_costs_more_than_its_budget() -> None:
    cases = [Case(f"${n}", "fastest", money(n)) for n in (5, 60, 90)]
    least, some, more = study(WORLD, cases, normal(), runs=4)
    assert (least.finished, some.finished, more.finished) == (0, 4, 4)
    assert least.seconds is None
    assert "choose a budget of" in least.words
    assert some.seconds is not None
    assert more.seconds is not None
    assert more.seconds.median <= some.seconds.median
    assert all(s.cost.high <= (s.case.budget or 0) for s in (least, some, more))


def test_every_simulation_is_a_step_and_none_is_compared_with_itself() -> None:
    steps: list[None] = []
    [alone] = study(
        WORLD, [FASTEST], normal(), tail="none", runs=2, step=lambda: steps.append(None)
    )
    assert len(steps) == simulations([FASTEST], "none", 2) == 2
    assert alone.saved_seconds is None
    assert simulations([FASTEST, CHEAPEST], "random", 2) == 8


def test_the_tail_strategy_saves_time_in_a_bag_with_long_tasks() -> None:
    [told] = study(WORLD, [Case("$200", "fastest", money(200))], truncated_levy(), runs=6)
    assert told.saved_seconds is not None
    assert told.saved_seconds > 0
    assert 0 < told.sample_time < 1
    assert 0 < told.sample_cost < 1


def test_a_sample_costs_no_more_than_all_of_it() -> None:
    """Money that was set aside for it and never paid is none of it."""
    two = tuple(
        Offering(ClusterName(name), money(price), 10.0, 3, boundary_seconds=0.5)
        for name, price in (("small", "0.02"), ("large", "0.06"))
    )
    [told] = study(World(80, two, (1.0, 2.0)), [FASTEST], constant(1.1 / 60), runs=2)
    assert 0 < told.sample_cost <= 1


def test_a_short_runtime_is_told_as_it_was_given() -> None:
    told = [constant(seconds / 60).about for seconds in (0.4, 1.1, 12, 90)]
    assert told == [f"every task {one}" for one in ("0.4 s", "1.1 s", "12 s", "1 min 30 s")]


def test_free_machines_need_no_sample_and_a_deadline_is_met_or_not() -> None:
    here = (Offering(ClusterName("here"), money(0), 3600, 1, slots=4),)
    for deadline, in_time in ((1000.0, 0), (2000.0, 2)):
        world = World(8, here, (1.0,), deadline)
        [told] = study(world, [FASTEST], constant(10), runs=2)
        assert (told.cost.high, told.mix, told.in_time) == (0, (1,), in_time)


@pytest.mark.parametrize(
    ("written", "about"),
    [
        ("normal:mean=1h,sigma=5m", "normal, 60 ± 5 min"),
        ("levy", "Lévy, scale 12 min, up to 45 min"),
        ("log-normal:mean=30m,sigma=0.5", "log-normal, mean 30 min, σ 0.5"),
        ("90s", "every task 1 min 30 s"),
    ],
)
def test_runtimes_are_read_as_users_write_them(written: str, about: str) -> None:
    assert workload(written).about == about


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("norml", "distributions are normal, levy"),
        ("nowhere.csv", "neither a file"),
        ("normal:mean", "'mean' says nothing; normal takes mean, sigma"),
        ("normal:mu=3m", "normal takes mean, sigma"),
        ("normal:mean=soon", "'soon' is not a duration"),
        ("weibull:shape=x", "'x' is not a number"),
        ("levy:scale=0s", "should be above 0"),
        ("multi-modal:mean=3m", "takes no parameters"),
        ("-5s", "neither a file"),
    ],
)
def test_what_says_no_runtimes_is_refused_in_a_sentence(written: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        workload(written)


def test_a_file_that_is_no_csv_is_refused(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(UsageError, match="no CSV file"):
        workload(str(tmp_path / "picture.png"))


def test_an_earlier_run_tells_runtimes_and_speeds() -> None:
    drawn, speeds = of_clusters({"slow": [10, 20, 30], "fast": [5, 15], "idle": []})
    assert speeds == {"slow": 1.0, "fast": 2.0}
    assert drawn.count == 5
    with pytest.raises(UsageError, match="No task"):
        of_clusters({"slow": []})


@pytest.mark.parametrize("bag", [truncated_levy(), multi_modal()], ids=lambda bag: str(bag.name))
def test_a_schedule_chosen_by_name_has_the_money_that_its_bag_needs(bag: Workload) -> None:
    """What is done first is short: offers made from that alone ran out of money in most runs."""
    world = World(400, OFFERINGS, (1.0, 2.0), start_seconds=120)
    [told] = study(world, [FASTEST], bag, tail="none", runs=6)
    assert told.finished >= 5


def test_losses_that_a_clouds_file_emulates_are_met_in_a_study_too():
    sure = Offering(ClusterName("sure"), money("0.01"), 60.0, 2)
    spot = Offering(
        ClusterName("spot"), money("0.001"), 60.0, 4, reliable=False,
        settings={"lost_per_hour": 3.0, "lost": "silent"},
    )  # fmt: skip
    calm = replace(spot, settings={})
    policy = {"strategy": "N=3 T=1x D=2x M_r=0.3"}
    work = constant(10.0)
    losing, kept = (
        study(World(20, (one, sure), (1.0, 1.0), policy=policy), [Case("f", "fastest")], work,
              tail="ntdmr", runs=3)[0]
        for one in (spot, calm)
    )  # fmt: skip
    assert losing.finished == kept.finished == 3
    assert losing.cost.median > kept.cost.median


ROWS = [{"n": str(n), "how": "well"} for n in (3, 1, 2)]


def test_runtimes_may_be_a_formula_of_the_parameters_of_a_sweep() -> None:
    drawn = workload("0.5 * n ** 2 + 1", rows=ROWS)
    assert drawn.draw(3, np.random.default_rng(1)).tolist() == [5.5, 1.5, 3.0]
    assert drawn.about == "0.5 * n ** 2 + 1 seconds"
    assert workload("2m", rows=ROWS).about == "every task 2 min 0 s"
    (one,) = (p for p in parameters(ROWS) if p.name == "n")
    assert one.values == (3.0, 1.0, 2.0)
    mixed = [{"n": "1", "threads": "4"}, {"n": "2", "threads": "all"}]
    assert workload("n", rows=mixed).count == 2, "what is no part of it may be any word"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("m * 2", "`m` has no place in a formula: numbers, `n`, "),
        ("n +", r"no formula; write for example `0\.5 \* n`"),
        ("how * 2", "`how` has no place"),
        ("n - 1", "task 1 takes 0 s; it should take time"),
        ("1 / (n - 1)", "nor a formula of seconds: float division by zero"),
        ("__import__('os')", "has no place"),
    ],
)
def test_a_formula_that_tells_no_runtimes_is_refused(written: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        workload(written, rows=ROWS)


def test_where_runtimes_follow_from_parameters_the_longest_go_first_as_they_would_live() -> None:
    """The last task of a bag in any order begins late, be it the longest."""
    rows = [{"n": str(1 + k % 12)} for k in range(72)]
    here = (Offering(ClusterName("vm"), money("0.10"), 3600.0, 6),)
    drawn = workload("20 * n ** 2", rows=rows)
    [blind] = study(World(72, here, (1.0,)), [FASTEST], drawn, runs=4)
    [told] = study(World(72, here, (1.0,), parameters=parameters(rows)), [FASTEST], drawn, runs=4)
    assert told.seconds is not None
    assert blind.seconds is not None
    assert told.seconds.median < 0.97 * blind.seconds.median


def test_the_machines_told_are_the_most_that_were_there_at_a_time_since_the_choice() -> None:
    stays = [(0, 0.0, 9.0), (0, 12.0, 30.0), (0, 30.0, 40.0), (1, 5.0, 35.0), (1, 20.0, 25.0)]
    assert _most_at_once(stays, 10.0, 3) == (1, 2, 0)
    assert _most_at_once(stays, 50.0, 3) == (0, 0, 0)
