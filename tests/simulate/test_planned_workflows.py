"""Workflows planned step by step, with whoever judges runtimes, by name."""

import random
from dataclasses import replace

import numpy as np
import pytest

from bats.common.messages import MachineId, TaskId
from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.machine import Machine
from bats.master.brain.books.ready import ByKind
from bats.master.brain.books.state import Run
from bats.master.brain.learning.regression import SAME, UNTRIED
from bats.master.brain.learning.step_profiles import StepProfiles
from bats.master.brain.planning.planners import PLANNERS
from bats.master.brain.policies.workflows.workflow_problem import workflow_problem
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workflows.scientific import SCIENTIFIC

JUDGED = [name for name, planner in PLANNERS.items() if planner.workflows]


def simulated(
    family: str,
    planner: str,
    seed: int,
    *,
    atu: float = 60.0,
    tasks: int = 60,
    until: float = 1e7,
    **limits: object,
) -> Simulation:
    """A workflow whose tasks vary more on the slow kind than on the fast one, run to its end."""
    rng = np.random.default_rng(seed)
    work = SCIENTIFIC[family](tasks, rng)
    varies = np.stack([rng.lognormal(-s * s / 2, s, work.graph.tasks) for s in (0.4, 0.1)])
    offerings = tuple(
        Offering(ClusterName(name), Money(money(price) * int(atu) // 60), atu, max_machines=8)
        for name, price in (("slow", "0.02"), ("fast", "0.05"))
    )
    settings = Settings(
        work.graph.tasks, offerings, graph=work.graph, planner=planner, seed=seed, **limits
    )  # type: ignore[arg-type]
    simulation = Simulation(
        settings,
        lambda task, kind: work.seconds[task] / (1.0, 2.0)[kind] * float(varies[kind, task]),
        Conditions(start_seconds=lambda _rng, _kind: 10.0),
        seed,
    )
    simulation.run(until=until)
    return simulation


@pytest.mark.parametrize("planner", JUDGED)
@pytest.mark.parametrize("family", ["montage", "epigenomics"])
def test_every_task_is_done_within_the_budget_whoever_plans(family: str, planner: str) -> None:
    for seed, atu, budget in ((1, 60.0, "2"), (2, 600.0, "4"), (3, 60.0, "0.9")):
        ended = simulated(family, planner, seed, atu=atu, budget=money(budget))
        view = ended.engine.view()
        assert view.spent <= money(budget)
        if budget != "0.9":
            assert view.done == view.total, (family, seed)


def test_the_steps_are_bound_to_kinds_once_there_is_a_plan() -> None:
    ended = simulated("epigenomics", "prob", 1, budget=money("3"))
    by_kind = ended.engine.run.by_kind
    assert by_kind is not None
    assert simulated("epigenomics", "knapsack", 1, budget=money("3")).engine.run.by_kind is None


def test_the_same_seed_plans_the_same() -> None:
    one, other = (simulated("epigenomics", "prob", 5, budget=money("3")) for _ in range(2))
    assert one.engine.view() == other.engine.view()


def test_a_deadline_far_away_is_met_for_less_than_the_fastest_costs() -> None:
    quick = simulated("epigenomics", "prob", 2, budget=money("8"))
    until = 4 * (quick.engine.run.ended_at or 0.0)
    cheap = simulated("epigenomics", "prob", 2, budget=money("8"), deadline_seconds=until)
    assert cheap.engine.view().done == cheap.engine.view().total
    assert (cheap.engine.run.ended_at or 0.0) <= until
    assert cheap.engine.view().spent <= quick.engine.view().spent


def test_a_bag_under_a_planner_of_workflows_is_planned_as_by_the_knapsack() -> None:
    found = [
        Simulation(
            Settings(
                40, (Offering(ClusterName("one"), money("0.1"), 60.0, 4),), money("5"), planner=name
            ),
            lambda task, _kind: 5.0 + task % 7,
        )
        for name in ("prob", "knapsack")
    ]
    ends = [one.run(until=1e6).ended_at for one in found]
    assert ends[0] == ends[1]


def begun(seed: int, **known: object) -> Run:
    """A workflow of which two thirds are done."""
    run = simulated("epigenomics", "prob", seed, tasks=120, budget=money("9"), until=500.0, **known)
    return run.engine.run


def spreads(run: Run) -> list[float]:
    """How widely the step of the most tasks left is planned with, on each kind."""
    problem = workflow_problem(run, run.planning_clusters())
    assert problem is not None
    step = max(problem.order.step, key=problem.order.step.count)
    return [float(np.log(one.points[20:180]).std()) for one in problem.runtimes[step]]


def where_ran(run: Run, spread: dict[int, float]) -> Run:
    """The same run, as if ten tasks of each step had run on each of these kinds, so much apart."""
    graph = run.settings.graph
    assert graph is not None
    run.steps = StepProfiles(len(graph.steps))
    for step in range(len(graph.steps)):
        for kind, by in spread.items():
            for k in range(10):
                run.steps.add(step, kind, 1e4 * float(np.exp(by * (k - 4.5) / 5)))
    return run


def test_a_kind_whose_runtimes_vary_more_is_planned_with_wider_ones() -> None:
    slow, fast = spreads(where_ran(begun(3), {0: 0.8, 1: 0.1}))
    assert slow > 4 * fast


def test_how_machines_differed_in_earlier_bags_is_planned_with_where_nothing_ran_yet() -> None:
    run = where_ran(begun(3), {1: 0.2})
    narrow = spreads(run)
    differ = tuple(np.exp(np.linspace(-0.8, 0.8, 21)).tolist())
    run.settings = replace(run.settings, learned_slowness=(differ, ()))
    wide = spreads(run)
    assert wide[1] == pytest.approx(narrow[1])
    assert wide[0] > 2 * narrow[0]


def test_a_step_that_hardly_varies_is_planned_with_numbers_on_a_kind_that_varies() -> None:
    run = where_ran(begun(3), {})
    assert run.steps is not None
    assert run.settings.graph is not None
    for step in range(len(run.settings.graph.steps)):
        for k in range(20):
            if step % 2:
                run.steps.add(step, 1, 600.0 * float(np.exp(k / 10)))
            else:
                run.steps.add(step, 0, 600.0 * (1 + 0.001 * (k % 3 - 1)))
    problem = workflow_problem(run, run.planning_clusters())
    assert problem is not None
    means = [[kind.mean for kind in step] for step in problem.runtimes]
    assert np.isfinite(means).all(), means


def test_a_copy_that_is_driven_ahead_mends_a_speed_in_doubt_by_its_steps_too() -> None:
    engine = simulated("epigenomics", "prob", 3, tasks=120, budget=money("9"), until=500.0).engine
    other = next(c.index for c in engine.run.clusters if c.line is not SAME)
    engine.run.clusters[other].line = replace(UNTRIED, beta1=7.0)
    ours = engine.ahead(()).run
    ours.observe(next(iter(ours.pool.living[other].values())), TaskId(0), 10.0)
    assert ours.clusters[other].line.beta1 != 7.0


def by_kind(kinds: list[tuple[int, ...]], tasks: int) -> ByKind:
    """Three tasks of each step."""
    return ByKind(random.Random(1), lambda task: task // 3, kinds).with_all(range(tasks))


def test_a_machine_takes_what_is_bound_to_its_kind_first() -> None:
    ready = by_kind([(0,), (1,)], 6)
    ready.turn_to(1, [4, 4])
    assert {ready.take() for _ in range(3)} == {3, 4, 5}
    assert ready.take() is None  # three are ready, and the other kind has places for four


def test_machines_of_other_kinds_help_where_more_is_ready_than_there_are_places() -> None:
    ready = by_kind([(0,)], 3)
    ready.turn_to(1, [2, 1])
    assert ready.take() is not None
    assert ready.take() is None


def test_what_is_bound_to_a_kind_that_has_no_machine_waits_for_none() -> None:
    ready = by_kind([(0,)], 3)
    ready.turn_to(1, [0, 1])
    assert [ready.take() is not None for _ in range(4)] == [True, True, True, False]


def test_machines_that_differ_are_told_apart_by_the_engine_that_ran_them() -> None:
    settings = Settings(
        200, (Offering(ClusterName("one"), money("0.1"), 60.0, 5),), money("9"), tail="none"
    )
    ran = Simulation(settings, lambda task, _kind: 5.0 + task % 7, seed=1)
    ran.run(until=1e6)
    (alike,) = ran.engine.slowness()
    assert len(alike) >= 3
    assert alike[-1] / alike[0] < 1.2  # all machines of the simulator are alike


def test_work_is_kept_for_machines_on_their_way_until_they_take_unusually_long() -> None:
    run = simulated("epigenomics", "prob", 1, budget=money("3")).engine.run
    fast = run.clusters[1]
    coming = Machine(MachineId(9999), 1, fast.offering, run.now)
    run.pool.add(coming)
    assert run._places(fast) == 1
    run.now += 3 * fast.start_seconds + 1
    assert run._places(fast) == 0
    coming.joined_at = run.now
    assert run._places(fast) == 1
