"""Several bags side by side in virtual time, on machines that pass from hand to hand."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, pstdev

import numpy as np
import pytest

from bats.common.billing import charge
from bats.common.capacity.resources import Resources
from bats.common.messages import BagId, TaskId
from bats.common.money import NOTHING, money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.master.brain.books.choice import Told
from bats.master.brain.books.machine import LEASE_SECONDS
from bats.master.brain.engine import Engine, replay
from bats.master.brain.graphs.ranks import longest_way
from bats.master.brain.household.household import Household
from bats.master.brain.household.loans import Loans
from bats.master.brain.household.notices import Came
from bats.master.brain.household.placements import PLACEMENTS
from bats.master.brain.household.sharing import SHARINGS
from bats.master.brain.protocol.commands import BagOutcome, RenewLease
from bats.master.brain.protocol.events import (
    Borrowed,
    Limited,
    Order,
    Ordered,
    Resumed,
    Suspended,
)
from bats.master.brain.protocol.graph import packed_seconds, worked_off
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions
from bats.master.simulate.foresight import foretell
from bats.master.simulate.together import StartedByHand, Submission, Together
from bats.master.simulate.workflows import layered

BY_HAND = Offering(ClusterName("desk"), NOTHING, 3600.0, 0, backend=MANUAL)
A, B = BagId(1), BagId(2)


def bag(tasks: int, seconds: float = 1.0, at: float = 0.0, **more: object) -> Submission:
    return Submission(Settings(tasks, (BY_HAND,)), lambda _t, _c: seconds, at, **more)  # type: ignore[arg-type]


def ends(bags: Sequence[Submission], *slots: int, sharing: str = "fair") -> list[float]:
    world = Together(bags, [StartedByHand(each) for each in slots], sharing, check=True)
    world.run()
    assert all(len(one.history.records) == len(one.engine.run.tasks) for one in world.bags.values())
    return [one.began + (one.history.ended_at or 0.0) for one in world.bags.values()]


def test_two_bags_take_as_long_as_one_with_all_their_tasks() -> None:
    (alone,) = ends([bag(400)], 4, 3)
    assert max(ends([bag(200), bag(200)], 4, 3)) <= 1.05 * alone


def test_a_short_bag_beside_a_long_one_is_not_held_up_by_it() -> None:
    (alone,) = ends([bag(20)], 4)
    _, short = ends([bag(2_000), bag(20, at=10.3)], 4)
    assert short - 10.3 <= 2.2 * alone + 1.0


@pytest.mark.parametrize("slots", [1, 2, 4, 7])
def test_a_weight_of_two_has_twice_the_slot_time_while_both_have_work(slots: int) -> None:
    world = Together([bag(2_000, weight=2.0), bag(2_000)], [StartedByHand(slots)], check=True)
    world.run(until=1_000 / slots)
    assert world.slot_seconds[A] / world.slot_seconds[B] == pytest.approx(2.0, rel=0.05)


def test_long_tasks_share_by_the_time_that_they_ran() -> None:
    world = Together([bag(2_000, 1.0), bag(100, 60.0)], [StartedByHand(3)], check=True)
    world.run(until=900.0)
    assert world.slot_seconds[A] / world.slot_seconds[B] == pytest.approx(1.0, rel=0.15)


def test_tasks_of_several_sizes_share_machines_and_never_take_more_than_there_is() -> None:
    """`check` has every moment counted: CPUs, memory and GPUs of all that runs on a machine."""
    lab = StartedByHand(8, memory_bytes=16 << 30, gpus=2)
    sizes = (Resources(), Resources(2, 4 << 30), Resources(1, 0, 1), Resources(1, 10 << 30))
    bags = [
        Submission(
            Settings(
                60, (BY_HAND,), task_slots=size.cpus, task_memory=size.memory_bytes,
                task_gpus=size.gpus,
            ),
            lambda _t, _c: 1.0,
            at,
        )
        for at, size in zip((0.0, 1.5, 2.5, 4.0), sizes, strict=True)
    ]  # fmt: skip
    world = Together(bags, [lab, StartedByHand(3)], check=True)
    world.run()
    assert [len(one.history.records) for one in world.bags.values()] == [60] * 4


def test_first_come_first_served_ends_one_after_the_other() -> None:
    assert ends([bag(40), bag(40), bag(40)], 4, sharing="fifo") == [10.0, 20.0, 30.0]


def test_a_higher_priority_overtakes() -> None:
    first, second = ends([bag(40), bag(40, at=1.5, priority=1)], 4, sharing="priority")
    assert second <= 13.0 < first == 20.0


PAID = Offering(ClusterName("rented"), money("0.06"), 60.0, 4)
FREE = Offering(ClusterName("lab"), NOTHING, 3600.0, 4)


def rented(tasks: int, budget: str, at: float = 0.0, seed: int = 0) -> Submission:
    settings = Settings(tasks, (PAID,), money(budget), seed=seed)
    return Submission(settings, lambda _t, _c: 20.0, at)


def test_machines_of_an_offering_are_shared_and_each_bag_pays_its_own() -> None:
    world = Together([rented(60, "3"), rented(60, "3", at=90.0)], keep_events=True, check=True)
    world.run()
    for simulation in world.bags.values():
        run = simulation.engine.run
        assert run.outcome is BagOutcome.COMPLETE
        spent = sum(
            charge(PAID, left - since) for _, since, left in simulation.history.uptimes.values()
        )
        assert run.ledger.settled == spent <= money(3)


def test_a_bag_that_is_alone_may_have_all_machines() -> None:
    world = Together([rented(60, "3")], keep_events=True)
    world.run()
    assert not [e for _, e in world.bags[A].history.events if isinstance(e, Limited)]


def test_free_machines_leave_a_bag_for_one_that_comes_later() -> None:
    bags = [Submission(Settings(400, (FREE,)), lambda _t, _c: 1.0, at) for at in (0.0, 10.0)]
    world = Together(bags, check=True)
    world.run(until=50.0)
    assert [len(one.engine.alive()) for one in world.bags.values()] == [2, 2]
    world.run()
    assert all(one.history.end for one in world.bags.values())


def on_one(tasks: int, seconds: float, at: float = 0.0) -> Submission:
    """A bag for the one free machine there is, of four slots."""
    one = replace(FREE, max_machines=1, slots=4)
    return Submission(Settings(tasks, (one,)), lambda _t, _c: seconds, at)


def test_the_one_free_machine_there_is_serves_all_bags_at_once() -> None:
    world = Together([on_one(80, 10.0), on_one(20, 10.0, 25.0)], check=True, keep_events=True)
    world.run()
    first, second = (one.began + (one.history.ended_at or 0.0) for one in world.bags.values())
    assert (first, second) == (250.0, 120.0)
    for one in world.bags.values():
        again = Engine(one.settings)
        events = one.history.events
        assert [again.handle(event, at) for at, event in events] == one.history.commands


def test_a_bag_that_samples_has_a_slot_of_the_free_machine_at_once_though_others_have_all() -> None:
    kinds = (replace(PAID, max_machines=2), replace(FREE, max_machines=1, slots=2))
    settings = Settings(80, kinds, money("2"), seed=1)
    bags = [Submission(settings, lambda _t, _c: 5.0, at) for at in (0.0, 20.0)]
    world = Together(bags, check=True, keep_events=True)
    world.run(until=40.0)
    assert world.bags[B].history.records, "a task of the second has ended"
    world.run()
    for of, one in zip(bags, world.bags.values(), strict=True):
        assert one.engine.run.outcome is BagOutcome.COMPLETE
        again = Engine(one.settings, of.runtimes)
        assert [again.handle(e, at) for at, e in one.history.events] == one.history.commands


@pytest.mark.parametrize("seconds", [100.0, 5_000.0])
def test_a_task_on_a_free_machine_whose_bag_has_ended_runs_to_its_end(seconds: float) -> None:
    """Then the machine goes, and the other bag starts its own."""
    world = Together([on_one(8, 10.0), on_one(6, seconds, 5.0)], check=True, keep_events=True)
    world.run()
    first, other = world.bags[A].history, world.bags[B].history
    assert all(len(ends) == 1 for ends in other.records.values()), "none was stopped"
    assert 30 <= (first.ended_at or 0) <= 30 + seconds
    assert (other.ended_at or 0) <= 30 + 2 * seconds
    assert not world.bags[A].engine.alive()
    renewed = [one for told in first.commands for one in told if isinstance(one, RenewLease)]
    assert len(renewed) <= 5 + 2 * seconds / (LEASE_SECONDS / 2)


def test_a_free_machine_of_a_bag_that_is_closed_at_work_is_lent_no_more() -> None:
    """As by a bug: the bag that shared it would have it lent again while it is taken back."""
    world = Together([on_one(80, 10.0), on_one(20, 10.0, 25.0)], check=True)
    world.run(until=60.0)
    neighbours = world._neighbours
    assert neighbours.loans.lent
    neighbours.close(A)
    neighbours.look(B)
    assert not neighbours.loans.lent
    assert not world.bags[B].engine.borrowed


def test_a_free_machine_that_is_stopped_is_not_given_to_its_own_bag_as_anothers() -> None:
    """The others that had shared it are paused; its own is, too, and soon goes on."""
    bags = [replace(one, conditions=Conditions(stop_seconds=5.0))
            for one in (on_one(80, 10.0), on_one(20, 10.0, 25.0))]  # fmt: skip
    world = Together(bags, check=True, keep_events=True)
    world.run(until=60.0)
    assert world._neighbours.loans.lent
    world._neighbours.close(B)
    world.bags[A].deliver(Suspended("lunch"), 60.0)
    world.run(until=72.0)
    assert [one.wanted for one in world.bags[A].engine.alive()] == [False]
    world.bags[A].deliver(Resumed(), 72.0)
    world.run(until=1000.0)
    assert world.bags[A].engine.run.outcome is BagOutcome.COMPLETE
    assert not any(isinstance(event, Borrowed) for _, event in world.bags[A].history.events)


def everybody_tries_again(loans: Loans, bag: BagId, _: object) -> None:
    for waiting in [other for other in loans._waiting if other != bag]:
        loans._share_free(waiting, loans._of.bags[waiting])


@pytest.mark.parametrize("seed", range(4))
def test_free_machines_are_shared_as_if_all_who_wait_tried_again_at_every_event(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def world() -> Together:
        rng = random.Random(seed)
        kinds = [
            replace(FREE, name=ClusterName(name), max_machines=rng.randint(1, 2), slots=2)
            for name in ("lab", "desk", "attic")
        ]
        bags = [
            Submission(
                Settings(rng.randint(1, 30), tuple(rng.sample(kinds, rng.randint(1, 2))), seed=k),
                lambda task, _: 1.0 + task % 7,
                rng.uniform(0, 60),
            )
            for k in range(12)
        ]
        made = Together(bags, seed=seed, keep_events=True)
        made.run()
        return made

    found = world()
    monkeypatch.setattr(Loans, "_share_with_waiting", everybody_tries_again)
    assert found.notices == world().notices
    assert any(isinstance(notice, Came) for _, notice in found.notices)


def test_bags_share_one_slot_of_a_free_machine_in_turns() -> None:
    few = replace(FREE, max_machines=1)
    bags = [Submission(Settings(10, (few,)), lambda _t, _c: 1.0) for _ in range(3)]
    world = Together(bags, check=True)
    world.run()
    ended = [one.history.ended_at or 0.0 for one in world.bags.values()]
    assert max(ended) == 30.0
    assert min(ended) > 25.0


def test_a_bag_without_a_budget_samples_when_others_leave_it_a_machine() -> None:
    one = Settings(8, (replace(PAID, max_machines=1),))
    world = Together([Submission(one, lambda _t, _c: 20.0) for _ in range(2)], check=True)
    world.run()
    outcomes = [simulation.engine.run.outcome for simulation in world.bags.values()]
    assert outcomes == [BagOutcome.COMPLETE] * 2


def told(world: Together, bag: BagId) -> Told:
    promise = world.bags[bag].engine.run.choice.told
    assert promise is not None
    return promise


def test_who_comes_later_has_a_slot_at_once_and_more_as_far_as_earlier_promises_are_kept() -> None:
    """Of 8 slots the first was told to have all; one costs it a round of 20 s, half of them 60."""
    settings = Settings(200, (BY_HAND, PAID), money("3"), seed=1, foresight=True)
    bags = [Submission(settings, lambda _t, _c: 20.0), bag(400, 20.0, at=60.0)]
    world = Together(bags, [StartedByHand(8)], foretell=foretell, check=True, keep_events=True)
    world.run(until=150.0)
    assert told(world, A).share is not None
    assert {one.bag: one.slots for one in world.household.view().bags} == {A: 7, B: 1}
    world.run()
    assert (world.bags[A].history.ended_at or 0) <= told(world, A).ends(sure=True) + 20.0
    again = Engine(world.bags[A].settings)
    events = world.bags[A].history.events
    assert [again.handle(e, at) for at, e in events] == world.bags[A].history.commands


def test_a_rule_chooses_anew_when_others_leave_machines_that_it_knew_nothing_of() -> None:
    """Its price had been told for one slow worker alone, and was its limit."""
    few = replace(PAID, max_machines=3, atu_seconds=600.0)
    first = Settings(30, (few,), money("3"), seed=1, foresight=True)
    later = Settings(60, (BY_HAND, few), rule="fastest", seed=2, foresight=True)
    bags = [Submission(one, lambda _t, _c: 20.0, 90.0 * k) for k, one in enumerate((first, later))]
    world = Together(bags, [StartedByHand(1)], foretell=foretell, check=True, keep_events=True)
    world.run()
    run = world.bags[B].engine.run
    assert run.outcome is BagOutcome.COMPLETE
    assert 0 < run.ledger.settled <= told(world, B).total_cost
    assert (world.bags[B].history.ended_at or 0) <= min(700.0, told(world, B).ends(sure=True))
    again, most = Engine(world.bags[B].settings), 0
    for at, event in world.bags[B].history.events:
        again.handle(event, at)
        most = max(most, again.run.choice.told.total_cost if again.run.choice.told else 0)
    assert run.ledger.limit is not None
    assert run.ledger.limit >= most, "it may cost whatever it was told once to cost"


def test_a_bag_says_that_other_bags_have_the_machines_it_waits_for() -> None:
    one = Settings(20, (replace(PAID, max_machines=1),), money("3"))
    world = Together([Submission(one, lambda _t, _c: 20.0) for _ in range(2)], check=True)
    world.run(until=30.0)
    said = [simulation.engine.waits_for_others for simulation in world.bags.values()]
    assert said == ["", "other bags have the machines of rented"]
    world.run()
    assert not any(simulation.engine.waits_for_others for simulation in world.bags.values())


def random_bags(rng: random.Random) -> list[Submission]:
    def runtimes(mean: float, seed: int) -> Callable[[TaskId, int], float]:
        return lambda task, _: mean * random.Random(seed * 1_000_003 + task).lognormvariate(0, 0.5)

    return [
        Submission(
            Settings(
                rng.randint(1, 60),
                rng.choice([(BY_HAND,), (BY_HAND, PAID), (PAID,), (FREE, PAID)]),
                money(rng.randint(2, 20)),
                seed=k,
            ),
            runtimes(rng.choice([0.02, 1.0, 30.0]), k),
            rng.choice([0.0, rng.uniform(0, 60)]),
            rng.choice(["", "ann", "bob"]),
            rng.choice([1.0, 2.0]),
            rng.randint(0, 2),
        )
        for k in range(10)
    ]


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("seed", [0, 1, 7, 9])
def test_every_bag_is_done_and_each_journal_says_alone_what_was_decided(
    seed: int, sharing: str
) -> None:
    rng = random.Random(seed)
    bags = random_bags(rng)
    machines = [StartedByHand(rng.randint(1, 4), rng.uniform(0, 20)) for _ in range(3)]
    world = Together(bags, machines, sharing, seed=seed, keep_events=True, check=True)
    world.run()
    for number, simulation in world.bags.items():
        simulation.engine.check()
        assert simulation.history.end is not None
        ledger = simulation.engine.run.ledger
        assert ledger.settled <= bags[number - 1].settings.budget
        spent = sum(
            charge(bags[number - 1].settings.offerings[cluster], left - since)
            for cluster, since, left in simulation.history.uptimes.values()
        )
        assert ledger.settled == spent
        again = Engine(simulation.settings, bags[number - 1].runtimes)
        commands = [again.handle(event, now) for now, event in simulation.history.events]
        assert commands == simulation.history.commands
    household = Household(sharing)
    assert [household.handle(notice, now) for now, notice in world.notices] == world.answers


# --- placements by name -------------------------------------------------------------------------


def flow(number: int, at: float, seed: int = 5) -> tuple[Submission, float]:
    """A generated workflow with the runtimes that were recorded, and its critical path."""
    rng = np.random.default_rng([seed, number])
    made = layered.drawn(30, rng)
    of = replace(made.graph, seconds=packed_seconds(made.seconds))
    settings = Settings(of.tasks, (BY_HAND,), graph=of, replicate=False)
    way = longest_way(of, worked_off(of), made.seconds)
    return Submission(settings, lambda task, _: made.seconds[task], at), way


def slowdowns(placement: str) -> list[float]:
    """Of 14 workflows that come faster than 6 places can run them."""
    flows = [flow(k, 4.0 * k) for k in range(14)]
    world = Together([bag for bag, _ in flows], [StartedByHand(6)], check=True, placement=placement)
    world.run()
    ended = [one.history.ended_at or float("inf") for one in world.bags.values()]
    return [end / way for end, (_, way) in zip(ended, flows, strict=True)]


@pytest.mark.parametrize("name", PLACEMENTS)
def test_every_placement_runs_all_workflows_and_no_task_before_its_parents(name: str) -> None:
    assert max(slowdowns(name)) < 100


def test_the_workflow_with_least_to_do_first_makes_the_mean_slowdown_less() -> None:
    assert fmean(slowdowns("least-remaining")) < fmean(slowdowns("critical-path"))


def test_by_slowdown_they_are_more_alike_than_first_come_first_served() -> None:
    assert pstdev(slowdowns("slowdown")) < pstdev(slowdowns("critical-path"))


def test_the_longest_way_first_ends_a_workflow_on_few_places_no_later_than_the_shortest() -> None:
    def end(order: Order, seed: int) -> float:
        bag, _ = flow(0, 0.0, seed)
        world = Together([bag], [StartedByHand(3)], check=True)
        world.run(until=0.5)
        world.bags[A].deliver(Ordered(order), 0.5)
        world.run()
        return world.bags[A].history.ended_at or float("inf")

    ends = [(end(Order.LONGEST, seed), end(Order.SHORTEST, seed)) for seed in range(10)]
    assert sum(a for a, _ in ends) < sum(b for _, b in ends)


def test_a_placement_that_is_changed_while_bags_run_is_in_the_journal_of_each() -> None:
    flows = [flow(k, 0.0)[0] for k in range(3)]
    world = Together(flows, [StartedByHand(4)], keep_events=True, check=True)
    world.run(until=5.0)
    world.place("cpp")
    world.run()
    for one in world.bags.values():
        told = [event for _, event in one.history.events if isinstance(event, Ordered)]
        assert told == [Ordered(Order.LONGEST)]
        again = replay(one.settings, [(at, event) for at, event in one.history.events])
        assert again.digest() == one.engine.digest()


@pytest.mark.parametrize("seed", [4, 7, 10])
def test_what_machines_leave_to_others_that_go_with_them_is_granted_to_nobody(seed: int) -> None:
    """Shares are made anew as the first is gone, while the others count."""
    rng = random.Random(seed)
    bags = [bag(60, rng.uniform(0.5, 3.0), weight=rng.choice([1.0, 3.0])) for _ in range(3)]
    world = Together(bags, [StartedByHand(rng.randint(1, 3)) for _ in range(8)], check=True)
    world.run(until=5.0)
    neighbours = world._neighbours  # nobody ends machines started by hand
    leaving = rng.sample(list(neighbours.machines), 4)
    neighbours.went(*leaving)
    assert not set(leaving) & set(neighbours.machines)
    world.household.check()
    for granted in world.household.granted(A, leaving[0]), world.household.granted(B, leaving[1]):
        assert not granted
