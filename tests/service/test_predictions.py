"""What is told of a plan, asked for while it is still being found out."""

import asyncio

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.events import Cancelled, Foretold, Woken
from bats.master.brain.protocol.settings import Settings
from bats.master.service.bags.predictions import Predictions
from bats.master.simulate.driver import Simulation
from bats.master.simulate.foresight import foretell

OFFERINGS = (
    Offering(ClusterName("slow"), Money(money("0.0001")), 1.0, 4),
    Offering(ClusterName("fast"), Money(money("0.0003")), 1.0, 4),
)


def within_a_budget() -> Simulation:
    """A bag that has begun what its budget buys, and that nobody has foretold yet."""
    settings = Settings(60, OFFERINGS, budget=money(9), rule="fastest", seed=1, foresight=True)
    world = Simulation(
        settings,
        lambda task, cluster: (5.0 + task % 7) / (1 + cluster),
        foretell=lambda _engine, _asked: Woken(),  # type: ignore[arg-type, return-value]
    )
    world.run(until=15.0)
    assert world.engine.unanswered is not None
    assert world.engine.headline().chosen
    return world


async def test_of_what_a_budget_decided_it_is_told_what_it_comes_to_and_what_costs_less() -> None:
    """Offers that were never chosen of would all tell of the machines that work by now."""
    engine = within_a_budget().engine
    predictions = Predictions(engine)
    asked = asyncio.ensure_future(predictions.bounded())
    await asyncio.sleep(0.05)
    assert not asked.done(), "it is being found out"
    assert engine.unanswered is not None
    engine.handle(foretell(engine, engine.unanswered), 15.0)
    predictions.look()
    *less, told = await asked
    assert told.name == engine.headline().chosen
    assert all(one.bounds is not None for one in (*less, told))
    assert all(one.cost < told.cost for one in less)
    assert await predictions.bounded() == (*less, told), "it stays on record"


async def test_nobody_waits_for_what_is_told_of_a_bag_that_has_ended() -> None:
    engine = within_a_budget().engine
    predictions = Predictions(engine)
    asked = asyncio.ensure_future(predictions.bounded())
    await asyncio.sleep(0)
    engine.handle(Cancelled("enough"), 15.0)
    predictions.look()
    async with asyncio.timeout(5):
        told = await asked
    assert all(one.name == engine.headline().chosen for one in told)


async def test_where_nothing_could_be_foretold_the_plan_is_shown_without_bounds() -> None:
    engine = within_a_budget().engine
    engine.handle(Foretold(()), 15.0)
    told = await Predictions(engine).bounded()
    assert [(one.name, one.bounds) for one in told] == [(engine.headline().chosen, None)]
