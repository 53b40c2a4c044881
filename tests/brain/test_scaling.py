"""Scalers: each follows its rule, and what is clever comes to what a stupid twin finds."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from bats.common.capacity import pool_rules
from bats.common.errors import UsageError
from bats.common.money import Money, money
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.parallelism import token
from bats.master.brain.graphs.ranks import critical_path
from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placer import Busy
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.scaling.adapt import Adapt
from bats.master.brain.scaling.conpaas import ConPaaS, forecast, weighted
from bats.master.brain.scaling.hist import Hist
from bats.master.brain.scaling.interval_plan import Plan
from bats.master.brain.scaling.react import React
from bats.master.brain.scaling.reg import Reg
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import Kind, MachineView, in_order
from bats.master.brain.scaling.scalers import SCALERS, WITH_BUDGET, scaler
from bats.master.brain.scaling.token import Token


@dataclass
class Shown:
    """A pool as a scaler sees it."""

    demand: int = 0
    cap: int = 0
    most: int = 50
    now: float = 0.0
    interval: float = 30.0
    present: Sequence[Present] = ()
    running: list[tuple[Present, int, float]] = field(default_factory=list)
    budget: Money | None = None
    ended: Sequence[int] = (0,)
    boot_seconds: float = 0.0

    @property
    def kinds(self) -> Sequence[Kind]:
        return [Kind("VM", self.most)]

    @property
    def supply(self) -> Sequence[int]:
        return [self.cap]

    def machines(self) -> Iterator[MachineView]:
        return iter(())

    def busy(self) -> Iterator[Busy]:
        for place, (workflow, task, until) in enumerate(self.running):
            yield Busy(place, workflow, task, until)


def workflow(seconds: Sequence[float], *edges: tuple[int, int], number: int = 1) -> Present:
    near = neighbours(graph([Step("task", len(seconds))], edges))
    return Present(number, Workflow(near, seconds), 0.0)


def drawn(rng: random.Random, number: int) -> Present:
    """An irregular workflow, some of whose tasks have ended and some of which run."""
    tasks = rng.randrange(1, 25)
    edges = [(p, c) for c in range(tasks) for p in range(c) if rng.random() < 0.2]
    one = workflow([rng.choice([1, 4, 9, 20, 50]) for _ in range(tasks)], *edges, number=number)
    for _ in range(rng.randrange(tasks)):
        task = rng.choice(one.waiting_tasks())
        one.start(task, 0.0)
        one.end(task)
    return one


# --- by load --------------------------------------------------------------------------------------


def test_react_has_two_machines_beyond_the_load_and_keeps_what_is_no_more_than_that():
    react = React()
    assert react.want(Shown(demand=7, cap=5)) == [9]
    assert [react.target(5, cap) for cap in (4, 5, 6, 7, 8)] == [7, 7, 6, 7, 7]
    assert React(pad=0).target(5, 9) == 5


def test_a_service_rate_divides_the_load():
    assert React(rate=14).want(Shown(demand=29, cap=0)) == [5]  # ⌈29 / 14⌉ and the pad


def test_adapt_follows_the_slope_and_never_leaves_less_than_the_load():
    adapt = Adapt()
    assert adapt.target(10, 0) == 10
    rng, cap = random.Random(1), 10
    for _ in range(500):
        load = rng.randrange(60)
        cap = adapt.target(load, cap)
        assert cap >= load
    falling = [cap := adapt.target(3, cap) for _ in range(60)]
    assert falling[-1] == 3


def test_adapt_of_the_published_program_falls_a_quarter_as_fast():
    def calls_to_fall(of: Adapt) -> int:
        cap = 40
        for call in range(1000):
            cap = of.target(5, cap)
            if cap == 5:
                return call
        raise AssertionError(cap)

    assert calls_to_fall(Adapt(q=4, up=1.1)) > 1.5 * calls_to_fall(Adapt())


def test_hist_wants_a_high_percentile_of_the_loads_of_the_hour():
    hist = Hist()
    for load in range(1, 11):
        hist.target(load, 100)
    assert hist.target(5, 100) == 10  # the tenth of ten
    later = Shown(demand=5, cap=7, now=3600.0)
    assert hist.want(later) == [7]  # of another hour nothing is known


def test_hist_gives_what_is_short_five_percent_more_after_six_shortages_in_ten_calls():
    hist = Hist()
    wanted = [hist.target(100, 10) for _ in range(6)]
    assert wanted[-1] == 105


def test_hist_is_lowered_by_its_errors_only_if_asked():
    up, both = Hist(), Hist(both_ways=True)
    for one in (up, both):
        for _ in range(5):
            one.target(10, 14)
    assert up.target(10, 14) == 10
    assert both.target(10, 14) == 6


def test_reg_goes_down_along_the_parabola_of_the_last_loads():
    reg = Reg()
    for x in range(10, 3, -1):
        reg.target(x * x, 0)
    assert reg.target(9, 50) == 9  # 3², where the parabola goes on
    assert reg.target(20, 20) == 21
    assert Reg().target(0, 5) == 5  # no load at all tells nothing


def test_reg_forgets_what_is_before_its_window():
    short, long = Reg(window=3), Reg()
    for one in (short, long):
        for load in (40, 40, 40, 40, 5, 4):
            one.target(load, 0)
    assert short.target(3, 50) == 3
    assert long.target(3, 50) != 3  # the parabola leads below nothing: all stay


def test_an_autoregressive_process_is_carried_on_as_it_is():
    series = [10.0, 12.0]
    while len(series) < 40:
        series.append(1.2 * series[-1] - 0.7 * series[-2] + 8)
    assert forecast(series[:20]) == pytest.approx(series[20:40], rel=1e-6)
    assert weighted([9, 1, 1, 4]) == (1 + 2 + 12) / 6


def test_conpaas_wants_the_load_until_it_knows_twenty_and_one_machine_for_what_one_can_do():
    conpaas = ConPaaS()
    for _ in range(20):
        assert conpaas.want(Shown(demand=7)) == [7]
    assert conpaas.want(Shown(demand=7)) == [7]  # foretold
    assert conpaas.want(Shown(demand=1, cap=9)) == [1]
    assert conpaas.want(Shown(demand=0, cap=9)) == [1]


# --- by the workflows -----------------------------------------------------------------------------


def test_plan_counts_the_places_that_it_fills_within_the_interval():
    # A:0 runs for 4 s more; then two of its children fit on its place one after the other.
    one = workflow([9, 3, 20, 40, 5], (0, 1), (1, 2), (0, 3), (3, 4))
    one.start(0, 0.0)
    shown = Shown(present=[one], running=[(one, 0, 4.0)], interval=15.0)
    assert Plan().want(shown) == [2]  # 1 and 3 from second 4 on, 2 from 7; 4 is ready too late
    assert Plan().want(Shown(present=[one], running=[(one, 0, 4.0)], interval=4.0)) == [1]


def places_found_stupidly(shown: Shown) -> int:
    """All tasks are gone through again and again, on a list of all places."""
    free = [until - shown.now for *_, until in shown.running]
    for one in shown.present:
        ends = {task: until - shown.now for of, task, until in shown.running if of is one}
        added = True
        while added:
            added = False
            for task in one.near.order:
                parents = one.near.parents[task]
                begun = task in ends or task not in one.left()
                if begun or any(p in one.left() and p not in ends for p in parents):
                    continue
                ready = max((ends.get(p, 0.0) for p in parents), default=0.0)
                if ready >= shown.interval:
                    continue
                earliest = min(range(len(free)), key=free.__getitem__, default=-1)
                if earliest < 0 or free[earliest] > ready:
                    if len(free) == shown.most:
                        return shown.most
                    free.append(0.0)
                    earliest = len(free) - 1
                ends[task] = ready + one.workflow.estimates[task]
                free[earliest] = ends[task]
                added = True
    return len(free)


@pytest.mark.parametrize("seed", range(60))
def test_plan_finds_the_places_that_going_through_all_tasks_again_and_again_finds(seed: int):
    rng = random.Random(seed)
    present = [drawn(rng, number) for number in range(rng.randrange(1, 5))]
    running = []
    for one in present:
        for task in rng.sample(one.waiting_tasks(), min(one.waiting, rng.randrange(4))):
            one.start(task, 0.0)
            running.append((one, task, 10.0 + rng.choice([1, 7, 40])))
    shown = Shown(now=10.0, present=present, running=running, most=rng.choice([3, 10, 50]))
    if len(running) <= shown.most:
        assert Plan().want(shown) == [places_found_stupidly(shown)]


@pytest.mark.parametrize("seed", range(20))
def test_token_sums_the_widest_generations_within_reach_of_each_workflow(seed: int):
    rng = random.Random(seed)
    present = [drawn(rng, number) for number in range(5)]
    shown = Shown(present=present, most=10**6)
    level = 0
    for one in present:
        hops = len(critical_path(one.near, one.workflow.estimates))
        ended = [task for task in range(one.tasks) if task not in one.left()]
        depth = math.ceil(shown.interval * hops / one.critical)
        level += token(one.near, ended, depth)
    assert Token().want(shown) == [level]
    assert Token().want(Shown(present=present, most=3)) == [3]


# --- the frame ------------------------------------------------------------------------------------


def test_a_number_is_filled_in_the_order_of_the_kinds():
    kinds = [Kind("a", 3), Kind("b", 5)]
    assert [in_order(n, kinds) for n in (-1, 2, 4, 99)] == [[0, 0], [2, 0], [3, 1], [3, 5]]


def test_paid_time_is_used_to_its_last_look():
    due = release("paid", 3600.0)
    looks = [age for age in range(0, 7201, 30) if due(age, 30.0)]
    assert looks == [3570, 7170]
    assert release("idle", 3600.0)(5.0, 30.0)
    assert release("paid", 1.0)(5.0, 30.0)  # an ATU shorter than the interval


def test_each_name_that_a_pool_may_have_is_that_of_a_scaler():
    of_their_own = {"plf", "scf"}  # they say which task runs where
    assert set(pool_rules.SCALERS) == SCALERS.keys() - of_their_own


def test_names_lead_to_scalers_and_others_are_refused_with_those_there_are():
    for name in SCALERS:
        assert len(scaler(name).want(Shown(budget=money(5)))) == 1
    for name in WITH_BUDGET:
        with pytest.raises(ValueError, match="spends a budget, and this pool has none"):
            scaler(name).want(Shown())
    with pytest.raises(UsageError, match="no scaler; there are none, react, adapt"):
        scaler("magic")
    with pytest.raises(UsageError, match="no way to release; there are idle, paid"):
        release("never", 60.0)


class Unseen(Shown):
    """A pool of which nobody may look at tasks."""

    @property
    def present(self) -> Sequence[Present]:
        raise AssertionError("looked at workflows")

    @present.setter
    def present(self, _: Sequence[Present]) -> None: ...

    def busy(self) -> Iterator[Busy]:
        raise AssertionError("looked at what runs")


@pytest.mark.parametrize("name", sorted(set(SCALERS) - set(WITH_BUDGET)))
def test_a_scaler_that_says_it_sees_no_tasks_looks_at_none(name: str):
    one = scaler(name)
    if not one.sees_tasks:
        for call in range(30):
            assert one.want(Unseen(demand=call, cap=5))[0] >= 0
    else:
        with pytest.raises(AssertionError, match="looked at"):
            one.want(Unseen(demand=3, cap=5))
