"""Machines are bought for tasks that they will run, and each purchase says for which."""

import os
import re

import pytest
from helpers.stories import invent
from helpers.workbench import MINUTE, Bench, offering, only, settings

from bats.common.messages import MachineId
from bats.common.money import money
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Charged
from bats.master.brain.views.newcomers import tasks_of_new
from bats.master.simulate.driver import Simulation

TEN_MINUTES = ((10 * MINUTE,) * 30,)
STORIES = int(os.environ.get("BATS_PURCHASE_RUNS", "100"))
UNFORESEEN = 2  # machines in so many stories, whose tasks others began before they came


def known(tasks: int, machines: int = 10, **more: object) -> Bench:
    return Bench(
        settings(tasks, offering(machines=machines), budget=200, known=TEN_MINUTES, **more)
    )


def started(commands: list[do.Command]) -> list[int]:
    return [machine for start in only(do.StartMachines, commands) for machine in start.machines]


def test_no_more_machines_are_bought_than_tasks_wait() -> None:
    assert len(started(known(3).begin())) == 3


def test_what_is_bought_says_how_many_tasks_it_will_run_and_for_how_much() -> None:
    (said,) = only(do.Decided, known(100).begin())
    assert "; 10 new ones for up to $60.00 run 100 of them" in said.words


def test_a_machine_that_would_come_when_the_others_have_begun_all_is_not_bought() -> None:
    bench = known(5, machines=4)
    for machine in started(bench.begin()):
        bench.join(machine, 0)
    assert bench.run.tasks.waiting == 1
    bench.run.clusters[0].start_seconds_sum = bench.run.clusters[0].start_count * 11 * MINUTE
    assert tasks_of_new(bench.run, [3]) == [[0, 0, 0]]
    bench.run.clusters[0].start_seconds_sum = 0.0
    assert tasks_of_new(bench.run, [3]) == [[1, 0, 0]]


def test_a_machine_that_costs_nothing_yet_is_called_off_when_no_task_is_left_for_it() -> None:
    bench = known(4, machines=4)
    assert started(bench.begin()) == [1, 2, 3, 4]
    bench(Charged(MachineId(2), 0))
    out = bench.join(1, 0, slots=4)
    assert {stop.machine: stop.reason for stop in only(do.StopMachine, out)} == dict.fromkeys(
        (3, 4), "no task is left for it"
    )


def test_the_money_lets_each_new_machine_begin_a_task_beside_all_that_runs() -> None:
    """An ATU is paid for each; the tasks are thirty of them."""
    tight = {"known": (((300.0,) * 30),), "budget": 110}
    bench = Bench(settings(10, offering(price=2, atu=10.0, machines=8), **tight))  # type: ignore[arg-type]
    asked = started(bench.begin())
    for machine in asked:
        assert only(do.RunTasks, bench.join(machine, 0)), "it has something to do"


def test_a_task_in_one_of_many_slots_is_counted_with_its_part_of_the_machines_price() -> None:
    """Of 32 slots 16 are idle: for ten minutes they are $5 of $60 an hour, and not $160."""
    big = offering(price=60, machines=1, slots=32)
    bench = Bench(settings(400, big, budget=160, known=TEN_MINUTES))
    assert started(bench.begin()) == [1]
    bench.join(1, 0, slots=16)
    bench.run.pool.machines[MachineId(1)].slots = 32
    assert bench.run.ledger.left == money(100)
    assert tasks_of_new(bench.run, [1])[0], "the rest pays for another"


def test_the_sample_of_a_small_bag_has_no_machine_without_a_task() -> None:
    kinds = [offering(name, price, slots=2) for name, price in (("a", 1), ("b", 2), ("c", 3))]
    assert len(started(Bench(settings(1, *kinds)).begin())) == 1
    assert len(started(Bench(settings(2, *kinds)).begin())) == 1, "the first has room for both"
    assert len(started(Bench(settings(30, *kinds)).begin())) >= 3, "each kind is tried"


@pytest.mark.parametrize("first", range(0, STORIES, 50))
def test_whatever_the_bag_no_machine_is_bought_for_nothing(first: int) -> None:
    idle = []
    for seed in range(first, first + 50):
        story = invent(seed)
        simulation = Simulation(
            story.settings,
            lambda task, cluster, story=story: story.runtimes[task] / story.speeds[cluster],  # type: ignore[misc]
            story.conditions,
            seed,
            keep_events=True,
        )
        history = simulation.run()
        ran: set[int] = set()
        bought: dict[int, bool] = {}
        for commands in history.commands:
            chosen = any(" new one" in said.words for said in only(do.Decided, commands))
            bought |= dict.fromkeys(started(commands), chosen)
            ran |= {order.machine for order in only(do.RunTasks, commands)}
            for said in only(do.Decided, commands):
                tasks = re.search(r"new ones? for up to \S+ runs? ([\d,]+) of", said.words)
                assert tasks is None or tasks[1] != "0", said.words
        came = [m for m, since in history.uptimes.items() if since[2] > since[1]]
        idle += [(seed, m) for m in came if bought.get(m) and m not in ran]
    assert len(idle) <= UNFORESEEN, idle
