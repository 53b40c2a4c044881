"""A bag's share of common machines as its report tells it, of bags in virtual time."""

from bats.common.messages import BagId
from bats.common.money import NOTHING, money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.settings import Settings
from bats.master.report.charts import shares
from bats.master.report.common_shares import CommonShares
from bats.master.simulate.together import StartedByHand, Submission, Together

DESK = Offering(ClusterName("desk"), NOTHING, 3600.0, 0, backend=MANUAL)
RENTED = Offering(ClusterName("rented"), money("0.06"), 60.0, 4)


def seen(world: Together, bag: int) -> tuple[CommonShares, Engine]:
    one = world.bags[BagId(bag)]
    found, engine = CommonShares(), Engine(one.settings)
    for now, event in one.history.events:
        engine.handle(event, now)
        found.see(engine, event, now)
    found.end(engine, one.history.ended_at or 0.0)
    return found, engine


def test_the_slots_that_a_bag_had_beside_another_and_alone_make_its_share() -> None:
    bags = [Submission(Settings(n, (DESK,)), lambda _t, _c: 1.0) for n in (40, 20)]
    world = Together(bags, [StartedByHand(4)], keep_events=True)
    world.run()
    found, engine = seen(world, 1)
    ended = world.bags[BagId(1)].history.ended_at or 0.0
    had = sum(record[0].seconds for record in world.bags[BagId(1)].history.records.values())
    assert abs(found.mean * ended - had) <= 4.0, "but for slots that wait for a task to end"
    assert found.most == 4
    (words,) = found.words(engine)
    assert words.endswith(f"it had {found.mean:.1f} slots on average, 4 at most.")
    assert "4 at most" in shares(found.steps, ended, 900)


def test_machines_that_others_have_are_told_by_offering() -> None:
    bags = [
        Submission(Settings(60, (RENTED,), money("3"), seed=k), lambda _t, _c: 20.0, 90.0 * k)
        for k in range(2)
    ]
    world = Together(bags, keep_events=True)
    world.run()
    found, engine = seen(world, 2)
    assert found.words(engine) == ["Of 4 rented other bags left it none at times."]
    alone = Together(bags[:1], keep_events=True)
    alone.run()
    assert seen(alone, 1)[0].words(seen(alone, 1)[1]) == []
