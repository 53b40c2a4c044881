"""`bats frontier`: what a bag has learned of its unreliable machines, told and chosen from."""

from helpers.spot import Spot

from bats.master.brain.policies.known_pools import known_pools
from bats.master.brain.unreliable.notation import read, write
from bats.master.brain.unreliable.preference import chosen
from bats.master.brain.unreliable.tradeoff import frontier
from bats.master.cli.display.strategies import said


def test_a_bag_that_is_done_knows_its_pools():
    spot = Spot(tasks=150, machines=20, silent=0.2)
    known = known_pools(spot.run("N=2 T=1x D=2x M_r=0.2").simulation.engine.run)
    assert known is not None
    world = known.world
    assert (world.tasks, world.machines, known.M_r_most) == (150, 20, 1.0)
    assert abs(world.unreliable.reliability - 0.8) < 0.12
    assert abs(world.T_ur - spot.world().T_ur) < 200
    assert world.reliable is not None
    assert (world.unreliable.price, world.reliable.price) == (1.0, 34.0)


def test_the_strategy_told_is_one_that_can_be_asked_for_and_does_what_was_told():
    spot = Spot(tasks=120, machines=20, silent=0.2)
    known = known_pools(spot.run("AUR").simulation.engine.run)
    assert known is not None
    best = chosen(frontier(known.world, known.M_r_most), "product")
    assert best is not None
    assert read(write(best.strategy)).strategy.N == best.strategy.N
    ran = [spot.run(write(best.strategy), seed=seed) for seed in range(3)]
    assert abs(sum(r.seconds for r in ran) / 3 / best.seconds - 1) < 0.2
    assert abs(sum(r.cost for r in ran) / 3 / best.cost - 1) < 0.2


def test_a_bag_of_reliable_machines_knows_no_pools():
    it = Spot(tasks=4, machines=0, reliable=2).run("AR")
    assert known_pools(it.simulation.engine.run) is None


def test_the_table_marks_the_best_and_says_how_to_take_it():
    one = {"name": "N=3 T=60 D=120 M_r=0.1", "makespan_seconds": 3600.0, "makespan_spread": 60.0,
           "cost": 2_000_000_000, "cost_spread": 100_000_000, "reliable_machines": 1.0}  # fmt: skip
    facts = {"bag": 1, "currency": "$", "tasks": 9, "machines": 3, "reliability": 0.8,
             "mean_seconds": 60.0, "chosen": one["name"], "current": "", "may_change": False,
             "strategies": [one]}  # fmt: skip
    words = said(facts)  # type: ignore[arg-type]
    assert "N=3 T=60 D=120 M_r=0.1 <" in words
    assert '--tail ntdmr --strategy "N=3 T=60 D=120 M_r=0.1"' in words
    assert "80%" in words
    words = said({**facts, "current": "AUR", "may_change": True})  # type: ignore[typeddict-item,arg-type]
    assert 'bats choose 1 --strategy "N=3 T=60 D=120 M_r=0.1"' in words
    assert "Nothing is known" in said({**facts, "tasks": 0})  # type: ignore[typeddict-item,arg-type]
    assert "No strategy ends" in said({**facts, "strategies": []})  # type: ignore[typeddict-item,arg-type]
    assert "limits" in said({**facts, "chosen": ""})  # type: ignore[typeddict-item,arg-type]
