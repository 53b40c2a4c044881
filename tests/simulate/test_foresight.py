"""What is told by running a bag ahead: it comes true, it binds, and more is asked for in time."""

import math
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from helpers.workbench import HOUR, Bench, offering, only, sent, settings

from bats.common.messages import MachineId, TaskId
from bats.common.money import Money, money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.protocol.commands import BagOutcome, Foretell
from bats.master.brain.protocol.events import (
    Allowed,
    Chosen,
    Ended,
    Event,
    Foretold,
    Granted,
    Joined,
    LeftOut,
    Limited,
    Woken,
)
from bats.master.brain.protocol.journal import event_from, plain
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.simulate.driver import NEVER, Conditions, Simulation
from bats.master.simulate.foresight import _bags, _bound, _told, foretell
from bats.master.simulate.running_ahead import End, run_ahead
from bats.master.simulate.workloads import WORKLOADS

SPEEDS = (1.0, 2.0)


def world(
    kind: str = "constant",
    tasks: int = 60,
    atu: float = 1.0,
    rule: str = "fastest",
    seed: int = 1,
    **more: object,
) -> Simulation:
    runtimes = WORKLOADS[kind].draw(tasks, np.random.default_rng([5, seed]))
    runtimes *= float(str(more.pop("seconds", 900.0))) / 900.0
    offerings = tuple(
        Offering(ClusterName(name), Money(int(money(price) * atu / 3600)), atu, 8)
        for name, price in (("slow", "0.36"), ("fast", "1.08"))
    )
    delay = float(str(more.pop("delay", 0.0)))
    answers = more.pop("answers", lambda _schedules, _now: None)
    settings = Settings(tasks, offerings, rule=rule, seed=seed, foresight=True, **more)  # type: ignore[arg-type]
    return Simulation(
        settings,
        lambda task, cluster: float(runtimes[task]) / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: delay, answers=answers),  # type: ignore[arg-type]
        seed,
        keep_events=True,
        foretell=foretell,
    )


@pytest.mark.parametrize("rule", ["cheapest", "fastest"])
@pytest.mark.parametrize(
    ("atu", "seconds", "tasks", "delay"),
    [
        (1.0, 900.0, 60, 120.0),
        (1.0, 60.0, 120, 0.0),
        (1.0, 5.0, 20, 60.0),
        (60.0, 60.0, 120, 60.0),
        (60.0, 3600.0, 60, 0.0),
        (3600.0, 900.0, 120, 120.0),
        (3600.0, 3600.0, 60, 60.0),
    ],
)
def test_tasks_that_are_all_alike_take_and_cost_what_was_told(
    atu: float, seconds: float, tasks: int, delay: float, rule: str
) -> None:
    simulation = world(
        atu=atu,
        delay=delay,
        tasks=tasks,
        seconds=seconds,
        rule=ASK,
        answers=lambda _, now: (now, Chosen(rule)),
    )
    simulation.run()
    told = simulation.engine.view().told
    ended = simulation.engine.view()
    assert told is not None
    assert ended.outcome is BagOutcome.COMPLETE
    assert ended.ended_at == pytest.approx(told.seconds, rel=0.02)
    assert ended.spent == pytest.approx(told.cost, rel=0.02)
    assert ended.spent <= told.cost_bound


def test_a_run_short_of_what_was_told_is_given_more_and_ends() -> None:
    """A run that asks for money is not just resumed, which would get it nowhere."""
    simulation = world(tasks=60, rule=ASK)
    simulation.run(until=2000)
    engine = simulation.engine
    (cheapest, *_) = engine.headline().offered
    assert cheapest.bounds is not None
    less = Money(cheapest.bounds.cost // 2)
    low = replace(cheapest, bounds=replace(cheapest.bounds, cost=less))
    known = engine.foreknown()
    bag = np.full(60, 900.0)
    end = run_ahead(engine.ahead((low,)), known, low, bag, known.lines)
    assert end.done
    assert not end.sufficed
    assert end.cost > less


@pytest.mark.parametrize("runs", [5, 9, 25, 100])
def test_of_a_stratified_sample_nine_of_ten_lie_within_the_bound(runs: int) -> None:
    middles = [math.exp((k + 0.5) / runs) for k in range(runs)]
    assert _bound(middles) == pytest.approx(math.exp(0.9))


def test_tasks_all_alike_that_end_at_this_moment_are_none_that_take_longer() -> None:
    """By the clock they have run for as long as the others took, or longer by a rounding."""
    simulation = world(tasks=60, rule=ASK)
    simulation.run(until=2000)
    known = simulation.engine.foreknown()
    (alike,) = set(known.done)
    by_now = {TaskId(task): alike * (1 + 1e-12) for task in range(50, 54)}
    known = replace(known, longer_than=by_now)
    ((bag, lines),) = _bags(known, np.random.default_rng(1))
    assert bag == pytest.approx(alike)
    assert lines == known.lines
    later = replace(known, longer_than={TaskId(50): 3 * alike})
    assert len(list(_bags(later, np.random.default_rng(1)))) > 1


def test_runs_whose_money_ended_tell_how_long_it_takes_to_just_get_by() -> None:
    simulation = world(tasks=60, rule=ASK)
    simulation.run(until=2000)
    (cheapest, *_) = simulation.engine.headline().offered
    lucky, short = (
        End(seconds, Money(1), done, done, (1, 0))
        for seconds, done in ((50.0, True), (90.0, False))
    )
    told = _told(cheapest, simulation.engine.foreknown(), [*[lucky] * 2, *[short] * 7]).bounds
    assert told is not None
    assert told.makespan_seconds >= 90.0
    assert told.chance_in_budget == pytest.approx(0.25)


def test_offers_rise_in_price_and_fall_in_time_and_each_tells_its_bounds() -> None:
    simulation = world("normal", 45, rule=ASK, answers=lambda _, now: (now, Chosen("fastest")))
    simulation.run()
    shown = simulation.engine.headline().offered
    assert len(shown) > 1
    assert [one.cost for one in shown] == sorted(one.cost for one in shown)
    times = [one.makespan_seconds for one in shown]
    assert times == sorted(times, reverse=True)
    assert all(one.bounds and one.bounds.cost >= one.cost for one in shown)


def test_the_price_told_caps_and_the_bag_asks_before_it_passes_it() -> None:
    def liar(engine: object, asked: Foretell) -> Foretold:
        """Tells half of what it will cost."""
        told = foretell(simulation.engine, asked).schedules
        return Foretold(
            tuple(
                replace(one, bounds=replace(one.bounds, cost=Money(one.bounds.cost // 2)))
                for one in told
                if one.bounds
            )
        )

    simulation = world()
    simulation._foreteller = liar
    simulation.run()
    run = simulation.engine.view()
    assert run.paused is not None
    assert run.paused.budget is not None
    assert run.limit is not None
    assert run.spent <= run.limit
    assert 0 < run.waiting < 60
    simulation.tell(Allowed(run.paused.budget), run.now + 600)
    simulation.go_on()
    run = simulation.engine.view()
    assert run.outcome is BagOutcome.COMPLETE
    assert run.spent <= (run.budget or 0)


def test_who_leaves_tasks_out_has_the_others_done_for_what_was_told() -> None:
    simulation = world()
    simulation.run(until=2000)
    waiting = simulation.engine.tasks(TaskState.WAITING)[:10]
    running = simulation.engine.tasks(TaskState.RUNNING)[:2]
    simulation.tell(LeftOut((*waiting, *running)), 2001)
    simulation.go_on()
    simulation.engine.check()
    run = simulation.engine.view()
    assert (run.outcome, run.done, run.dropped) == (BagOutcome.COMPLETE, 48, 12)
    assert simulation.history.end is not None
    assert simulation.history.end.words == "48 tasks done, 12 left out"


def test_tasks_that_the_sample_waits_for_can_be_left_out() -> None:
    simulation = world()
    simulation.run(until=1)
    simulation.tell(LeftOut(tuple(simulation.engine.tasks(TaskState.RUNNING))), 2)
    simulation.go_on()
    run = simulation.engine.view()
    assert run.outcome is BagOutcome.COMPLETE
    assert run.done + run.dropped == 60


def test_what_the_end_and_the_price_are_by_now_is_told_while_it_runs() -> None:
    simulation = world(tasks=120)
    simulation.run()
    run = simulation.engine.view()
    assert run.told is not None
    moments = [run.told.at, *(look.at for look in run.looks)]
    assert len(moments) > 2
    assert moments == sorted(moments)
    assert run.ended_at == pytest.approx(run.looks[-1].seconds, rel=0.10)


def told_too_soon(kind: str = "constant") -> Simulation:
    """Half the time is told the first time, before anything is chosen."""

    def optimist(engine: object, asked: Foretell) -> Foretold:
        told = foretell(simulation.engine, asked).schedules
        if simulation.engine.headline().chosen:
            return Foretold(told)
        return Foretold(tuple(replace(one, bounds=_sooner(one)) for one in told))

    simulation = world(kind, tasks=120)
    simulation._foreteller = optimist
    return simulation


def test_what_is_at_risk_is_what_the_time_to_go_says() -> None:
    simulation = told_too_soon("log-normal")
    simulation.begin()
    now, risky = 0.0, 0
    while not simulation.engine.over:
        now += 100.0
        simulation.go_on(until=now)
        run = simulation.engine.view(now)
        if run.told is None or not run.looks or run.eta_seconds is None:
            continue
        late = run.now - run.began_at + run.eta_seconds > run.told.seconds_bound
        assert ("hardly be done" in run.at_risk) == late
        risky += late
    assert risky


def test_that_a_bound_will_hardly_hold_is_said_early_with_what_can_be_done() -> None:
    simulation = told_too_soon()
    simulation.run()
    said = [(at, words) for at, words in simulation.history.decisions if "hardly be done" in words]
    assert len(said) == 1, "once"
    assert simulation.engine.view().at_risk == "", "it is over"
    at, words = said[0]
    assert "`bats allow` gives it more, `bats drop` leaves tasks out" in words
    told = simulation.engine.view().told
    assert told is not None
    assert at < told.seconds_bound, "before it is broken"


def test_of_a_plan_that_has_no_machine_nobody_says_when_it_ends() -> None:
    def pessimist(engine: object, asked: Foretell) -> Foretold:
        told = foretell(simulation.engine, asked).schedules
        if simulation.engine.headline().chosen:
            told = tuple(replace(one, makespan_seconds=math.inf) for one in told)
        return Foretold(told)

    simulation = world(tasks=120)
    simulation._foreteller = pessimist
    simulation.run()
    run = simulation.engine.view()
    assert run.outcome is BagOutcome.COMPLETE
    assert (run.looks, run.at_risk) == ((), "")


def _sooner(one: Schedule) -> Bounds:
    assert one.bounds is not None
    half = one.bounds.makespan_seconds / 2
    return replace(one.bounds, makespan_seconds=half, median_seconds=half)


@pytest.mark.parametrize(("rule", "works"), [("fastest", True), (ASK, False)])
def test_machines_work_on_while_it_is_found_out_what_offers_come_to(rule: str, works: bool) -> None:
    """Only who wants to be asked is waited for: by the second, machines that wait would go."""
    simulation = world(rule=rule)
    simulation._foreteller = lambda _engine, _asked: Woken()
    simulation.run(until=2000)
    assert simulation.engine.unanswered is not None
    assert bool(simulation.engine.running()) is works


@pytest.mark.parametrize("name", ["fastest", "cheapest"])
def test_who_chooses_with_a_budget_may_spend_all_of_it_if_what_was_told_does_not_do(
    name: str,
) -> None:
    def liar(engine: object, asked: Foretell) -> Foretold:
        told = foretell(simulation.engine, asked).schedules
        return Foretold(tuple(replace(one, bounds=_cheaper(one)) for one in told))

    simulation = world(rule=ASK, answers=lambda _, now: (now, Chosen(name, money(50))))
    simulation._foreteller = liar
    simulation.run()
    assert simulation.engine.view().outcome is BagOutcome.COMPLETE


def _cheaper(one: Schedule) -> Bounds:
    assert one.bounds is not None
    return replace(one.bounds, cost=Money(one.bounds.cost // 2))


def test_a_budget_of_the_users_own_caps_alone() -> None:
    simulation = world(rule="cheapest", budget=money(2))
    simulation.run()
    run = simulation.engine.view()
    assert run.paused is None
    assert run.outcome is BagOutcome.OUT_OF_BUDGET
    assert run.spent <= money(2)


def test_what_was_told_is_read_back_from_the_journal_and_not_foretold_anew() -> None:
    simulation = world(rule="fastest-10%")
    history = simulation.run()
    replayed = type(simulation.engine)(simulation.engine.settings)
    for now, event in history.events:
        again: Event = event_from(plain(event))
        assert again == event
        replayed.handle(again, now)
    assert replayed.view() == simulation.engine.view()
    assert replayed.view().told is not None


def test_a_plan_that_a_budget_decided_is_told_too() -> None:
    simulation = world("normal", 45, budget=money(9))
    simulation.run()
    run = simulation.engine.view()
    assert run.told is not None
    assert run.told.name == run.chosen
    assert run.spent <= money(9)


def test_what_a_budget_comes_to_is_told_when_enough_has_ended() -> None:
    simulation = world("log-normal", 60, budget=money(9))
    history = simulation.run()
    told = simulation.engine.view().told
    assert told is not None
    words = "ended so far: what all come to is told when 12 have"
    assert [words in said for _, said in history.decisions].count(True) == 1
    by_then = [at for at, event in history.events if isinstance(event, Ended) and at <= told.at]
    assert len(by_then) >= 12


def test_an_older_journal_that_told_a_budgets_plan_with_the_choice_has_told_it() -> None:
    simulation = world("log-normal", 60, budget=money(9))
    simulation.run()
    engine = Engine(simulation.engine.settings)
    for now, event in simulation.history.events:
        if isinstance(event, Foretold):
            continue
        engine.handle(event, now)
        if engine.headline().chosen:
            break
    assert engine.unanswered is None
    told = next(event for _, event in simulation.history.events if isinstance(event, Foretold))
    engine.handle(told, now)
    assert engine.view().told is not None


def test_who_chooses_while_newer_offers_are_being_foretold_has_what_was_shown() -> None:
    def slow(engine: object, asked: Foretell) -> Foretold:
        told = foretell(simulation.engine, asked)
        late.append(told)
        return told

    late: list[Foretold] = []
    simulation = world(rule=ASK, answers=lambda _, now: (now, Chosen("fastest")))
    simulation._foreteller = slow
    simulation.run(until=2000)
    told = simulation.engine.view().told
    simulation.tell(late[0], 2001)
    simulation.go_on(until=2002)
    assert simulation.engine.view().told == told


def test_where_nothing_can_be_foretold_the_bag_goes_on_as_planned() -> None:
    simulation = world()
    simulation._foreteller = lambda _engine, _asked: Foretold(())
    simulation.run()
    assert simulation.engine.view().outcome is BagOutcome.COMPLETE


def test_a_large_bag_is_foretold_in_a_moment() -> None:
    simulation = world("normal", tasks=1200)
    simulation.run()
    run = simulation.engine.view()
    assert run.told is not None
    assert run.ended_at == pytest.approx(run.told.seconds, rel=0.2)


def test_the_fastest_begins_its_dear_machines_with_the_choice_and_is_told_so() -> None:
    offerings = tuple(
        Offering(ClusterName(name), money(price), 10.0, 3, boundary_seconds=0.5)
        for name, price in (("small", "0.02"), ("large", "0.06"))
    )
    runtimes = np.random.default_rng(4).normal(6.0, 0.6, 60)
    shown: list[tuple[Schedule, ...]] = []

    def answers(schedules: tuple[Schedule, ...], now: float) -> tuple[float, Chosen] | None:
        shown.append(schedules)
        return None if len(shown) > 1 else (now, Chosen("fastest"))

    simulation = Simulation(
        Settings(60, offerings, rule=ASK, seed=1, foresight=True),
        lambda task, cluster: float(runtimes[task]) / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: 0.3, answers=answers),
        foretell=foretell,
    )
    simulation.run()
    cheapest, fastest = shown[0][0], shown[0][-1]
    assert (cheapest.mix, fastest.mix) == ((3, 0), (3, 3))
    assert fastest.makespan_seconds < cheapest.makespan_seconds / 2
    told = simulation.engine.view().told
    assert told is not None
    assert simulation.history.ended_at == pytest.approx(told.seconds, rel=0.1)


def test_the_cheapest_begins_no_dear_machines_with_what_its_price_has_to_spare() -> None:
    simulation = world("normal", atu=60.0, rule="cheapest", delay=60.0)
    simulation.run()
    run = simulation.engine.view()
    assert run.told is not None
    late = [k for k, began, _ in simulation.history.uptimes.values() if began > run.told.at]
    assert late
    assert set(late) == {0}


def test_a_bag_whose_machines_others_have_is_run_ahead_to_its_end() -> None:
    bench = Bench(settings(9, offering(), known=((HOUR,) * 30,), rule="ask", foresight=True))
    (asked,) = only(Foretell, bench.begin())
    bench(Limited(0, 0))
    copy = bench.engine.ahead(asked.schedules)
    assert copy.run.clusters[0].offering.max_machines == 1
    assert bench.run.clusters[0].offering.max_machines == 0
    assert foretell(bench.engine, asked).schedules


def test_what_was_being_collected_is_here_when_a_bag_is_run_ahead() -> None:
    simulation = world(tasks=60, rule="cheapest")
    simulation._conditions = replace(simulation._conditions, collect_seconds=300.0)
    engine = simulation.engine
    simulation.begin()
    until = 2500.0
    while not any(len(machine.collecting) for machine in engine.run.pool.alive()):
        until += 50.0
        simulation.go_on(until)
    (cheapest, *_) = engine.headline().offered
    known = engine.foreknown()
    assert any(machine.collecting for machine in known.machines)
    bag = np.full(60, 900.0)
    end = run_ahead(engine.ahead((cheapest,)), known, cheapest, bag, known.lines)
    assert end.done
    assert end.seconds < 30 * 900, "no machine waits for files that never come"


# --- within a budget ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "tasks", "atu", "budget"),
    [("normal", 60, 3600.0, "14"), ("normal", 120, 60.0, "16"), ("constant", 60, 1.0, "9")],
)
def test_beside_what_a_budget_buys_it_is_told_what_would_do_for_less(
    kind: str, tasks: int, atu: float, budget: str
) -> None:
    simulation = world(kind, tasks, atu, delay=30.0, budget=money(budget))
    simulation.run()
    *less, own = simulation.engine.foretold
    assert less
    costs = [one.cost for one in (*less, own)]
    times = [one.makespan_seconds for one in (*less, own)]
    assert costs == sorted(set(costs))
    assert times == sorted(set(times), reverse=True), "nobody pays more for no time"
    assert simulation.engine.headline().chosen == own.name, "the budget's plan goes on"
    assert any(f"{less[0].name} would do" in words for _, words in simulation.history.decisions)


@pytest.mark.parametrize("wait", [0.0, 2000.0])
@pytest.mark.parametrize("atu", [1.0, 60.0])
def test_what_costs_less_can_be_chosen_while_the_budget_is_spent_and_comes_to_what_is_told_then(
    atu: float, wait: float
) -> None:
    simulation = world("constant", 120, atu, delay=30.0, budget=money("18"))
    simulation.begin()
    now = 0.0
    while not simulation.engine.foretold:
        now += 30.0
        simulation.go_on(now)
    cheapest, *_ = simulation.engine.foretold
    simulation.tell(Chosen(cheapest.name), now + wait)
    simulation.go_on()
    ended = simulation.engine.view()
    assert ended.outcome is BagOutcome.COMPLETE
    assert ended.told is not None
    assert ended.told.name == cheapest.name
    assert ended.limit is not None
    assert ended.told.cost_bound <= ended.limit < money("18"), "what is told of it may be spent"
    assert ended.spent == pytest.approx(ended.told.cost, rel=0.03)
    assert ended.ended_at == pytest.approx(ended.told.seconds, rel=0.03)


def test_of_a_bag_of_seconds_nothing_is_told_that_nobody_can_read_in_time() -> None:
    simulation = world("normal", 60, 1.0, seconds=5.0, budget=money("2"))
    simulation.run()
    assert len(simulation.engine.foretold) == 1


def test_a_bag_whose_machines_others_have_is_not_run_ahead_for_ever() -> None:
    """When a slot of the desk is granted again, nobody knows: nothing is told of the plan."""
    kinds = offering("small", 1, machines=3), offering("desk", 0, machines=0, backend=MANUAL)
    made = Bench(settings(10, *kinds, budget=5, rule="cheapest", foresight=True))
    made(Limited(0, 0))
    made.begin()
    desks = MachineId(500_001), MachineId(500_002)
    tasks = [sent(made(Joined(desk, 1, (), 1), 1.0))[0] for desk in desks]
    for desk in desks:
        made(Granted(desk, 0), 2.0)
    made.done(desks[0], tasks[0], at=3.0)
    (asked,) = only(Foretell, made.done(desks[1], tasks[1], at=3.0))
    assert foretell(made.engine, asked) == Foretold(())


def test_what_is_told_of_machines_that_may_be_taken_away_counts_what_will_be_lost() -> None:
    """Half an hour a task, a machine lost every two hours: without losses, 20 % too little."""
    off = []
    for seed in range(4):
        cheap, dear = (Money(int(money(price) / 60)) for price in ("0.30", "1.00"))
        offerings = (
            Offering(ClusterName("spot"), cheap, 60.0, 6, reliable=False),
            Offering(ClusterName("sure"), dear, 60.0, 2),
        )
        settings = Settings(
            40,
            offerings,
            rule="cheapest",
            seed=seed,
            foresight=True,
            learned_losses=((40.0, 40.0, 40.0, 80 * 3600.0), ()),
        )
        simulation = Simulation(
            settings,
            lambda _task, _cluster: 1800.0,
            Conditions(
                life_seconds=lambda rng, k: NEVER if k else rng.expovariate(0.5 / 3600),
            ),
            seed,
            foretell=foretell,
        )
        simulation.run(until=1e6)
        told = simulation.engine.view().told
        if (pause := simulation.engine.run.pause) is not None:  # one price in ten does not do
            assert pause.budget is not None
            simulation.tell(Allowed(pause.budget), simulation.engine.run.now)
            simulation.go_on()
        ended = simulation.engine.view()
        assert ended.outcome is BagOutcome.COMPLETE
        assert told is not None
        off.append(ended.spent / told.cost - 1)
    assert abs(fmean(off)) < 0.08, off
