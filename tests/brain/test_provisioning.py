"""Each provisioner aims for what its name says; older settings that had none name the same ones."""

from dataclasses import replace
from typing import Any

import pytest
from helpers.stories import invent
from helpers.workbench import HOUR, MINUTE, Bench, offering, only, settings

from bats.common.messages import MachineId
from bats.common.money import money
from bats.master.brain.planning.problem import Plan
from bats.master.brain.policies.by_name import (
    PROVISIONERS,
    REPLICATORS,
    SAMPLERS,
    policies_of,
    possible_here,
)
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.cost_blind import CostBlind, CostBlindByAtu
from bats.master.brain.policies.paper import Paper
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.policies.replication import NoCopies
from bats.master.brain.protocol.commands import Command, EndBag, StartMachines
from bats.master.brain.protocol.events import Cause, Event, Gone
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.outlook import outlook
from bats.master.brain.views.prospects import Ahead
from bats.master.simulate.driver import Simulation

SLOW, FAST = offering("slow", 3, machines=8), offering("fast", 12, machines=8)
KNOWN = ((20 * MINUTE,) * 30, (10 * MINUTE,) * 30)

NAMED: list[tuple[dict[str, Any], type]] = [
    ({}, ByTimetable),
    ({"prudence": 0.25}, ByTimetable),
    ({"prudence": 0.0}, Paper),
    ({"provisioner": "paper"}, Paper),
    ({"provisioner": "cost-blind"}, CostBlind),
    ({"sampling": "none"}, CostBlind),
    ({"sampling": "none", "provisioner": "paper"}, CostBlind),
    ({"sampling": "none", "prudence": 0.0}, CostBlindByAtu),
]


@pytest.mark.parametrize(("named", "kind"), NAMED, ids=str)
def test_settings_name_a_provisioner_in_words_or_as_they_did_before_it_had_a_name(
    named: dict[str, Any], kind: type
) -> None:
    assert type(policies_of(Settings(10, (SLOW,), **named)).provisioner) is kind


def test_prudence_is_the_room_of_the_timetable_and_the_paper_has_none() -> None:
    rooms = [
        policies_of(Settings(10, (SLOW,), prudence=1.5, provisioner=name)).provisioner.room
        for name in ("timetable", "paper")
    ]
    assert rooms == [3.0, 0.0]


def told(of: Settings, seed: int) -> tuple[list[tuple[float, Event]], list[list[Command]]]:
    story = invent(seed)
    simulation = Simulation(
        of,
        lambda task, cluster: float(story.runtimes[task] / story.speeds[cluster]),
        story.conditions,
        seed,
        keep_events=True,
    )
    history = simulation.run()
    return history.events, history.commands


@pytest.mark.parametrize(
    ("before", "by_name"),
    [
        ({"prudence": 0.0}, {"provisioner": "paper"}),
        ({"sampling": "none"}, {"provisioner": "cost-blind", "sampling": "implicit"}),
    ],
    ids=str,
)
def test_by_either_words_the_same_is_decided(
    before: dict[str, Any], by_name: dict[str, Any]
) -> None:
    usual = 0
    for seed in range(12):
        of = invent(seed).settings
        found = told(replace(of, **before), seed)
        assert found == told(replace(of, **by_name), seed), seed
        usual += found == told(of, seed)
    assert usual < 12, "it decides otherwise than the usual one"


def aims(provisioner: str, tasks: int = 60, **more: object) -> tuple[Bench, Aim | None]:
    """What it aims for when the machines of neither kind are there yet, with 100 to spend."""
    named = {"provisioner": provisioner, "known": KNOWN, "rule": "ask", **more}
    bench = Bench(settings(tasks, SLOW, FAST, budget=100, **named))
    bench.begin()
    clusters = bench.run.planning_clusters()
    view = outlook(bench.run, clusters)
    return bench, bench.run.provisioner.plan(bench.run, clusters, view, "why")


def test_the_paper_aims_for_the_fastest_mix_that_the_money_buys() -> None:
    _, aim = aims("paper")
    assert aim is not None
    assert isinstance(aim.to, Plan)
    assert aim.cause == "why"
    assert aim.to.cost <= money(100)
    # In an hour, for 96, they do all sixty.
    assert aim.to.mix == (8, 6)


def test_the_timetable_says_of_each_machine_how_long_it_stays() -> None:
    _, aim = aims("timetable")
    assert aim is not None
    assert isinstance(aim.to, Ahead)
    assert aim.to.hires
    assert aim.to.room > 0


def test_for_a_deadline_that_can_be_met_the_timetable_buys_the_cheapest_mix_in_time() -> None:
    bench, _ = aims("timetable")
    run, clusters = bench.run, bench.run.planning_clusters()
    view = outlook(run, clusters)
    run.choice.deadline_at = 12 * HOUR
    aim = run.provisioner.plan(run, clusters, view, "why")
    assert aim is not None
    assert isinstance(aim.to, Plan)
    assert aim.to.makespan_seconds <= 12 * HOUR
    assert aim.to.mix[1] == 0  # they cost twice as much for each task
    run.choice.missed = True
    aim = run.provisioner.plan(run, clusters, view, "why")
    assert aim is not None
    assert isinstance(aim.to, Ahead)


@pytest.mark.parametrize("provisioner", ["timetable", "paper"])
def test_what_the_money_will_not_do_is_no_aim_and_least_money_says_what_would(
    provisioner: str,
) -> None:
    bench, aim = aims(provisioner, tasks=5000)
    assert aim is not None
    assert aim.to is None
    least = bench.run.provisioner.least_money(bench.run)
    assert least is not None
    assert least > money(100)
    clusters = bench.run.planning_clusters()
    mix = bench.run.provisioner.most_for_money(bench.run, clusters, outlook(bench.run, clusters))
    assert mix[0] > 0 == mix[1]  # the slow kind costs half as much for each task


def test_who_is_blind_to_costs_has_every_machine_from_the_start_and_watches_nothing() -> None:
    bench = Bench(settings(200, SLOW, FAST, provisioner="cost-blind"))
    bench.begin()
    run = bench.run
    assert [len(run.pool.living[k]) for k in range(2)] == [8, 8]
    assert run.sample is None
    clusters = run.planning_clusters()
    assert run.provisioner.watch(run, clusters, outlook(run, clusters)) is None


def test_who_is_blind_to_costs_asks_again_for_a_machine_that_is_lost() -> None:
    bench = Bench(settings(40, SLOW, FAST, provisioner="cost-blind"))
    bench.begin()
    for machine in range(1, 17):
        bench.join(machine, 0)
    (task,) = bench.run.pool.machines[MachineId(3)].active
    bench.done(3, task, at=MINUTE)
    (asked,) = only(StartMachines, bench(Gone(MachineId(2), 2 * MINUTE, Cause.FAILED), 2 * MINUTE))
    assert (asked.cluster, len(asked.machines)) == (0, 1)


def test_who_forbids_copies_has_a_replicator_that_makes_none() -> None:
    assert isinstance(policies_of(Settings(10, (SLOW,), replicate=False)).replicator, NoCopies)


@pytest.mark.parametrize(
    ("key", "usual"),
    [
        ("provisioner", "timetable"),
        ("sampling", "regression"),
        ("tail", "stochastic+random"),
        ("planner", "knapsack"),
    ],
)
def test_a_name_that_nobody_has_is_told_and_the_usual_policy_decides(key: str, usual: str) -> None:
    of = Settings(10, (SLOW,), seed=4)
    named, words = possible_here(replace(of, **{key: "gone"}))
    assert named == of
    (sentence,) = words
    assert sentence.endswith(f"is called `gone` here: `{usual}` decides.")
    assert possible_here(of) == (of, [])


def test_every_name_makes_a_bag_run_to_its_end() -> None:
    of = invent(3).settings
    for key, names in (
        ("provisioner", PROVISIONERS),
        ("sampling", SAMPLERS),
        ("tail", REPLICATORS),
    ):
        for name in names:
            _, commands = told(replace(of, **{key: name}), 3)
            assert any(isinstance(one, EndBag) for out in commands for one in out), (key, name)
