"""Very many tasks are foretold in bundles: as honestly as tasks one by one, in far less time."""

from collections.abc import Callable

import numpy as np
import pytest

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import BagOutcome, Foretell
from bats.master.brain.protocol.events import Foretold
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate import bundles, foresight
from bats.master.simulate.driver import Conditions, Simulation

SPEEDS = (1.0, 2.0)


def world(
    tasks: int,
    atu: float,
    foretell: Callable[[Engine, Foretell], Foretold] = foresight.foretell,
    machines: int = 8,
    rule: str = "cheapest",
    seconds: float = 60.0,
) -> Simulation:
    offerings = tuple(
        Offering(ClusterName(name), Money(int(money(price) * atu / 3600)), atu, machines)
        for name, price in (("slow", "0.36"), ("fast", "1.08"))
    )
    return Simulation(
        Settings(tasks, offerings, rule=rule, seed=1, foresight=True),
        lambda _task, cluster: seconds / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: 60.0),
        foretell=foretell,
    )


def test_a_large_bag_takes_and_costs_what_was_told() -> None:
    simulation = world(1500, 1.0, seconds=900.0)
    simulation.run()
    run = simulation.engine.view()
    assert run.told is not None
    assert run.outcome is BagOutcome.COMPLETE
    assert run.ended_at == pytest.approx(run.told.seconds, rel=0.05)
    assert run.spent == pytest.approx(run.told.cost, rel=0.05)
    assert run.spent <= run.told.cost_bound


def test_bundles_come_to_what_the_tasks_of_a_bag_come_to_one_by_one() -> None:
    ends = {}

    def both(engine: Engine, _asked: Foretell) -> Foretold:
        known, schedules = engine.foreknown(), _asked.schedules
        bag, cheapest = np.full(known.tasks, known.runtimes[0]), schedules[0]
        count = bundles.number(engine, known, schedules)
        assert count == bundles.BUNDLES
        ends["one by one"] = foresight.run_ahead(
            engine.ahead((cheapest,)), known, cheapest, bag, known.lines
        )
        rng = np.random.default_rng(1)
        ends["in bundles"] = bundles.run_in_bundles(
            engine, known, cheapest, bag, known.lines, count, rng
        )
        return Foretold(())

    simulation = world(900, 60.0, both)
    simulation.run(until=400)
    exact, coarse = ends["one by one"], ends["in bundles"]
    assert coarse.done
    assert coarse.seconds == pytest.approx(exact.seconds, rel=0.1)
    assert coarse.cost == pytest.approx(exact.cost, rel=0.1)


def test_for_too_many_machines_there_are_too_few_bundles() -> None:
    asked: list[int | None] = []

    def only_asks(engine: Engine, question: Foretell) -> Foretold:
        asked.append(bundles.number(engine, engine.foreknown(), question.schedules))
        return Foretold(())

    world(3000, 60.0, only_asks, machines=400).run(until=400)
    assert set(asked) == {None}


def test_where_much_of_the_work_is_paid_for_already_tasks_are_not_bundled() -> None:
    asked: list[int | None] = []

    def only_asks(engine: Engine, question: Foretell) -> Foretold:
        asked.append(bundles.number(engine, engine.foreknown(), question.schedules))
        return Foretold(())

    world(1500, 3600.0, only_asks).run(until=400)
    assert set(asked) == {None}
