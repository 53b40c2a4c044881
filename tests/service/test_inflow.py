"""Which connections a master looks at, lest what it does not read fills its memory."""

from bats.master.service.wire.inflow import Turns, resident_bytes


def test_few_are_all_looked_at_each_time() -> None:
    turns = Turns(lambda: 0)
    assert list(turns.of(range(500))) == list(range(500))
    assert list(turns.of(range(500))) == list(range(500))


def test_of_many_some_are_looked_at_in_turn_and_nobody_is_left_out() -> None:
    turns = Turns(lambda: 100 << 20)
    turns.of(range(1_300))  # the first look is at all: nothing is known of the memory yet
    seen = [list(turns.of(range(1_300))) for _ in range(3)]
    assert [len(one) for one in seen] == [500, 500, 500]
    assert {one for part in seen for one in part} == set(range(1_300))


def test_all_are_looked_at_when_the_memory_grows() -> None:
    sizes = iter([100 << 20, 101 << 20, 120 << 20, 121 << 20, 90 << 20, 110 << 20])
    turns = Turns(lambda: next(sizes))
    assert [len(turns.of(range(5_000))) for _ in range(6)] == [5_000, 500, 5_000, 500, 500, 5_000]


def test_the_memory_of_this_process_is_known() -> None:
    assert 1 << 20 < resident_bytes() < 1 << 34
