"""A pool of the live master, in virtual time: what it starts, keeps, pays and ends."""

import random
from dataclasses import replace

import msgpack
import pytest

from bats.common.billing import charge
from bats.common.capacity.pool_rules import Pool
from bats.common.messages import MachineId
from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.machine import MachineState
from bats.master.brain.pools import pool_journal
from bats.master.brain.pools.pool_books import is_long, plain_books, summed
from bats.master.brain.pools.pool_events import Command, Event, Formed, Looked, TakesTasks
from bats.master.brain.pools.pool_machine import LATE_SECONDS
from bats.master.brain.pools.standing_pool import NO_MONEY, TOO_MANY, StandingPool
from bats.master.brain.protocol.commands import RenewLease, StartMachines, StopMachine, WakeAt
from bats.master.brain.protocol.events import (
    Allotted,
    Cause,
    Charged,
    Gone,
    Joined,
    SetAside,
    Silent,
)

FIRST = MachineId(1000)
SMALL = Offering(
    ClusterName("small"), money("0.10"), 600.0, 10, boundary_seconds=5.0, lease_seconds=60.0
)
LARGE = replace(SMALL, name=ClusterName("large"), price=money("0.30"))
RULES = Pool("lab", (SMALL,), 4, interval_seconds=30.0)


class World:
    """Machines that join as soon as they are asked for, and everything that was said."""

    def __init__(self, rules: Pool = RULES, boot: float = 0.0) -> None:
        self.pool = StandingPool(FIRST)
        self.said: list[tuple[float, Event]] = []
        self.commands: list[Command] = []
        self.now = 0.0
        self.boot = boot
        self.tell(Formed(rules, FIRST))

    def tell(self, event: Event) -> list[Command]:
        self.said.append((self.now, event))
        done = self.pool.handle(event, self.now)
        self.commands += done
        self.pool.check()
        for one in done:
            if isinstance(one, StartMachines):
                for machine in one.machines:
                    self.tell(Charged(machine, self.now))
                    self.now += self.boot
                    self.tell(Joined(machine, 1, (), one.cluster))
            elif isinstance(one, StopMachine):
                self.tell(Gone(one.machine, self.now, Cause.STOPPED, one.reason))
        return done

    def look(self, demand: int, busy: int = 0, want: int | None = None, **more: float) -> set[type]:
        """`busy`: so many of its machines have tasks, the first ones."""
        numbers = tuple(one.id for one in self.pool.alive())[:busy]
        wanted = None if want is None else (want,)
        return {type(one) for one in self.tell(Looked(demand, numbers, want=wanted, **more))}

    @property
    def there(self) -> list[int]:
        return [one.id - FIRST for one in self.pool.alive()]


def test_a_pool_has_as_many_machines_as_its_scaler_says_up_to_its_most() -> None:
    world = World()
    world.look(demand=3, want=3)
    assert world.there == [1, 2, 3]
    world.look(demand=50, busy=3, want=52)
    assert world.there == [1, 2, 3, 4]
    assert world.pool.why == "50 tasks to run, 3 small; react wants 4 small: started 1 small"


def test_idle_machines_too_many_end_as_their_paid_time_does_longest_idle_first() -> None:
    world = World()
    world.look(demand=3, want=3)
    world.look(demand=3, busy=3)
    world.now = 100.0
    world.look(demand=3, busy=2)  # the third is idle longest
    world.now = 300.0
    assert world.look(demand=1, busy=0, want=1) == {WakeAt}
    assert world.there == [1, 2, 3]
    (wake,) = [one for one in world.commands if isinstance(one, WakeAt)][-1:]
    assert wake.at == 595.0
    world.now = 595.0
    world.look(demand=1)
    assert world.there == [2]
    ended = [one for one in world.commands if isinstance(one, StopMachine)]
    assert [one.machine - FIRST for one in ended] == [3, 1]
    assert {one.reason for one in ended} == {TOO_MANY}
    assert world.pool.ledger.settled == 2 * SMALL.price


def test_a_machine_with_a_task_is_not_ended_though_none_is_wanted() -> None:
    world = World()
    world.look(demand=2, want=2)
    world.now = 595.0
    assert StopMachine not in world.look(demand=1, busy=2, want=0)
    assert world.there == [1, 2]


def test_released_at_once_a_machine_does_not_wait_for_the_end_of_its_paid_time() -> None:
    world = World(replace(RULES, release="idle"))
    world.look(demand=2, want=2)
    world.now = 30.0
    world.look(demand=0, want=2)
    assert world.there == []


def test_of_idle_machines_too_many_those_end_whose_paid_time_does() -> None:
    """The one that is idle longest began later: its time is not over yet."""
    world = World()
    world.look(demand=1, want=1)
    world.now = 300.0
    world.look(demand=2, busy=1, want=2)
    world.now = 400.0
    world.look(demand=1, busy=1)  # the second is idle from now on
    world.now = 500.0
    world.look(demand=1, want=1)  # and the first
    world.now = 595.0
    world.look(demand=1)
    assert world.there == [2]


@pytest.mark.parametrize(("idle_at", "there"), [(596.0, [2]), (598.0, [1, 2])])
def test_a_machine_idle_too_late_to_be_gone_before_its_next_atu_stays_for_that(
    idle_at: float, there: list[int]
) -> None:
    """It would be charged for it all the same. It is told to stop 5 s before an ATU ends."""
    world = World()
    world.look(demand=2, want=2)
    world.now = 580.0
    world.look(demand=2, busy=2, want=2)  # the ATU that begins at 600 is reserved
    world.now = 590.0
    world.look(demand=1, busy=2, want=1)
    world.now = idle_at
    world.tell(Looked(1, (MachineId(FIRST + 2),), want=(1,)))
    assert world.there == there


def test_one_too_many_ends_its_tasks_before_its_paid_time_does_and_gets_no_others() -> None:
    """Else tasks that go round would enter an ATU on each machine in turn."""
    world = World()
    world.look(demand=2, want=2)
    world.now = 400.0
    world.look(demand=1, busy=2, want=1, task_seconds=20.0)
    assert all(one.takes for one in world.pool.alive())  # a task would end long before
    world.now = 550.0
    world.look(demand=1, busy=2, want=1, task_seconds=20.0)
    assert [one.takes for one in world.pool.alive()] == [False, True]
    world.now = 590.0
    world.look(demand=3, busy=2, want=3, task_seconds=20.0)
    assert all(one.takes for one in world.pool.alive())  # it is wanted again


def test_a_machine_that_ends_is_in_the_way_of_others_until_it_is_gone() -> None:
    pool = StandingPool(FIRST)
    pool.handle(Formed(replace(RULES, most=1, release="idle"), FIRST), 0.0)
    pool.handle(Looked(1, (), want=(1,)), 0.0)
    pool.handle(Charged(MachineId(FIRST + 1), 0.0), 0.0)
    pool.handle(Joined(MachineId(FIRST + 1), 1, (), 0), 0.0)
    assert any(isinstance(one, StopMachine) for one in pool.handle(Looked(0, (), want=(0,)), 30.0))
    assert not pool.handle(Looked(1, (), want=(1,)), 60.0)
    pool.handle(Gone(MachineId(FIRST + 1), 61.0, Cause.STOPPED, "done"), 61.0)
    assert any(
        isinstance(one, StartMachines) for one in pool.handle(Looked(1, (), want=(1,)), 90.0)
    )


def test_the_least_stay_when_there_is_nothing_to_do_whatever_the_scaler_says() -> None:
    world = World(replace(RULES, least=1, release="idle"))
    world.look(demand=4, want=4)
    world.now = 30.0
    world.look(demand=0, want=4)
    assert len(world.there) == 1


def test_a_machine_is_started_only_if_its_first_time_can_be_reserved() -> None:
    world = World()
    world.tell(Allotted(Money(2 * SMALL.price), "$0.20 a day", "tomorrow"))
    world.look(demand=4, want=4)
    assert world.there == [1, 2]
    assert world.pool.committed == 2 * SMALL.price
    assert world.pool.waits_for_cap
    assert world.pool.why.endswith("the cap of $0.20 a day leaves too little until tomorrow")


def test_a_kind_takes_no_task_that_may_outlast_what_is_reserved_and_is_ended_as_that_ends() -> None:
    """With a task of 100 s and a look every 30 s, nothing begins in the last 135 s of the ATU."""
    world = World()
    world.tell(Allotted(SMALL.price, "$0.10 a day"))
    world.look(demand=4, want=4)
    world.now = 464.0
    assert TakesTasks not in world.look(demand=4, busy=1, want=4, task_seconds=100.0)
    world.now = 466.0
    assert TakesTasks in world.look(demand=4, busy=1, want=4, task_seconds=100.0)
    assert not world.pool.machines[MachineId(FIRST + 1)].takes
    world.now = 595.0
    world.look(demand=4, busy=1, task_seconds=100.0)
    (stop,) = [one for one in world.commands if isinstance(one, StopMachine)]
    assert stop.reason == NO_MONEY  # the task took longer than any known
    assert world.pool.committed == SMALL.price


@pytest.mark.parametrize("atu", [1.0, 4.0, 30.0])
def test_a_machine_that_a_busy_computer_ends_late_passes_no_cap(atu: float) -> None:
    kind = replace(SMALL, atu_seconds=atu, boundary_seconds=0.5, lease_seconds=10.0)
    world, cap = World(replace(RULES, kinds=(kind,), interval_seconds=0.5)), money("2.40")
    world.tell(Allotted(cap, "$2.40 a day"))
    world.look(demand=9, want=4)
    pool = world.pool
    working = pool.alive()
    while all(one.counts for one in working):
        world.now += 0.5
        for done in pool.handle(Looked(9, [one.id for one in working], 0.3), world.now):
            if isinstance(done, StopMachine):
                assert done.reason == NO_MONEY
                late = world.now + LATE_SECONDS
                pool.handle(Gone(done.machine, late, Cause.STOPPED, done.reason), world.now)
        assert pool.committed <= cap
    assert pool.ledger.settled > 0


def test_money_that_comes_in_time_opens_a_machine_again() -> None:
    world = World()
    world.tell(Allotted(SMALL.price, "$0.10 a day"))
    world.look(demand=1, want=1)
    world.now = 500.0
    world.look(demand=1, busy=1, want=1, task_seconds=100.0)
    world.tell(Allotted(Money(5 * SMALL.price), "$0.50 a day"))
    assert {RenewLease, TakesTasks} <= world.look(demand=1, busy=1, want=1, task_seconds=100.0)
    assert world.pool.machines[MachineId(FIRST + 1)].takes
    assert world.pool.committed == 2 * SMALL.price


def test_what_machines_are_on_costs_no_more_for_an_interval_than_the_limit() -> None:
    """An interval of 30 s is a twentieth of the ATU: $0.005 a machine."""
    world = World(replace(RULES, per_interval=money("0.012")))
    world.look(demand=4, want=4)
    assert world.there == [1, 2]
    assert world.pool.why.endswith("$0.01 an interval pay for no more")


def test_a_kind_that_cannot_be_had_rests_and_the_next_one_makes_up_for_it() -> None:
    world = World(Pool("lab", (SMALL, LARGE), 6))
    world.tell(SetAside(0, "no credit"))
    world.tell(Looked(3, (), want=(3, 0)))
    assert [one.cluster for one in world.pool.alive()] == [1, 1, 1]
    assert "small cannot be had: no credit" in world.pool.why
    world.now = 301.0
    world.tell(Looked(5, (), want=(2, 3)))
    assert [one.cluster for one in world.pool.alive()] == [1, 1, 1, 0, 0]


def test_three_machines_in_a_row_that_never_come_make_their_kind_rest() -> None:
    pool = StandingPool(FIRST)
    pool.handle(Formed(RULES, FIRST), 0.0)
    started = 0
    for k in range(20):
        for one in pool.handle(Looked(3, (), want=(1,)), 30.0 * k):
            if isinstance(one, StartMachines):
                started += 1
                pool.handle(Gone(one.machines[0], 30.0 * k, Cause.FAILED, "boot failed"), 30.0 * k)
    assert started == 6  # at 0 to 60 s and, ten intervals later, at 360 to 420 s
    pool.check()


SPOT = replace(SMALL, name=ClusterName("spot"), reliable=False)


def test_a_silent_machine_of_a_kind_that_is_lost_is_made_up_for_at_once() -> None:
    world = World(replace(RULES, kinds=(SPOT,)))
    world.look(demand=3, want=3)
    world.tell(Silent(MachineId(FIRST + 1)))
    world.look(demand=3, busy=0, want=3)
    assert world.there == [1, 2, 3, 4]  # it is paid, and may come back
    world.tell(Silent(MachineId(FIRST + 2)))
    world.tell(Silent(MachineId(FIRST + 3)))
    world.look(demand=3, want=3)  # no more than four at once: two of the three make room
    assert world.there == [3, 4]
    world.look(demand=3, want=3)
    assert world.there == [3, 4, 5, 6]
    world.tell(Joined(MachineId(FIRST + 3), 1, (), 0))
    assert world.pool.supply(0) == 4


def test_a_silent_machine_of_a_reliable_kind_is_waited_for_while_it_is_paid() -> None:
    world = World()
    world.look(demand=3, want=3)
    world.tell(Silent(MachineId(FIRST + 1)))
    world.look(demand=3, want=3)
    assert world.there == [1, 2, 3]
    world.now = 596.0
    world.look(demand=3, want=3)
    assert world.there == [2, 3, 4]


def test_a_machine_whose_worker_came_is_paid_though_its_provider_never_said_so() -> None:
    world = World()
    world.pool.handle(Looked(1, (), want=(1,)), 0.0)
    for called_off in (False, True):
        (one,) = (one for one in world.pool.alive() if one.boots)
        if called_off:
            one.move(MachineState.STOPPING)
        world.pool.handle(Joined(one.id, 1, (), 0), 10.0)
        world.pool.handle(Gone(one.id, 70.0, Cause.STOPPED), 70.0)
        assert one.settled == 1
        world.pool.handle(Looked(1, (), want=(1,)), 80.0)


def test_machines_that_do_not_come_are_told_of() -> None:
    pool = StandingPool(FIRST)
    pool.handle(Formed(RULES, FIRST), 0.0)
    pool.handle(Looked(2, (), want=(2,)), 0.0)
    assert pool.why == "2 tasks to run, no machine; react wants 2 small: started 2 small"
    pool.handle(Looked(2, (), want=(2,)), 90.0)
    words = (
        "2 tasks to run, 2 small; react wants 2 small: 2 machines yet to come, asked for 90 s ago"
    )
    assert pool.why == words


def test_a_pool_that_is_wanted_no_more_ends_what_it_has() -> None:
    world = World()
    world.look(demand=3, want=3)
    world.tell(Formed(replace(RULES, most=0), FIRST))
    world.now = 595.0
    world.look(demand=3, busy=1, want=3)
    assert world.there == [1]


def test_machines_of_a_kind_that_the_pool_lacks_now_are_too_many() -> None:
    world = World()
    world.look(demand=3, want=3)
    world.tell(Formed(replace(RULES, kinds=(LARGE,)), FIRST))
    world.look(demand=3, want=2)
    assert [one.offering.name for one in world.pool.alive()] == ["small"] * 3 + ["large"]
    world.now = 595.0
    world.look(demand=3, want=2)
    assert [one.offering.name for one in world.pool.alive()] == ["large"]
    world.now = 600.0
    world.look(demand=3, want=2)  # what was ending is gone by now
    assert [one.offering.name for one in world.pool.alive()] == ["large", "large"]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_neither_the_most_nor_the_money_is_passed_and_replay_agrees(
    seed: int,
) -> None:
    rng = random.Random(seed)
    atu = rng.choice([1.0, 30.0, 600.0, 3600.0])
    kinds = (
        replace(SMALL, atu_seconds=atu, boundary_seconds=min(0.5, atu / 4), lease_seconds=10.0),
        replace(LARGE, atu_seconds=atu, boundary_seconds=min(0.5, atu / 4), lease_seconds=10.0),
    )
    kinds = (kinds[0], replace(kinds[1], reliable=rng.random() < 0.5))
    rules = Pool("lab", kinds, rng.randint(1, 12), rng.randint(0, 1), rng.choice([5.0, 30.0]),
                 release=rng.choice(["paid", "idle"]))  # fmt: skip
    pool, now, events = StandingPool(FIRST), 0.0, list[tuple[float, Event]]()
    commands: list[Command] = []
    working: set[MachineId] = set()
    most = Money(rng.randint(1, 60) * SMALL.price)

    def tell(event: Event) -> None:
        events.append((now, event))
        done = pool.handle(event, now)
        commands.extend(done)
        pool.check()
        assert len(pool.alive()) <= rules.most
        for one in done:
            if isinstance(one, StopMachine):
                assert one.machine not in working or one.reason == NO_MONEY
                working.discard(one.machine)
                ends = now + rng.uniform(0.0, LATE_SECONDS)  # the computer is busy
                tell(Gone(one.machine, ends, Cause.STOPPED, one.reason))

    tell(Formed(rules, FIRST))
    tell(Allotted(most, "a cap"))
    wake = None
    for _ in range(150):
        now = min(now + rules.interval_seconds, wake or now + rules.interval_seconds)
        for one in pool.alive():
            if one.charged_since is None:
                happens = rng.random()
                if happens < 0.2:
                    tell(Gone(one.id, now, Cause.FAILED, "no boot"))
                elif happens < 0.8:
                    tell(Charged(one.id, now))
                    tell(Joined(one.id, 1, (), one.cluster))
            elif rng.random() < 0.03 and one.state is MachineState.UP:
                working.discard(one.id)
                tell(Silent(one.id))
            elif one.state is MachineState.SILENT and rng.random() < 0.2:
                tell(Joined(one.id, 1, (), one.cluster))
            elif rng.random() < 0.02:
                working.discard(one.id)
                tell(Gone(one.id, now, Cause.PREEMPTED, "taken away"))
            elif one.takes and one.state is MachineState.UP and rng.random() < 0.4:
                working.add(one.id)
            elif rng.random() < 0.4:
                working.discard(one.id)
        want = (rng.randint(0, 8), rng.randint(0, 8)) if rng.random() < 0.8 else None
        before = len(commands)
        tell(Looked(rng.randint(0, 9), tuple(sorted(working)), 20.0 * rng.random(), want))
        assert pool.committed <= most
        wakes = [one.at for one in commands[before:] if isinstance(one, WakeAt)]
        wake = wakes[-1] if wakes else None
    again = StandingPool(FIRST)
    told: list[Command] = []
    sums = set(rng.sample(range(1, len(events)), 3))
    for number, (at, event) in enumerate(events):
        told += again.handle(through_the_journal(event), at)
        if number in sums:  # what it says from now on follows from the sum alone
            sum_of_all = through_the_journal(summed(again))
            again = StandingPool(FIRST)
            assert again.handle(sum_of_all, at) == []
    assert told == commands
    assert again.committed == pool.committed == pool.committed_since(float("-inf"))
    assert plain_books(again) == plain_books(pool)


def through_the_journal(event: Event) -> Event:
    return pool_journal.event_from(msgpack.unpackb(msgpack.packb(pool_journal.plain(event))))


def test_a_journal_is_summed_up_when_it_is_long_for_what_there_is_to_remember() -> None:
    world = World()
    for _ in range(9_999):
        world.tell(Looked(0, ()))
    assert is_long(world.pool)  # it was formed, too
    world.tell(summed(world.pool))
    assert not is_long(world.pool)


def test_everything_that_a_pool_remembers_is_in_its_sum() -> None:
    """A field that is added to a pool, a kind or a machine is missed here."""
    world = World(replace(RULES, kinds=(SMALL, LARGE)))
    world.tell(Allotted(money("9"), "a cap"))
    world.look(demand=3, want=3)
    world.look(demand=3, busy=2, want=1)
    again = StandingPool(FIRST)
    again.handle(through_the_journal(summed(world.pool)), world.now)
    left_out = {"ledger", "kinds", "machines", "unsummed"}
    for name in vars(world.pool).keys() - left_out:
        assert getattr(again, name) == getattr(world.pool, name), name
    assert again.ledger.committed == world.pool.ledger.committed
    for mine, theirs in zip(again.kinds, world.pool.kinds, strict=True):
        assert_alike(mine, theirs)
    for number, one in world.pool.machines.items():
        assert_alike(again.machines[number], one)


def assert_alike(mine: object, theirs: object) -> None:
    for of in type(mine).__mro__[:-1]:
        for name in of.__slots__:  # type: ignore[attr-defined]
            assert getattr(mine, name) == getattr(theirs, name), name


def test_what_counts_in_a_window_is_what_begins_in_it() -> None:
    world = World()
    world.look(demand=1, want=1)
    world.now = 580.0
    world.look(demand=1, busy=1, want=1)  # reserves the ATU that begins at 600
    assert world.pool.committed_since(300.0) == SMALL.price
    world.now = 700.0
    world.tell(Gone(MachineId(FIRST + 1), 700.0, Cause.PREEMPTED, "taken away"))
    assert world.pool.committed_since(0.0) == charge(SMALL, 700.0) == 2 * SMALL.price
    assert world.pool.committed_since(601.0) == 0
