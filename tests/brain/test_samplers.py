"""Samplers by themselves: what they ask for, and what they make of the runtimes they get."""

import random
from collections import defaultdict
from statistics import fmean
from time import process_time

import pytest
from helpers.workbench import Bench, offering, settings

from bats.common.messages import TaskId
from bats.master.brain.learning.conversion import by_means, by_regression, by_steps
from bats.master.brain.learning.step_profiles import StepProfiles, ratio_of_steps
from bats.master.brain.policies.by_name import SAMPLERS
from bats.master.brain.policies.samplers import Common

SLOW, FAST = offering("slow", 3, machines=8), offering("fast", 12, machines=8, slots=4)


def bench(tasks: int, **more: object) -> Bench:
    return Bench(settings(tasks, SLOW, FAST, **more))


@pytest.mark.parametrize(
    ("tasks", "budget", "machines"),
    [
        (600, None, [7, 2]),  # seven slots of each
        (600, 1000, [7, 2]),
        (600, 150, [4, 1]),  # of less money four
        (600, 90, [1, 1]),
        (600, 70, None),  # one of each is more than a fifth
        (30, 1000, [4, 1]),  # seven and two would take too many of the tasks
        (20, 1000, [1, 1]),
    ],
)
def test_regression_takes_as_many_machines_as_a_fifth_of_the_budget_pays_for(
    tasks: int, budget: int | None, machines: list[int] | None
) -> None:
    run = bench(tasks, budget=budget).run
    assert SAMPLERS["regression"].machines(run, run.clusters, 30) == machines


@pytest.mark.parametrize(
    ("tasks", "provisioner", "common"),
    [
        (600, "timetable", Common(7, drawn=True)),
        (60, "timetable", Common(3, drawn=False)),
        (60, "paper", Common(7, drawn=True)),
    ],
)
def test_of_a_small_bag_the_tasks_that_end_first_run_on_every_kind(
    tasks: int, provisioner: str, common: Common
) -> None:
    run = bench(tasks, provisioner=provisioner).run
    assert SAMPLERS["regression"].common(run, 20) == common
    assert SAMPLERS["implicit"].common(run, 20) == Common(0, drawn=False)


def test_a_single_kind_has_nothing_to_be_compared_with() -> None:
    run = Bench(settings(600, SLOW)).run
    assert SAMPLERS["regression"].common(run, 20) == Common(0, drawn=False)


def test_implicit_sampling_wants_a_task_of_every_slot_that_it_has_and_no_more_than_the_sample() -> (
    None
):
    made = bench(600, sampling="implicit")
    made.begin()
    implicit, clusters = SAMPLERS["implicit"], made.run.clusters
    assert [implicit.tasks_on(made.run, c, 30) for c in clusters] == [8, 30]
    assert [SAMPLERS["regression"].tasks_on(made.run, c, 30) for c in clusters] == [None, None]


# --- what is made of it ---------------------------------------------------------------------------

ON_SLOW = {TaskId(task): 100.0 + 10 * task for task in range(8)}
ON_FAST = {TaskId(task): (100.0 + 10 * task) / 4 for task in range(5, 12)}


def test_by_regression_each_cluster_knows_all_tasks_by_its_own_time_or_the_converted_one() -> None:
    learned = by_regression({0: ON_SLOW, 1: ON_FAST})
    all_of_them = [100.0 + 10 * task for task in range(12)]
    assert learned.canonical.sample() == pytest.approx(all_of_them)
    assert learned.profiles[0].sample() == pytest.approx(all_of_them)
    assert learned.profiles[1].sample() == pytest.approx([x / 4 for x in all_of_them])
    assert learned.lines[1].convert(200.0) == pytest.approx(50.0)
    assert learned.lines[1].back(50.0) == pytest.approx(200.0)


def test_without_tasks_in_common_the_means_compare_clusters_and_that_is_said() -> None:
    apart = {TaskId(task + 50): seconds for task, seconds in ON_FAST.items()}
    learned = by_regression({0: ON_SLOW, 1: apart})
    ratio = fmean(apart.values()) / fmean(ON_SLOW.values())
    assert learned.lines[1].convert(100.0) == pytest.approx(100.0 * ratio)
    assert learned.lines[1].doubt == "no task has run on both clusters"


def test_by_means_each_cluster_knows_its_own_tasks_and_all_together_those_of_all() -> None:
    learned = by_means({0: (10.0, 20.0, 30.0), 2: (2.0, 4.0)})
    assert list(learned.profiles) == [0, 2]
    assert learned.profiles[2].sample() == (2.0, 4.0)
    assert learned.lines[2].convert(20.0) == pytest.approx(3.0)
    assert learned.canonical.count == 5
    assert learned.canonical.mean_done == pytest.approx(20.0)


def test_of_nothing_nothing_is_learned() -> None:
    for name, sampler in SAMPLERS.items():
        learned = sampler.learn({})
        assert (learned.canonical.count, dict(learned.profiles)) == (0, {}), name


def test_kinds_that_ran_different_steps_are_compared_by_those_that_both_ran() -> None:
    step_of = {1: 0, 2: 0, 3: 1, 4: 1, 5: 0, 6: 2, 7: 2, 8: 2}.__getitem__
    slow = {TaskId(1): 4.0, TaskId(2): 4.0, TaskId(3): 100.0, TaskId(4): 120.0}
    fast = {TaskId(5): 2.0, TaskId(6): 0.1, TaskId(7): 0.1, TaskId(8): 0.1}
    observed = {0: slow, 1: fast}
    found = by_steps(by_regression(observed), observed, step_of)
    assert found.lines[1].convert(100.0) == pytest.approx(50.0)  # by means it was 1.0
    assert found.profiles[1].count == 8
    apart = {0: slow, 1: {task: seconds for task, seconds in fast.items() if task != 5}}
    alone = by_steps(by_regression(apart), apart, step_of)
    assert alone.lines[1].convert(100.0) == 100.0
    assert alone.lines[1].doubt is not None


def test_what_a_workflow_s_steps_say_later_mends_a_speed_in_doubt() -> None:
    seen = StepProfiles(2)
    for seconds in (4.0, 6.0):
        seen.add(0, 0, seconds)
    assert seen.ratio(0, 1) is None
    seen.add(1, 1, 77.0)
    assert seen.ratio(0, 1) is None  # another step
    seen.add(0, 1, 10.0)
    assert seen.ratio(0, 1) == pytest.approx(2.0)


def test_kinds_are_compared_after_each_result_as_if_all_steps_were_looked_at() -> None:
    chance = random.Random(3)
    steps, compared = 12, 0
    seen, by_hand = StepProfiles(steps), [defaultdict[int, list[float]](list) for _ in range(3)]
    for _ in range(400):
        step, kind, seconds = chance.randrange(steps), chance.randrange(3), chance.uniform(1, 900)
        seen.add(step, kind, seconds)
        by_hand[kind][step].append(seconds)
        totals = [{k: (len(of), sum(of)) for k, of in one.items()} for one in by_hand]
        if chance.random() < 0.7:
            told, found = ratio_of_steps(totals[0], totals[2]), seen.ratio(0, 2)
            assert found == (told if told is None else pytest.approx(told))
            compared += told is not None
    assert compared > 200


def test_comparing_kinds_of_a_workflow_of_many_steps_takes_no_look_at_all_of_them() -> None:
    seen = StepProfiles(16_000)
    for step in range(16_000):
        seen.add(step, 0, 4.0)
        seen.add(step, 1, 2.0)
    since = process_time()
    for step in range(400):
        seen.add(step, 1, 2.0)
        assert seen.ratio(0, 1) == pytest.approx(0.5)
    assert process_time() - since < 0.5
