"""Money and time of workflows: a pilot, work counted step by step, machines for what is ready."""

import random

import numpy as np
import pytest
from helpers.workbench import Bench, offering, sent, settings

from bats.common.money import NOTHING, Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.precedence import Precedence
from bats.master.brain.books.ready import PILOT, PilotThenRandom
from bats.master.brain.books.taskbook import TaskBook, TaskState
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.parallelism import at_most, exact
from bats.master.brain.graphs.ranks import longest_way, upward
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.predictors import Question, predict
from bats.master.brain.prediction.workflow_rollout import (
    Hired,
    OrderLeft,
    Place,
    drawn,
    rollouts,
)
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Chosen, Event
from bats.master.brain.protocol.graph import Step, graph, worked_off
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.brain.views.order.work_left import critical_seconds, work_left
from bats.master.simulate.driver import Conditions, History, Simulation
from bats.master.simulate.workflows import layered
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.scientific import SCIENTIFIC

FAMILIES = {**SCIENTIFIC, "layered": layered.drawn}


def run(of: Generated, seed: int = 0, **more: object) -> tuple[Simulation, History]:
    two = (
        offering("slow", "0.02", machines=5, atu=60.0),
        offering("fast", "0.05", machines=5, atu=60.0),
    )
    said: list[float] = []

    def answers(offered: tuple[Schedule, ...], now: float) -> tuple[float, Event] | None:
        if said or not offered:
            return None
        said.append(now)
        return now, Chosen(offered[-1].name)

    simulation = Simulation(
        settings(of.graph.tasks, *two, graph=of.graph, seed=seed, **more),  # type: ignore[arg-type]
        lambda task, cluster: of.seconds[task] / (1, 2)[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: 30.0, answers=answers),
        seed,
    )
    return simulation, simulation.run(until=1e6)


# --- the pilot ------------------------------------------------------------------------------------


def test_some_tasks_go_through_all_steps_before_the_many_of_the_first() -> None:
    n = 20
    chains = graph(
        [Step("a", n), Step("b", n), Step("c", n)],
        [(k, n + k) for k in range(n)] + [(n + k, 2 * n + k) for k in range(n)],
    )
    book = TaskBook(3 * n, random.Random(1), Precedence(chains))
    order = []
    while (task := book.draw()) is not None:
        order.append(task // n)
        book.finish(task)
    assert sorted(order) == [0] * n + [1] * n + [2] * n
    assert set(order[: 3 * PILOT]) == {0, 1, 2}
    assert order[: 3 * PILOT].count(2) == PILOT


def test_chance_picks_the_pilot_of_a_step_and_all_that_come_after() -> None:
    drawn = set()
    for seed in range(40):
        ready = PilotThenRandom(range(50), random.Random(seed), lambda _: 0, 1)
        order = [ready.take() for _ in range(50)]
        assert sorted(task for task in order if task is not None) == list(range(50))
        assert ready.take() is None
        drawn.add(order[0])
    assert len(drawn) > 20


@pytest.mark.parametrize("seed", range(5))
def test_no_task_is_lost_or_given_twice_however_it_comes_back(seed: int) -> None:
    rng = random.Random(seed)
    ready = PilotThenRandom(range(0), rng, lambda task: task % 4, 4)
    inside: set[int] = set()
    for _ in range(2000):
        task = rng.randrange(60)
        if rng.random() < 0.5 and task not in inside:
            ready.add(task)
            inside.add(task)
        elif (taken := ready.take()) is not None:
            inside.remove(taken)
        else:
            assert not inside
        assert set(ready) == inside
        assert len(list(ready)) == len(inside)


# --- what is left ---------------------------------------------------------------------------------


def test_work_left_counts_each_step_by_its_own_mean_and_tells_of_what_is_unknown() -> None:
    of = graph([Step("short", 4), Step("long", 4), Step("dark", 2)], [(0, 8), (1, 9)])
    bench = Bench(
        settings(10, offering("m", 0, machines=1, slots=8), graph=of, known=((10.0,) * 8,))
    )
    bench.begin()
    began = sent(bench.join(1, slots=8))
    short = next(task for task in began if task < 4)
    long = next(task for task in began if 4 <= task < 8)
    bench.done(1, short, at=10)
    bench.done(1, long, at=30)
    left = work_left(bench.run)
    average = bench.run.canonical.mean_done
    waiting = [bench.run.tasks.waiting_of(step) for step in range(3)]
    assert left.tasks == pytest.approx((waiting[0] * 10 + waiting[1] * 30) / average + waiting[2])
    assert left.steps_unknown == ("dark",)
    assert left.noise is not None
    assert left.noise > 0.2


def test_the_critical_path_bounds_the_deadline_from_below() -> None:
    chain = graph([Step("a", 5)], [(k, k + 1) for k in range(4)])
    bench = Bench(
        settings(5, offering("m", 1, machines=9), graph=chain, known=((100.0,) * 9,), budget=99)
    )
    bench.begin()
    machine = min(bench.run.pool.machines, default=None)
    assert machine is not None
    bench.join(machine, 1)
    bench.done(machine, 0, at=101)
    assert critical_seconds(bench.run) == pytest.approx(3 * 100.0, rel=0.4)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_the_width_and_the_longest_way_are_those_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    of = FAMILIES[["montage", "ligo", "layered", "epigenomics"][seed]](60, rng)
    near = neighbours(of.graph)
    assert at_most(of.graph, bytes([1]) * of.graph.tasks) >= exact(near)
    order = worked_off(of.graph)
    assert longest_way(of.graph, order, of.seconds) == pytest.approx(max(upward(near, of.seconds)))


def test_the_longest_way_leads_through_barriers() -> None:
    of = graph([Step("a", 3), Step("b", 2), Step("c", 1)], barriers=[(0, 1), (1, 2)])
    assert longest_way(of, worked_off(of), [1.0, 5.0, 2.0, 7.0, 3.0, 1.0]) == 13.0


@pytest.mark.parametrize("seed", range(4))
def test_what_may_run_soon_is_counted_as_if_all_that_can_run_now_had_ended(seed: int) -> None:
    rng = random.Random(seed)
    of = graph(
        [Step("a", 6), Step("b", 6), Step("c", 4)],
        [(a, 6 + b) for a in range(6) for b in range(6) if rng.random() < 0.3],
        [(1, 2)],
    )
    book = TaskBook(16, rng, Precedence(of))
    near = neighbours(of)
    while book.unfinished:
        now = {t for t, s in enumerate(book.states) if s == TaskState.WAITING}
        done = {t for t, s in enumerate(book.states) if s == TaskState.DONE} | now
        next_ones = [
            t
            for t, state in enumerate(book.states)
            if state == TaskState.BLOCKED and set(near.parents[t]) <= done
        ]
        assert book.soon_at_once(100) == max(len(now), len(next_ones))
        task = book.draw()
        assert task is not None
        book.finish(task)


# --- machines -------------------------------------------------------------------------------------


def test_a_chain_never_has_more_than_one_machine_of_a_kind() -> None:
    chain = Generated(graph([Step("a", 12)], [(k, k + 1) for k in range(11)]), (60.0,) * 12)
    simulation, history = run(chain, budget=50)
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.COMPLETE
    bought = [len(cluster) for cluster in _bought(simulation)]
    assert max(bought) <= 7  # the sample's; after it one at a time
    assert simulation.engine.view().spent < Money(5_000_000_000)


def _bought(simulation: Simulation) -> list[list[int]]:
    machines = simulation.engine.run.pool.machines.values()
    return [[m.id for m in machines if m.cluster == k] for k in range(2)]


@pytest.mark.parametrize("name", FAMILIES)
def test_workflows_are_done_within_their_budget(name: str) -> None:
    of = FAMILIES[name](60, np.random.default_rng(4)).scaled(3600.0)
    simulation, history = run(of, budget=6)
    simulation.engine.check()
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.COMPLETE
    assert simulation.engine.view().spent <= Money(6_000_000_000)


@pytest.mark.parametrize("name", ["montage", "sipht", "epigenomics"])
def test_a_budget_that_is_too_small_is_kept(name: str) -> None:
    of = FAMILIES[name](60, np.random.default_rng(4)).scaled(36000.0)
    simulation, history = run(of, budget=1)
    seen = simulation.engine.view()
    assert seen.spent <= Money(1_000_000_000)
    ended = history.end is not None and history.end.outcome is do.BagOutcome.OUT_OF_BUDGET
    assert ended or seen.paused is not None


@pytest.mark.parametrize("name", ["montage", "cybershake", "epigenomics", "ligo"])
def test_offers_pay_for_the_time_that_order_makes_machines_wait(name: str) -> None:
    of = FAMILIES[name](60, np.random.default_rng(1)).scaled(3600.0)
    simulation, history = run(of, rule=ASK)
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.COMPLETE
    assert simulation.engine.view().chosen


def test_a_step_that_is_not_known_when_schedules_are_offered_is_named() -> None:
    of = FAMILIES["montage"](60, np.random.default_rng(1)).scaled(3600.0)
    _, history = run(of, rule=ASK)
    said = [words for _, words in history.decisions if "nothing is known yet of" in words]
    assert said
    assert "mAdd" in said[0]


# --- rollouts -------------------------------------------------------------------------------------


def rolled(children: list[list[int]], places: int, seconds: float = 10.0) -> tuple[float, Money]:
    """The longest and dearest of the runs when all tasks take as long, give or take nothing."""
    waits = [0] * len(children)
    for below in children:
        for child in below:
            waits[child] += 1
    order = OrderLeft([0] * len(children), children, waits, [[seconds] * 50])
    hired = [Hired(offering("m", 1, atu=25.0)) for _ in range(places)]
    makespans, costs = rollouts(order, [Place(k, 0, 1.0) for k in range(places)], hired, 1)
    return max(makespans), max(costs)


def test_a_chain_takes_as_long_as_its_tasks_together_on_any_number_of_machines() -> None:
    chain = [[k + 1] for k in range(9)] + [[]]
    assert rolled(chain, 1)[0] == rolled(chain, 5)[0] == pytest.approx(100.0)


def test_tasks_side_by_side_share_the_machines_and_each_machine_pays_whole_atus() -> None:
    apart: list[list[int]] = [[] for _ in range(10)]
    makespan, cost = rolled(apart, 5)
    assert makespan == pytest.approx(20.0)
    assert cost == 5 * 10**9  # 20 of the 25 seconds of one ATU each


def test_a_machine_that_waits_longer_than_its_paid_time_is_not_paid_for_that() -> None:
    fork = [[1, 2], [3], [], [4], [5], []]
    makespan, cost = rolled(fork, 2)
    assert makespan == pytest.approx(50.0)
    assert cost <= 4 * 10**9


def test_what_runs_already_is_waited_for_and_needs_no_place() -> None:
    order = OrderLeft([0, 0], [[1], []], [0, 1], [[10.0] * 50], [(0, 1, 3.0)], [2.0, 1.0])
    makespans, costs = rollouts(order, [Place(0, 0, 2.0)], [Hired(offering("m", 0))], seed=1)
    assert set(makespans) == {7.0 + 20.0}
    assert set(costs) == {NOTHING}


def test_a_chain_takes_as_long_as_on_the_fast_machine_that_copies_what_slow_ones_run() -> None:
    chain = [[k + 1] for k in range(9)] + [[]]
    order = OrderLeft([0] * 10, chain, [0] + [1] * 9, [[10.0] * 50])
    hired = [Hired(offering("m", 0), standing=True) for _ in range(3)]
    places = [Place(0, 0, 2.0), Place(1, 1, 1.0), Place(2, 0, 2.0)]
    makespans, _ = rollouts(order, places, hired, seed=1)
    assert set(makespans) == {100.0}


def test_a_copy_that_is_none_the_sooner_delays_nothing_and_keeps_no_machine() -> None:
    """What runs has 1 s left when the copy begins; the fast machine's paid time ends before."""
    order = OrderLeft([0], [[]], [0], [[10.0] * 50], [(0, 0, 9.5)], [2.0, 1.0])
    slow = Hired(offering("slow", 1, atu=30.0), standing=True, paid=5.0)
    fast = Hired(offering("fast", 1, atu=30.0), standing=True, paid=0.5)
    makespans, costs = rollouts(
        order, [Place(0, 0, 2.0, busy=True), Place(1, 1, 1.0)], [slow, fast], seed=1
    )
    assert makespans == [pytest.approx(1.0)] * len(makespans)
    assert set(costs) == {NOTHING}


def test_a_machine_that_left_in_a_lull_comes_back_after_its_start_and_is_paid_anew() -> None:
    """A task of 10 s, one of 60 s, then two side by side: the second machine has left by then."""
    order = OrderLeft([0, 1, 0, 0], [[1], [2, 3], [], []], [0, 1, 1, 1], [[10.0] * 50, [60.0] * 50])
    there = Hired(offering("m", 1, atu=25.0), standing=True, paid=25.0, start_seconds=4.0)
    makespans, costs = rollouts(order, [Place(k, 0, 1.0) for k in range(2)], [there, there], seed=1)
    assert set(makespans) == {70.0 + 4.0 + 10.0}
    assert set(costs) == {3 * 10**9 + 10**9}


def test_how_long_what_runs_may_last_yet_is_drawn_and_told_in_the_bound() -> None:
    sample = [float(10 + k) for k in range(20)]
    order = OrderLeft([0], [[]], [0], [sample], [(0, 0, 15.5)], [1.0])
    place, machine = Place(0, 0, 1.0, busy=True), Hired(offering("m", 0), standing=True)
    makespans, _ = rollouts(order, [place], [machine], seed=1)
    assert min(makespans) >= 16.0 - 15.5
    assert len(set(makespans)) > 3
    assert max(makespans) > 5


def test_tasks_of_a_step_that_runs_for_long_are_held_to_take_as_long_as_those_that_run() -> None:
    """None of the second step has ended; one has run for a hundred times the first's runtimes."""
    order = OrderLeft([1, 1], [[], []], [0, 0], [[1.0] * 9, []], [(0, 0, 100.0)], [1.0])
    seconds = drawn(order, 200, np.random.default_rng(1))
    assert seconds[0].min() >= 100.0
    assert np.median(seconds[1]) > 80.0


def test_a_workflow_all_of_whose_ready_tasks_run_still_takes_its_time() -> None:
    order = OrderLeft([0, 0], [[1], []], [0, 1], [[10.0] * 9], [(0, 0, 4.0)], [1.0])
    clusters = (Cluster(offering("m", 1, atu=1.0), 10.0, 1),)
    question = Question(clusters, ([10.0],), 0, (1,), order=order)
    assert predict(question).makespan_seconds >= 16.0


def test_time_and_price_told_of_a_workflow_hold_together_in_so_many_runs() -> None:
    """The longest of two makes the time, both the price."""
    mixed = [float(k) for k in range(1, 41)]
    order = OrderLeft([0, 1], [[], []], [0, 0], [mixed, mixed], [], [1.0])
    offerings = (offering("m", 1, atu=1.0),)
    question = Question(
        tuple(Cluster(one, 20.0, 2) for one in offerings), ([20.0],), 2, (2,), order=order, seed=1
    )
    told = predict(question)
    hired = [Hired(offerings[0])] * 2
    makespans, costs = rollouts(order, [Place(k, 0, 1.0) for k in range(2)], hired, 1)
    both = [
        m <= told.makespan_seconds and c <= told.cost for m, c in zip(makespans, costs, strict=True)
    ]
    assert 0.9 <= sum(both) / len(both) <= 0.93


def test_the_same_seed_rolls_the_same_runs() -> None:
    def once() -> tuple[list[float], list[Money]]:
        order = OrderLeft([0] * 8, [[] for _ in range(8)], [0] * 8, [[1.0, 5.0, 9.0, 2.0]])
        return rollouts(order, [Place(0, 0, 1.0)], [Hired(offering("m", 1))], seed=3)

    assert once() == once()


def test_machines_that_left_the_sample_come_again_when_tasks_are_ready_for_them() -> None:
    """One long task, then many short ones: the sample is not gone through by one machine."""
    of = graph([Step("index", 1), Step("align", 100)], barriers=[(0, 1)])
    node = Offering(ClusterName("node"), money("0.005"), 5.0, 4, 2, lease_seconds=5.0)
    ends = []
    for seed in range(5):
        simulation = Simulation(
            Settings(101, (node,), money("0.4"), graph=of, seed=seed),
            lambda task, _: 20.0 if task == 0 else 0.5,
            Conditions(start_seconds=lambda _rng, _cluster: 0.3),
            seed,
            keep_events=True,
        )
        history = simulation.run()
        assert history.ended_at is not None
        ends.append(history.ended_at)
        assert simulation.engine.view().spent <= money("0.4")
    assert max(ends) < 20.0 + 100 * 0.5 / 8 + 5.0
