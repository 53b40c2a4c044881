"""The desk's decisions in virtual time: each attempt is run, given back or killed, just once."""

import math
import signal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bats.common.messages import AttemptId, BagId, Order, Outcome, TaskId
from bats.worker.tasks.desk import MOST_WAIT_SECONDS, Desk, Running

BAG = BagId(1)


def _orders(*tasks: int) -> list[Order]:
    return [Order(TaskId(task), 1, ()) for task in tasks]


def _id(task: int) -> AttemptId:
    return AttemptId(BAG, TaskId(task), 1)


def _start(desk: Desk, now: float, grace_seconds: float = 2.0) -> list[int]:
    """Start what can start; the tasks that did."""
    started = []
    for waiting, slot in desk.starts():
        desk.run(Running(waiting.attempt, slot, now, grace_seconds=grace_seconds))
        started.append(waiting.attempt.task)
    desk.check()
    return started


def _end(desk: Desk, task: int, slot: int = 0) -> None:
    desk.end(_id(task), slot)
    desk.drop(_id(task))


def test_tasks_start_in_order_as_slots_become_free() -> None:
    desk = Desk(2)
    desk.add(BAG, _orders(5, 3, 4), now=0)
    assert _start(desk, 0) == [5, 3]
    _end(desk, 5)
    assert _start(desk, 1) == [4]
    assert desk.held == {_id(3), _id(4)}


def test_an_order_said_twice_is_run_once() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1, 2), now=0)
    _start(desk, 0)
    desk.add(BAG, _orders(1, 2), now=0)
    assert [one.attempt.task for one in desk.waiting] == [2]


def test_what_waits_too_long_behind_a_running_task_is_given_back() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1, 2), now=0)
    _start(desk, 0)
    desk.add(BAG, _orders(3), now=0.5)
    assert desk.next_due() == MOST_WAIT_SECONDS
    assert desk.give_back(0.9) == []
    assert desk.give_back(1.0) == [_id(2)]
    assert desk.give_back(1.0) == []
    assert desk.give_back(1.5) == [_id(3)]
    assert desk.held == {_id(1)}


def test_each_attempt_has_gpus_of_its_own_and_one_that_waits_for_some_keeps_its_turn() -> None:
    desk = Desk(3, devices=["0", "1", "2"])
    desk.add(BAG, _orders(1, 2), now=0, gpus=2)
    desk.add(BAG, _orders(3), now=0)
    assert _start(desk, 0) == [1]
    assert set(desk.given[desk.running[0].slot]) == {"0", "1"}
    assert desk.give_back(MOST_WAIT_SECONDS - 0.1) == []
    _end(desk, 1)
    assert _start(desk, 1) == [2, 3]
    assert sorted([*desk.devices, *desk.given[0]]) == ["0", "1", "2"]


def test_what_waits_too_long_for_gpus_is_given_back_though_slots_are_free() -> None:
    desk = Desk(2, devices=["0"])
    desk.add(BAG, _orders(1, 2), now=0, gpus=1)
    assert _start(desk, 0) == [1]
    assert desk.give_back(MOST_WAIT_SECONDS) == [_id(2)]


def test_a_gpu_that_an_unkillable_process_holds_is_given_to_no_other() -> None:
    desk = Desk(2, devices=["0"])
    desk.add(BAG, _orders(1, 2), now=0, gpus=1)
    _start(desk, 0)
    desk.give_up(desk.running[0])
    assert _start(desk, 1) == []


def test_tasks_whose_files_are_coming_wait_without_being_given_back() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1), now=0, kit=1)
    desk.park(1)
    desk.add(BAG, _orders(2, 3), now=0, kit=1)
    desk.add(BagId(2), _orders(9), now=0, kit=2)
    assert _start(desk, 0) == [9], "another bag's tasks go first"
    assert desk.give_back(100) == []
    assert desk.kill([_id(3)], now=100) == [_id(3)]
    desk.end(AttemptId(BagId(2), TaskId(9), 1), 0)
    desk.unpark(1, now=100)
    assert _start(desk, 100) == [1]
    assert desk.give_back(100.9) == []
    assert desk.give_back(101) == [_id(2)]


def test_what_is_being_collected_is_still_held() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1, 2), now=0)
    _start(desk, 0)
    desk.end(_id(1), slot=0)
    assert _start(desk, 0) == [2], "its slot is free already"
    assert desk.held == {_id(1), _id(2)}
    desk.add(BAG, _orders(1), now=0)
    assert not desk.waiting


def test_a_killed_task_gets_interrupt_terminate_kill_a_grace_apart() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1), now=0)
    _start(desk, 0, grace_seconds=2)
    assert desk.kill([_id(1)], now=10) == []
    sent = [(now, s.number) for now in (10, 11, 12, 13, 14, 99) for s in desk.due(now)]
    assert sent == [(10, signal.SIGINT), (12, signal.SIGTERM), (14, signal.SIGKILL)]
    assert desk.running[0].ending is Outcome.KILLED


def test_without_grace_the_signals_follow_at_once() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1), now=0)
    _start(desk, 0, grace_seconds=0)
    desk.kill([_id(1)], now=1)
    assert [s.number for s in desk.due(1)] == [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


def test_a_task_that_takes_too_long_is_timed_out_even_if_killed_later() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1), now=0)
    _start(desk, 0)
    desk.running[0].timeout_at = 5
    assert desk.next_due() == 5
    assert desk.due(4.9) == []
    assert [s.number for s in desk.due(5)] == [signal.SIGINT]
    desk.kill([_id(1)], now=5.5)
    assert desk.running[0].ending is Outcome.TIMED_OUT
    assert desk.next_due() == 7


def test_killing_what_only_waits_forgets_it() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1, 2, 3), now=0)
    _start(desk, 0)
    assert desk.kill([_id(2), _id(9)], now=0) == [_id(2)]
    assert desk.due(0) == []
    assert desk.held == {_id(1), _id(3)}


def test_closing_gives_back_what_waits_and_hurries_what_runs() -> None:
    desk = Desk(1)
    desk.add(BAG, _orders(1, 2), now=0)
    _start(desk, 0, grace_seconds=60)
    assert desk.kill_all(now=0, grace_seconds=1) == [_id(2)]
    sent = [(now, s.number) for now in (0, 1, 2) for s in desk.due(now)]
    assert sent == [(0, signal.SIGINT), (1, signal.SIGTERM), (2, signal.SIGKILL)]
    _end(desk, 1)
    desk.add(BAG, _orders(4), now=3)
    assert _start(desk, 3) == []


def test_the_check_itself_notices_a_slot_that_is_lost() -> None:
    desk = Desk(2)
    desk.free.pop()
    with pytest.raises(AssertionError):
        desk.check()


class AnyStory(RuleBasedStateMachine):
    """Whatever the master says in whatever order, no attempt is lost, doubled or kept too long."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(2)
        self.now = 0.0
        self.open: set[AttemptId] = set()  # a stupid twin: given to us and not yet answered

    @rule(tasks=st.lists(st.integers(0, 20), max_size=6))
    def order(self, tasks: list[int]) -> None:
        self.desk.add(BAG, _orders(*tasks), self.now)
        self.open |= {_id(task) for task in tasks}
        _start(self.desk, self.now, grace_seconds=1)

    @rule(seconds=st.sampled_from([0.1, 0.5, 3.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for running, number in self.desk.due(self.now):
            if number == signal.SIGKILL:
                self._end(running)
        back = self.desk.give_back(self.now)
        assert set(back) <= self.open
        self.open -= set(back)
        assert all(self.now < one.since + MOST_WAIT_SECONDS for one in self.desk.waiting)

    @rule(tasks=st.lists(st.integers(0, 20), max_size=6))
    def kill(self, tasks: list[int]) -> None:
        forgotten = self.desk.kill([_id(task) for task in tasks], self.now)
        self.open -= set(forgotten)

    @precondition(lambda self: self.desk.running)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self._end(data.draw(st.sampled_from(list(self.desk.running.values()))))

    def _end(self, running: Running) -> None:
        self.desk.end(running.attempt, running.slot)
        self.desk.check()
        self.desk.drop(running.attempt)
        self.open.discard(running.attempt)
        _start(self.desk, self.now, grace_seconds=1)

    @invariant()
    def nothing_is_lost(self) -> None:
        self.desk.check()
        assert self.desk.held == self.open
        assert not (self.desk.free and self.desk.waiting)
        if any(r.ending for r in self.desk.running.values()):
            assert self.desk.next_due() < math.inf or all(
                r.signals_sent == 3 for r in self.desk.running.values() if r.ending
            )


TestAnyStory = AnyStory.TestCase
TestAnyStory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
