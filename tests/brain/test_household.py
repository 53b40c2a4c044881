"""The household, one story each: which slots of common machines a bag has, and till when."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from bats.common.capacity.resources import Resources
from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId, MachineId
from bats.master.brain.household import household as household_module
from bats.master.brain.household.common_machines import tasks_in
from bats.master.brain.household.household import Household
from bats.master.brain.household.notices import (
    Came,
    Closed,
    Fills,
    Grant,
    Keeps,
    Left,
    Needs,
    Notice,
    Opened,
    TimePassed,
    Weighed,
    Went,
)
from bats.master.brain.household.sharing import SHARINGS, Claim, Fair, Striding, stride
from bats.master.brain.protocol.commands import WakeAt

A, B, C = BagId(1), BagId(2), BagId(3)
DESK = MachineId(500_001)
GIB = 1 << 30
MORE = ((0, 0), (0, 0), (16 * GIB, 0), (16 * GIB, 2))  # memory and GPUs of machines
TASKS = (
    Resources(),
    Resources(),
    Resources(2),
    Resources(1, 5 * GIB),
    Resources(1, gpus=1),
)


class Home:
    """Feeds a household, and carries its grants out at once unless tasks are said to run on."""

    def __init__(self, sharing: str = "fair", **weights: float) -> None:
        self.household = Household(sharing, weights)
        self.now = 0.0

    def __call__(self, *notices: Notice, at: float | None = None) -> dict[BagId, int]:
        """The slots that each bag has after these notices."""
        self.now = self.now if at is None else at
        for notice in notices:
            self.household.handle(notice, self.now)
            self.household.check()
        return {one.bag: one.slots for one in self.household.view().bags}

    def pass_on(self, *bags: BagId) -> dict[BagId, int]:
        """What these bags still fill beyond their grants has ended."""
        return self(*(Fills(bag, DESK, 0) for bag in bags))


def opened(*bags: BagId, needs: int = 100) -> list[Notice]:
    return [notice for bag in bags for notice in (Opened(bag), Needs(bag, needs))]


def test_a_bag_that_is_alone_has_all_slots_whatever_it_needs() -> None:
    home = Home()
    home(*opened(A, needs=1))
    (grant,) = home.household.handle(Came(DESK, 8), 0.0)
    assert grant == Grant(A, DESK, 8)


def test_a_bag_that_comes_later_has_its_share_as_soon_as_tasks_end() -> None:
    home = Home()
    assert home(Came(DESK, 4), *opened(A, B)) == {A: 2, B: 0}
    assert home(Fills(A, DESK, 3)) == {A: 2, B: 1}
    assert home(Fills(A, DESK, 2)) == {A: 2, B: 2}


def test_what_one_does_not_need_the_others_have() -> None:
    home = Home()
    home(Came(DESK, 6), *opened(A, B))
    home.pass_on(A)
    home(Needs(B, 1))
    assert home.pass_on(B) == {A: 5, B: 1}


def test_weights_divide_the_slots_and_can_be_changed_while_bags_run() -> None:
    home = Home()
    home(Came(DESK, 6), Opened(A, weight=2.0), Needs(A, 100), *opened(B))
    assert home.pass_on(A) == {A: 4, B: 2}
    home(Weighed(B, weight=4.0, priority=0))
    assert home.pass_on(A) == {A: 2, B: 4}


def test_users_share_before_their_bags_do() -> None:
    home = Home(bob=2.0)
    home(Came(DESK, 6))
    home(
        Opened(A, "ann"), Needs(A, 9), Opened(B, "ann"), Needs(B, 9), Opened(C, "bob"), Needs(C, 9)
    )
    assert home.pass_on(A) == {A: 1, B: 1, C: 4}


def test_a_single_slot_passes_from_hand_to_hand_by_weight() -> None:
    home = Home()
    home(Came(DESK, 1), Opened(A, weight=2.0), Needs(A, 9), *opened(B))
    had = {A: 0, B: 0}
    for second in range(300):
        home(TimePassed(), at=float(second))
        for bag, slots in home.pass_on(A, B).items():
            had[bag] += slots
    assert had[A] / had[B] == pytest.approx(2.0, rel=0.05)


def test_what_a_bag_did_not_need_is_not_owed_to_it_later() -> None:
    home = Home()
    home(Came(DESK, 4), *opened(A), *opened(B, needs=0))
    home(TimePassed(), at=10_000.0)
    home(Needs(B, 100))
    assert home.pass_on(A) == {A: 2, B: 2}


def test_who_had_more_than_its_share_while_its_tasks_ran_on_gives_it_back() -> None:
    home = Home()
    home(Came(DESK, 4), *opened(A, B))
    home(at=100.0)
    home(TimePassed(), at=100.0)
    assert home.pass_on(A) == {A: 0, B: 4}


def test_first_come_first_served_gives_the_first_all_that_it_needs() -> None:
    home = Home("fifo")
    home(Came(DESK, 4), *opened(B, needs=3), *opened(A, needs=3))
    assert home.pass_on(B) == {A: 3, B: 1}


def test_a_higher_priority_has_all_that_it_needs_and_equal_ones_share() -> None:
    home = Home("priority")
    home(Came(DESK, 4), *opened(A, B))
    home(Opened(C, priority=1), Needs(C, 2))
    assert home.pass_on(A, B) == {A: 1, B: 1, C: 2}


def test_tasks_that_take_two_slots_get_pairs() -> None:
    home = Home()
    home(Came(DESK, 4), Opened(A, task=Resources(2)), Needs(A, 4), *opened(B))
    assert home.pass_on(A) == {A: 2, B: 2}


def test_memory_and_gpus_are_shared_as_the_part_of_the_machine_that_they_are() -> None:
    home = Home()
    half = Resources(1, memory_bytes=8 * GIB)
    home(Came(DESK, 8, memory_bytes=16 * GIB), Opened(A, task=half), Needs(A, 9), *opened(B))
    assert home.pass_on(A) == {A: 4, B: 4}, "half of the machine is one task of A"
    home(Closed(A), Opened(C, task=Resources(1, gpus=1)), Needs(C, 9))
    assert home.pass_on(B) == {B: 8, C: 0}, "a machine without GPUs is nothing to C"
    home(Came(MachineId(DESK + 1), 8, gpus=4))
    assert home.pass_on(B) == {B: 12, C: 4}, "of the one with GPUs they have half each"


def test_a_bag_that_has_all_of_a_machine_has_all_that_it_holds() -> None:
    """Three thirds of the memory are three tasks, though each has two slots of four."""
    size, third = Resources(4, memory_bytes=10 * GIB), Resources(1, memory_bytes=3 * GIB)
    assert (size.holds(third), size.width(third)) == (3, 2)
    assert [tasks_in(slots, third, size) for slots in range(5)] == [0, 0, 1, 1, 3]
    home = Home()
    assert home(Came(DESK, 4, memory_bytes=10 * GIB), Opened(A, task=third), Needs(A, 9)) == {A: 4}


@pytest.mark.parametrize("seed", range(200))
def test_tasks_in_slots_that_are_there_never_take_more_than_there_is(seed: int) -> None:
    rng = random.Random(seed)
    size = Resources(rng.randint(1, 12), rng.choice([0, rng.randint(1, 64)]), rng.randint(0, 4))
    tasks = [
        Resources(rng.randint(1, 4), rng.randint(0, 20), rng.choice([0, 0, 1, 2])) for _ in range(9)
    ]
    free, taken = size.cpus, [0, 0, 0]
    for task in tasks:
        slots = rng.randint(0, free)
        free -= slots
        count = tasks_in(slots, task, size)
        for at, each in enumerate((task.cpus, task.memory_bytes, task.gpus)):
            taken[at] += count * each
    assert taken[0] <= size.cpus
    assert taken[1] <= size.memory_bytes or not size.memory_bytes
    assert taken[2] <= size.gpus


def test_a_bag_has_only_machines_of_kinds_that_it_takes() -> None:
    home = Home()
    home(Opened(A, takes=("gpu",)), Needs(A, 9), *opened(B))
    assert home(Came(DESK, 2, "gpu"), Came(MachineId(DESK + 1), 3)) == {A: 2, B: 3}


def test_a_bag_that_ends_or_lets_go_leaves_its_slots_to_others() -> None:
    home = Home()
    home(Came(DESK, 4), *opened(A, B, C))
    home.pass_on(A)
    home(Needs(A, 0))
    assert home(Left(A, DESK))[A] == 0
    assert home(Closed(B)) == {A: 0, C: 4}
    assert home(Went(DESK)) == {A: 0, C: 0}


def test_after_a_restart_machines_come_with_what_runs_on_them() -> None:
    home = Home()
    home(*opened(A, B))
    assert home(Came(DESK, 4, running=((A, 3), (B, 1)))) == {A: 2, B: 1}
    assert home(Fills(A, DESK, 2)) == {A: 2, B: 2}


def test_who_runs_tasks_on_a_machine_that_came_back_is_told_that_it_has_no_slot_there() -> None:
    household = Household("fifo")
    for notice in opened(A, B):
        household.handle(notice, 0.0)
    answers = household.handle(Came(DESK, 4, running=((A, 1), (B, 3))), 0.0)
    assert [one for one in answers if isinstance(one, Grant)] == [
        Grant(A, DESK, 1),  # the slots that the other fills follow as its tasks end
        Grant(B, DESK, 0),
    ]


def test_who_waits_in_vain_is_looked_at_ever_more_seldom() -> None:
    home = Home()
    home(Came(DESK, 2), *opened(A, B))
    home.pass_on(A)
    wakes: list[float] = []
    for _ in range(12):
        now = wakes[-1] if wakes else 1.0
        answers = home.household.handle(TimePassed(), now)
        wakes += [one.at for one in answers if isinstance(one, WakeAt)]
    pauses = [b - a for a, b in pairwise(wakes)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 60.0


def test_books_that_disagree_are_a_bug() -> None:
    home = Home()
    home(Came(DESK, 2), *opened(A))
    home.household._slots.machines[DESK].granted[B] = 1
    with pytest.raises(BrokenInvariantError, match="does not run"):
        home.household.check()


# --- against a stupid twin, and by chance -------------------------------------------------------


def one_by_one(slots: int, striding: list[Striding[int]]) -> dict[int, int]:
    """The next slot goes to who would have had least with what it has; by looking at all."""
    shares = dict.fromkeys((one.key for one in striding), 0)
    for _ in range(slots):
        able = [one for one in striding if shares[one.key] < one.needs]
        if able:
            next_one = min(able, key=lambda one: one.served + shares[one.key] / one.weight)
            shares[next_one.key] += 1
    return shares


@pytest.mark.parametrize("seed", range(20))
def test_strides_are_those_of_looking_at_everybody_for_every_slot(seed: int) -> None:
    rng = random.Random(seed)
    striding = [
        Striding(k, rng.randint(0, 9), 1, rng.choice([0.5, 1.0, 2.0, 4.0]), rng.randint(0, 64) / 8)
        for k in range(rng.randint(1, 6))
    ]
    slots = rng.randint(0, 30)
    assert stride(slots, striding) == one_by_one(slots, striding)


def anything(rng: random.Random, household: Household) -> Notice:
    """A notice that may come next, of five bags and four machines."""
    bag, machine = BagId(rng.randint(1, 5)), MachineId(rng.randint(1, 4))
    granted = household.granted(bag, machine)
    notices: list[Notice] = [
        Needs(bag, rng.randint(0, 9)),
        Came(machine, rng.randint(1, 6), "", (), *rng.choice(MORE)),
        Went(machine),
        Closed(bag),
        Weighed(bag, rng.choice([1.0, 2.0]), rng.randint(0, 2)),
        TimePassed(),
        Keeps(bag, rng.random(), rng.randint(0, 5)),
        Left(bag, machine),
    ]
    if machine in household.leaving(bag):
        notices = [Fills(bag, machine, granted)]
    elif not household.has(bag):
        task = rng.choice(TASKS)
        notices = [Opened(bag, f"u{bag % 2}", weight=rng.choice([1.0, 2.0]), task=task)]
    return rng.choice(notices)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("seed", range(15))
def test_whatever_happens_the_books_agree_and_no_needed_slot_idles(seed: int, sharing: str) -> None:
    rng = random.Random(seed)
    household, now = Household(sharing, {"u1": 3.0}), 0.0
    story: list[tuple[float, Notice]] = []
    said = []
    for _ in range(300):
        now += rng.choice([0.0, 0.1, 5.0])
        notice = anything(rng, household)
        said.append(household.handle(notice, now))
        story.append((now, notice))
        household.check()
    again = Household(sharing, {"u1": 3.0})
    assert [again.handle(notice, at) for at, notice in story] == said


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("seed", range(8))
def test_shares_that_stand_are_those_of_making_them_anew_after_every_notice(
    seed: int, sharing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one moment, that is: as time passes who has had least is another."""
    rng = random.Random(seed)
    household, twin = Household(sharing), Household(sharing)
    stood = 0
    for _ in range(300):
        notice = anything(rng, household)
        said = household.handle(notice, 0.0)
        with monkeypatch.context() as patch:
            patch.setattr(household_module, "_SHARES_STAND", frozenset())
            assert twin.handle(notice, 0.0) == said
        stood += isinstance(notice, Fills) and bool(said)
    assert stood


# --- promises -----------------------------------------------------------------------------------


def test_who_was_told_when_it_ends_keeps_what_that_takes_and_others_have_the_rest() -> None:
    home = Home()
    home(Came(DESK, 8), *opened(A))
    assert home(Keeps(A, 0.0, 6), *opened(B)) == {A: 6, B: 0}
    assert home.pass_on(A) == {A: 6, B: 2}
    home(*opened(C))
    assert home.pass_on(A, B) == {A: 6, B: 1, C: 1}


def test_who_comes_later_has_room_for_a_task_whatever_was_told_before() -> None:
    home = Home()
    home(Came(DESK, 4), *opened(A), Keeps(A, 0.0, 4), *opened(B, C))
    assert home.pass_on(A) == {A: 2, B: 1, C: 1}


def test_what_is_not_needed_to_keep_a_promise_any_more_is_shared_by_weight() -> None:
    home = Home()
    home(Came(DESK, 8), *opened(A), Keeps(A, 0.0, 7), *opened(B))
    assert home.pass_on(A) == {A: 7, B: 1}
    home(Keeps(A, 0.0, 2))
    assert home.pass_on(A) == {A: 4, B: 4}


def test_the_earlier_of_two_promises_is_kept_first() -> None:
    home = Home()
    home(Came(DESK, 6), *opened(A, B), Keeps(A, 9.0, 5), Keeps(B, 3.0, 4))
    assert home.pass_on(A, B) == {A: 2, B: 4}


def one_after_the_other(slots: int, claims: list[Claim]) -> dict[BagId, int]:
    """Slot by slot: to who has none, then to who was told first and lacks some, then by weight."""
    had = dict.fromkeys((one.bag for one in claims), 0)
    if sum(one.needs > 0 for one in claims) > slots:
        claims = [replace(one, keeps=0) for one in claims]  # they take turns
    else:
        for one in claims:
            had[one.bag] = min(1, one.needs)
    for _ in range(slots - sum(had.values())):
        able = [one for one in claims if had[one.bag] < one.needs]
        told = [one for one in able if had[one.bag] < one.keeps]
        if told:
            had[min(told, key=lambda one: one.told_at).bag] += 1
        elif able:
            had[min(able, key=lambda one: one.served + had[one.bag] / one.weight).bag] += 1
    return had


@pytest.mark.parametrize("seed", range(40))
def test_promises_are_kept_as_by_looking_at_everybody_for_every_slot(seed: int) -> None:
    rng = random.Random(seed)
    claims = [
        Claim(
            BagId(k),
            "",
            rng.randint(0, 9),
            rng.choice([0, 0, 1, 3, 7]),
            rng.random(),
            1,
            rng.choice([0.5, 1.0, 2.0]),
            0,
            rng.randint(0, 64) / 8,
            1.0,
            0.0,
        )
        for k in range(rng.randint(1, 6))
    ]
    slots = rng.randint(0, 30)
    claims.append(Claim(BagId(9), "", 5, 2, 0.5, 1, 1.0, 0, 0.0, 1.0, 0.0))
    assert Fair().share(slots, claims) == one_after_the_other(slots, claims)
