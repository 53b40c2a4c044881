"""Caps over bags that run side by side, in virtual time: to the cent, whatever happens."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from bats.common.billing import begun_before, charge
from bats.common.messages import BagId
from bats.common.money import NOTHING, Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.household.cap import Cap, Period
from bats.master.brain.household.household import Household
from bats.master.brain.household.sharing import SHARINGS
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Allotted, Cancelled
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions
from bats.master.simulate.together import StartedByHand, Submission, Together

MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
DAY = 86_400.0
RENTED = Offering(ClusterName("rented"), money("0.06"), 60.0, 8)
LAB = Offering(ClusterName("lab"), NOTHING, 3600.0, 1)
A, B = BagId(1), BagId(2)


def rented(tasks: int, budget: str | None = "9", at: float = 0.0, *more: Offering) -> Submission:
    limit = None if budget is None else money(budget)
    return Submission(Settings(tasks, (RENTED, *more), limit), lambda _t, _c: 20.0, at)


def spent_by_day(world: Together) -> dict[int, Money]:
    """As the world saw it: the price of ATUs by the day in which each began, 0 the first."""
    days: dict[int, Money] = {}
    for one in world.bags.values():
        for cluster, since, left in one.history.uptimes.values():
            offering = one.settings.offerings[cluster]
            began = world.epoch + one.began + since
            count = charge(offering, left - since) // offering.price if offering.price else 0
            for k in range(count):
                day = int((began + k * offering.atu_seconds - MIDNIGHT) // DAY) + 1
                days[day] = Money(days.get(day, NOTHING) + offering.price)
    return days


def run(bags: Sequence[Submission], *caps: Cap, before_midnight: float = 3600.0) -> Together:
    epoch = MIDNIGHT - before_midnight
    world = Together(bags, caps=caps, epoch=epoch, keep_events=True, check=True)
    world.run()
    return world


def test_a_bag_waits_at_the_cap_of_a_day_and_goes_on_the_next() -> None:
    cap = Cap(money(1), Period.DAY)
    world = run([rented(120)], cap)
    one = world.bags[A]
    assert one.engine.run.outcome is BagOutcome.COMPLETE
    assert len(spent_by_day(world)) > 1
    assert max(spent_by_day(world).values()) <= money(1)
    words = [words for _, words in one.history.decisions]
    (first, *_) = [said for said in words if "leaves too little" in said]
    assert first.endswith(
        "not done: the cap of $1.00 a day leaves too little for another machine until "
        "2026-11-21 00:00 UTC"
    )
    assert any(said.startswith("goes on under $1.00 a day, of which $1.00") for said in words)


def test_a_bag_without_a_budget_waits_at_a_cap_as_well() -> None:
    cap = Cap(money("0.5"), Period.DAY)
    world = run([rented(60, None)], cap)
    assert world.bags[A].engine.run.outcome is BagOutcome.COMPLETE
    assert max(spent_by_day(world).values()) <= money("0.5")


def test_machines_that_cost_nothing_go_on_at_the_cap() -> None:
    world = run([rented(120, "9", 0.0, LAB)], Cap(money("0.3")))
    assert world.bags[A].engine.run.outcome is BagOutcome.COMPLETE
    assert 0 < sum(spent_by_day(world).values()) <= money("0.3")


def test_a_bag_waits_at_a_cap_for_good_until_that_is_raised() -> None:
    world = Together([rented(120)], caps=[Cap(money(1))], keep_events=True, check=True)
    world.run()
    run = world.bags[A].engine.run
    assert run.waits_for_cap
    assert world.bags[A].engine.view().held_by_cap
    assert run.tasks.unfinished
    world.cap(Cap(money(9)))
    world.run()
    assert run.outcome is BagOutcome.COMPLETE


def test_a_bag_that_has_ended_waits_for_no_cap() -> None:
    world = Together([rented(120)], caps=[Cap(money(1))], check=True)
    world.run()
    bag = world.bags[A]
    bag.tell(Cancelled("no need"), bag.engine.run.now + 1)
    world.run()
    assert bag.engine.view().outcome is BagOutcome.CANCELLED
    assert bag.engine.view().held_by_cap == ""


def test_what_an_ended_bag_spent_counts_under_a_cap_that_is_set_later() -> None:
    world = Together([rented(60)], epoch=MIDNIGHT - 3600, check=True)
    world.run()
    spent = world.bags[A].engine.committed
    cap = Cap(money(9), Period.DAY)
    world.cap(cap)
    (view,) = world.household.view().caps
    assert view.committed == spent > 0


def test_two_bags_have_one_cap_in_common() -> None:
    world = run([rented(100), rented(100, at=5.0)], Cap(money(2), Period.DAY))
    assert [one.engine.run.outcome for one in world.bags.values()] == [BagOutcome.COMPLETE] * 2
    assert max(spent_by_day(world).values()) <= money(2)


def test_an_atu_counts_in_the_day_in_which_it_begins() -> None:
    """Machines reserved at 23:59 go on after midnight: those ATUs are in the cap of that day."""
    cap = Cap(money("1.5"), Period.DAY)
    world = run([rented(200)], cap, before_midnight=90.0)
    days = spent_by_day(world)
    assert days[0] > 0
    assert max(days.values()) <= money("1.5")


def test_bags_that_share_a_cap_hear_little_of_each_other() -> None:
    world = run([rented(300, "40"), rented(300, "40")], Cap(money(30), Period.EVER))
    told = [e for one in world.bags.values() for _, e in one.history.events
            if isinstance(e, Allotted)]  # fmt: skip
    bought = sum(len(one.history.uptimes) for one in world.bags.values())
    assert bought > 0
    assert len(told) < 60


def test_atus_begin_before_a_time_by_their_number() -> None:
    assert [begun_before(60.0, 30.0, at) for at in (0.0, 30.0, 31.0, 90.0, 90.1)] == [
        0, 0, 1, 1, 2,
    ]  # fmt: skip


CRUEL = Conditions(boot_seconds=7.0, life_seconds=lambda rng, _: rng.expovariate(1 / 900),
                   start_seconds=lambda rng, _: rng.uniform(0, 40), start_fails=0.05)  # fmt: skip
HOURLY = Offering(ClusterName("hourly"), money("0.31"), 3600.0, 3, 2)


def random_bags(rng: random.Random, count: int) -> list[Submission]:
    def bag(k: int) -> Submission:
        mean, seed = rng.choice([1.0, 30.0, 200.0]), rng.randrange(10**6)
        return Submission(
            Settings(
                rng.randint(1, 60),
                rng.choice([(RENTED,), (HOURLY, RENTED), (LAB, RENTED)]),
                rng.choice([None, money(rng.randint(1, 9))]),
                seed=k,
            ),
            lambda task, _: mean * random.Random(seed + task).lognormvariate(0, 0.5),
            rng.uniform(0, 600),
            rng.choice(["ann", "bob"]),
            conditions=rng.choice([CRUEL, Conditions()]),
        )

    return [bag(k) for k in range(count)]


def keeps(seed: int, sharing: str, count: int = 10) -> Together:
    """Bags under three caps, on the eve of a day: each cap and each budget to the cent."""
    rng = random.Random(seed)
    bags = random_bags(rng, count)
    caps = (
        Cap(money(rng.randint(2, 9)), Period.DAY),
        Cap(money(rng.randint(1, 6)), Period.DAY, "ann"),
        Cap(money(30), Period.EVER),
    )
    machines = [StartedByHand(2, rng.uniform(0, 20))]
    epoch = MIDNIGHT - rng.uniform(0, 900)
    world = Together(
        bags, machines, sharing, seed=seed, keep_events=True, check=True, caps=caps, epoch=epoch
    )
    world.run(until=3 * DAY)
    days = spent_by_day(world)
    assert max(days.values(), default=NOTHING) <= caps[0].amount
    for number, one in world.bags.items():
        settings = one.settings
        one.engine.check()
        assert settings.budget is None or one.engine.committed <= settings.budget
        again = Engine(settings, bags[number - 1].runtimes)
        commands = [again.handle(event, now) for now, event in one.history.events]
        assert commands == one.history.commands
    household = Household(sharing)
    assert [household.handle(notice, now) for now, notice in world.notices] == world.answers
    return world


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_bags_keep_caps_and_budgets_to_the_cent(seed: int, sharing: str) -> None:
    keeps(seed, sharing, count=4)
