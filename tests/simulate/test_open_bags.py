"""Bags that stay open, side by side with others: idle they take nothing, with tasks their share."""

import pytest

from bats.common.messages import BagId, TaskId
from bats.common.money import NOTHING, money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.master.brain.engine import replay
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Added, AllAdded, Event
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.together import StartedByHand, Submission, Together

BY_HAND = Offering(ClusterName("desk"), NOTHING, 3600.0, 0, backend=MANUAL)
RENTED = Offering(ClusterName("rented"), money(1), 60.0, 2)
A, B = BagId(1), BagId(2)


def bag(tasks: int, seconds: float, *kinds: Offering, is_open: bool = True) -> Submission:
    budget = money(5000) if kinds else None
    of = Settings(tasks, kinds or (BY_HAND,), budget, open=is_open)
    return Submission(of, lambda _task, _cluster: seconds)


def run(bags: list[Submission], words: list[tuple[BagId, float, Event]], *slots: int) -> Together:
    """Bags to which these words are said at those times of theirs."""
    machines = [StartedByHand(each) for each in slots]
    world = Together(bags, machines, keep_events=True, check=True)
    while len(world.bags) < len(bags):
        world.run(until=1e-9)
    for number, at, word in words:
        world.bags[number].tell(word, at)
    world.run()
    return world


def test_a_bag_that_is_open_and_idle_takes_nothing_of_what_others_share() -> None:
    alone = run([bag(400, 1.0, is_open=False)], [], 4)
    beside = run([bag(400, 1.0, is_open=False), bag(0, 1.0)], [(B, 1e6, AllAdded())], 4)
    assert beside.bags[A].history.ended_at == alone.bags[A].history.ended_at


@pytest.mark.parametrize("seconds", [0.02, 60.0])
def test_two_open_bags_share_what_there_is_whenever_both_have_tasks(seconds: float) -> None:
    batches = [(one, 10 * k * seconds, Added(40)) for one in (A, B) for k in range(1, 50)]
    ends = [(one, 1e6, AllAdded()) for one in (A, B)]
    world = run([bag(0, seconds), bag(0, seconds)], [*batches, *ends], 4, 3)
    for one in (A, B):
        assert world.bags[one].engine.run.outcome is BagOutcome.COMPLETE
        assert world.bags[one].engine.run.tasks.done == 49 * 40
    first, second = (world.slot_seconds[one] for one in (A, B))
    assert first == pytest.approx(second, rel=0.02)


def test_two_open_bags_take_turns_on_rented_machines_and_their_journals_replay_alone() -> None:
    words = [(A, 0.0, Added(30)), (B, 100.0, Added(30)), (A, 5000.0, Added(30)),
             (A, 1e5, AllAdded()), (B, 1e5, AllAdded())]  # fmt: skip
    world = run([bag(0, 20.0, RENTED), bag(0, 20.0, RENTED)], words)
    for number, one in world.bags.items():
        assert one.engine.run.outcome is BagOutcome.COMPLETE, number
        again = replay(one.settings, one.history.events)
        assert again.digest() == one.engine.digest()
    assert not any(
        gone - began > 3600
        for one in world.bags.values()
        for _, began, gone in one.history.uptimes.values()
    ), "no machine waits for the next batch"


def test_a_hundred_thousand_tasks_come_in_batches_while_others_run() -> None:
    words: list[tuple[BagId, float, Event]] = [(A, 0.5 * k, Added(1000)) for k in range(100)]
    world = run([bag(1, 0.02)], [*words, (A, 1e5, AllAdded())], 64)
    assert world.bags[A].engine.run.tasks.done == 100_001
    assert sum(1 for _ in world.bags[A].history.records) == 100_001
    assert all(len(found) == 1 for found in world.bags[A].history.records.values())
    assert TaskId(100_000) in world.bags[A].history.records
