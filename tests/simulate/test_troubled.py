"""The engine in a simulated world where everything happens that events tell of."""

import random
from typing import get_args

import pytest
from helpers.spot import Spot
from helpers.workbench import MINUTE, free, offering

from bats.common.billing import charge
from bats.common.messages import Outcome
from bats.common.money import money
from bats.common.offering import MANUAL
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine, replay
from bats.master.brain.household.cap import Cap
from bats.master.brain.protocol import events
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import NEVER, Conditions, History
from bats.master.simulate.foresight import foretell
from bats.master.simulate.together import StartedByHand, Submission, Together
from bats.master.simulate.troubled import Troubled, Troubles

TOLD_BY_A_STORE = {events.Asked, events.GivenUp, events.Closed}
SEEDS = 60
FORETOLD = (36, 42)  # stories in which offers are run ahead: some take seconds for that


def story(seed: int) -> tuple[Troubled, History]:
    rng = random.Random(seed)
    offerings = (
        offering("cheap", machines=3, atu=rng.choice([10.0, 60.0, 600.0]), slots=rng.randint(1, 3)),
        offering("dear", 9, machines=2, atu=rng.choice([60.0, 3600.0])),
        free("desk"),
    )
    mean = rng.choice([0.01, 2.0, 45.0])
    runtimes = [rng.lognormvariate(0.0, 0.7) * mean for _ in range(rng.randint(1, 60))]
    settings = Settings(
        len(runtimes), offerings, money(20_000), seed=seed,
        foresight=seed in FORETOLD, rule=rng.choice(["fastest", "ask"]),
    )  # fmt: skip
    often = rng.uniform(1.0, 200.0)
    troubles = Troubles(
        cut_after=lambda draw, _: draw.expovariate(1 / often),
        cut_seconds=lambda draw, _: draw.uniform(0.1, 90.0),
        held_gone=rng.choice([0.0, 0.5]),
        warning_seconds=rng.choice([0.0, 20.0]),
        gives_back=0.3,
        refuses=lambda draw, cluster: "no quota" if cluster == 1 and draw.random() < 0.2 else "",
    )
    conditions = Conditions(
        boot_seconds=rng.uniform(0.0, 30.0),
        life_seconds=lambda draw, _: draw.choice([NEVER, draw.uniform(30.0, 600.0)]),
        start_fails=0.1,
        collect_seconds=rng.choice([0.0, 3.0]),
        task_fails=0.02,
        answers=lambda _offers, now: (now + 5.0, events.Chosen("fastest")),
    )
    world = Troubled(
        settings, lambda task, cluster: runtimes[task] / (1 + cluster), conditions, seed,
        keep_events=True, after_event=Engine.check, troubles=troubles, foretell=foretell,
    )  # fmt: skip
    for at, said in _said_by_the_user(rng, len(runtimes)):
        world.tell(said, at)
    return world, world.run()


def _said_by_the_user(rng: random.Random, tasks: int) -> list[tuple[float, events.Event]]:
    some = tuple(rng.sample(range(tasks), tasks // 3))
    words: list[events.Event] = [
        events.Allowed(money(30_000)),
        events.LeftOut(some),
        events.Retried(some),
        events.Suspended("lunch"),
        events.Resumed(),
    ]
    if rng.random() < 0.3:
        words.append(events.Cancelled("no need"))
    return [(rng.uniform(0.0, 5 * MINUTE), one) for one in words if rng.random() < 0.5]


@pytest.fixture(scope="module")
def stories() -> list[tuple[Troubled, History]]:
    return [story(seed) for seed in range(SEEDS)]


def test_whatever_happens_no_task_is_recorded_twice_and_complete_is_complete(
    stories: list[tuple[Troubled, History]],
) -> None:
    ends = []
    for world, history in stories:
        done = [
            task for task, endings in history.records.items()
            for ending in endings if ending.outcome is Outcome.DONE
        ]  # fmt: skip
        assert len(done) == len(set(done)) == world.engine.run.tasks.done
        ends.append(history.end.outcome if history.end else None)
        if ends[-1] is BagOutcome.COMPLETE:
            left_out = world.engine.run.tasks.counts[TaskState.DROPPED]
            assert len(done) + left_out == len(world.engine.run.tasks)
    assert ends.count(BagOutcome.COMPLETE) > SEEDS / 2


def test_what_machines_cost_is_exactly_what_the_books_say(
    stories: list[tuple[Troubled, History]],
) -> None:
    """Of one that is held to be gone for good nobody knows how long it lived."""
    for world, history in stories:
        if not world.engine.over or world.troubles.held_gone:
            continue
        true = sum(
            charge(world.settings.offerings[cluster], until - since)
            for cluster, since, until in history.uptimes.values()
        )
        assert world.engine.headline().settled == true <= money(30_000)


def test_the_journal_of_such_a_world_replays_to_the_same_books(
    stories: list[tuple[Troubled, History]],
) -> None:
    world, history = stories[0]
    again = replay(world.settings, history.events)
    assert again.digest() == world.engine.digest()


def test_every_event_there_is_happens_in_a_simulated_world(
    stories: list[tuple[Troubled, History]],
) -> None:
    happened = {type(event) for _, history in stories for _, event in history.events}
    kinds = (offering("desk", 0, backend=MANUAL), offering(machines=2))
    by_hand = Settings(30, kinds, money(900), open=True)
    together = Together(
        [Submission(by_hand, lambda _t, _c: 60.0) for _ in range(2)], [StartedByHand(3)],
        caps=[Cap(money(100))], keep_events=True, placement="critical-path",
    )  # fmt: skip
    together.run(until=1e-9)
    for one in together.bags.values():
        one.tell(events.Added(5), 10.0)
        one.tell(events.AllAdded(), 20.0)
    together.run()
    hourly = offering(machines=24)
    lending = Together(
        [
            Submission(Settings(150, (hourly,), money(30), seed=k), lambda t, _: 60.0 + t % 11, at)
            for k, at in enumerate((0.0, 500.0, 1000.0))
        ],
        keep_events=True,
    )
    lending.run()
    for one in (*together.bags.values(), *lending.bags.values()):
        happened |= {type(event) for _, event in one.history.events}
    spot = Spot(60, 10, 6, 60.0, "0.017", "0.5", silent=0.17).simulation("product")
    spot.tell(events.Preferred("AUR"), 15_000.0)
    spot.tell(events.Hampered("its disk is full"), 15_000.0)
    spot.tell(events.Hampered(""), 15_100.0)
    happened |= {type(event) for _, event in spot.run().events}
    assert happened == set(get_args(events.Event)) - TOLD_BY_A_STORE
