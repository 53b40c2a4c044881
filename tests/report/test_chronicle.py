"""The chronicle counts every second of every attempt once, however long the run."""

import random

import msgpack
import pytest

from bats.common.messages import BagId, MachineId, Outcome
from bats.common.money import Money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.events import Added, Borrowed, Ended, Ending, Joined, TakenBack
from bats.master.brain.protocol.journal import plain
from bats.master.queries.chronicle import MOST_BINS, MOST_SPANS, Chronicle, Use, tasks_from
from bats.master.report.charts import runtimes_by_cluster
from bats.master.report.renting import of_others

BAG = BagId(1)
FIRST, SECOND = MachineId(1_000_001), MachineId(1_000_002)


def ended(machine: int, *endings: tuple[int, int, Outcome, float]) -> list[object]:
    return plain(Ended(machine, tuple(Ending(*one) for one in endings)))  # type: ignore[arg-type]


def test_an_attempt_is_told_by_what_it_was_good_for() -> None:
    chronicle = Chronicle(BAG, 10)
    chronicle.see(ended(FIRST, (0, 1, Outcome.DONE, 2.0)), 2.0, 0.0)  # nothing is chosen yet
    chronicle.see(ended(FIRST, (1, 1, Outcome.DONE, 3.0)), 7.0, 5.0)  # it began before the choice
    chronicle.see(ended(FIRST, (2, 1, Outcome.DONE, 1.0)), 8.0, 5.0)
    chronicle.see(ended(SECOND, (2, 2, Outcome.DONE, 1.5)), 9.0, 5.0)  # came second
    chronicle.see(ended(SECOND, (3, 1, Outcome.KILLED, 0.5)), 9.5, 5.0)
    chronicle.see(ended(SECOND, (4, 1, Outcome.TIMED_OUT, 0.25)), 9.75, 5.0)
    assert [span.use for span in chronicle.spans] == [
        Use.SAMPLE, Use.SAMPLE, Use.TASK, Use.COPY, Use.COPY, Use.FAILED,
    ]  # fmt: skip
    assert chronicle.machines[FIRST].used == [1.0, 5.0, 0.0, 0.0]
    assert chronicle.machines[SECOND].used == [0.0, 0.0, 2.0, 0.25]
    assert sum(chronicle.done_by_bin.values()) == 3


@pytest.mark.parametrize("length", [3.0, 500.0, 1e6])
def test_bins_hold_what_a_plain_sum_says(length: float) -> None:
    chance = random.Random(7)
    chronicle = Chronicle(BAG, 5000)
    total, done, seen = {FIRST: 0.0, SECOND: 0.0}, set(), []
    now = 0.0
    for k in range(MOST_SPANS + 500):
        now += length / (MOST_SPANS + 500)
        machine = chance.choice((FIRST, SECOND))
        seconds = min(now, chance.expovariate(100 / length))
        outcome = chance.choice((Outcome.DONE, Outcome.DONE, Outcome.FAILED))
        task = chance.randrange(5000)
        chronicle.see(ended(machine, (task, k, outcome, seconds)), now, length / 3)
        total[machine] += seconds
        if outcome is Outcome.DONE:
            done.add(task)
            seen.append(seconds)
    assert not chronicle.spans_complete
    assert not chronicle.spans
    assert sum(chronicle.done_by_bin.values()) == len(done)
    assert max(chronicle.done_by_bin) < MOST_BINS
    for number, machine in chronicle.machines.items():
        assert sum(machine.used) == pytest.approx(total[number])
        assert sum(machine.busy.values()) == pytest.approx(total[number])
    counted = sum(sum(one.runtimes.values()) for one in chronicle.machines.values())
    assert counted == len(seen)


def test_reading_in_pieces_comes_to_the_same_as_reading_at_once() -> None:
    chance = random.Random(11)
    events = [(0, 0.0, msgpack.packb(plain(Joined(FIRST, 3))))]  # type: ignore[arg-type]
    for k in range(1, 200):
        event = ended(FIRST, (k, 1, chance.choice(list(Outcome)), chance.random()))
        events.append((k, 10.0 * k, msgpack.packb(event)))
    whole, pieces = Chronicle(BAG, 300), Chronicle(BAG, 300)
    whole.read(events, 100.0)
    while pieces.events < len(events):
        pieces.read(events[pieces.events : pieces.events + 7], 100.0)
    assert whole.spans == pieces.spans
    assert whole.machines[FIRST].slots == 3
    assert whole.machines[FIRST].used == pieces.machines[FIRST].used
    assert whole.done_by_bin == pieces.done_by_bin


def test_a_journal_of_version_0_1_0_counts_the_machines_of_its_bag_from_one() -> None:
    old, today = Chronicle(BAG, 10), Chronicle(BAG, 10)
    old.see(ended(2, (0, 1, Outcome.DONE, 2.0)), 2.0, 0.0)
    today.see(ended(SECOND, (0, 1, Outcome.DONE, 2.0)), 2.0, 0.0)
    assert old.spans == today.spans
    assert old.machines.keys() == today.machines.keys() == {SECOND}


def test_tasks_that_were_added_while_somebody_looked_on_count_like_the_others() -> None:
    chronicle = Chronicle(BAG, 1)
    chronicle.see(ended(FIRST, (0, 1, Outcome.DONE, 1.0)), 6.0, 5.0)
    events = [plain(Added(2)), ended(FIRST, (2, 1, Outcome.DONE, 1.0))]
    chronicle.read([(k, 8.0, msgpack.packb(event)) for k, event in enumerate(events, 1)], 5.0)
    assert [span.use for span in chronicle.spans] == [Use.TASK, Use.TASK]
    assert sum(chronicle.done_by_bin.values()) == 2


def test_of_a_bag_that_goes_by_a_strategy_nothing_is_a_sample() -> None:
    chronicle = Chronicle(BAG, 10)
    chronicle.see(ended(FIRST, (0, 1, Outcome.DONE, 2.0)), 2.0, tasks_from(0.0, "AUR"))
    chronicle.see(ended(FIRST, (1, 1, Outcome.DONE, 2.0)), 4.0, tasks_from(0.0, ""))
    assert [span.use for span in chronicle.spans] == [Use.TASK, Use.SAMPLE]


def test_machines_of_a_pool_and_borrowed_ones_are_told_as_long_as_they_served() -> None:
    chronicle = Chronicle(BAG, 10)
    pooled, borrowed = MachineId(8_000_000_000_001), MachineId(2_000_001)
    chronicle.see(plain(Joined(FIRST, 1)), 1.0, 0.0)  # its own, told by what it pays
    chronicle.see(plain(Joined(pooled, 2, (), 0)), 2.0, 0.0)
    chronicle.see(plain(Borrowed(borrowed, 0, 1, 9.0)), 3.0, 0.0)
    for machine in (pooled, borrowed):
        chronicle.see(ended(machine, (0, 1, Outcome.DONE, 2.0)), 6.0, 0.0)
    chronicle.see(plain(TakenBack(borrowed)), 7.0, 0.0)
    offerings = [Offering(ClusterName("small"), Money(5), 60.0, 4, 2)]
    served = of_others(offerings, chronicle.machines, 8.0)
    told = [(one.id, one.since, one.until, one.gone, one.paid_until, one.cost) for one in served]
    assert told == [(pooled, 2.0, 8.0, False, 8.0, 0), (borrowed, 3.0, 7.0, True, 7.0, 0)]
    assert [sum(bins.values()) for bins in runtimes_by_cluster(served, chronicle).values()] == [2]
