"""A turn's messages: one that leads to an error, or to much work, does not harm who is honest."""

from types import SimpleNamespace
from typing import Any

import pytest

from bats.common.errors import StoreDamagedError
from bats.common.messages import Hello, MachineId, Request
from bats.common.wire.codec import encode
from bats.master.service.wire import inbox as module
from bats.master.service.wire.admission import Admission
from bats.master.service.wire.inbox import Inbox
from bats.master.service.wire.router import Heard

HELLO = encode(Hello("0", MachineId(7), "first", 2, "host", 1, (), 0))


class Turn:
    """An inbox whose second request leads to an error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.taken: list[int] = []
        self.hellos = self.ended = 0
        self.failed: list[BaseException] = []
        reports: Any = SimpleNamespace(end_turn=self._end, greet=self._greet)
        nothing: Any = SimpleNamespace()
        enrolment: Any = SimpleNamespace(came_with=lambda *_: None)
        handlers: Any = SimpleNamespace(request=self._take, fail=self.failed.append)
        admission = Admission("a client", "a hand")
        admission.admit(MachineId(7), "a machine", ticket=True)
        self.inbox = Inbox(nothing, admission, nothing, reports, enrolment, handlers, "0")

    def hear(self) -> None:
        frames = (encode(Request(number, "bags", {})) for number in (1, 2, 3))
        self.inbox.hear([Heard(b"route", "a client", memoryview(frame)) for frame in frames])

    def hello(self) -> None:
        self.inbox.hear([Heard(b"another", "a machine", memoryview(HELLO))])

    def _take(self, _route: bytes, request: Request, _user: str) -> None:
        if request.id == 2 and self.error is not None:
            raise self.error
        self.taken.append(request.id)

    def _greet(self, *_: object) -> None:
        self.hellos += 1

    def _end(self) -> None:
        self.ended += 1


def test_what_one_message_led_to_does_not_drop_the_others() -> None:
    turn = Turn(ZeroDivisionError("a bug"))
    turn.hear()
    assert (turn.taken, turn.ended) == ([1, 3], 1)


def test_a_store_that_is_damaged_ends_the_master_all_the_same() -> None:
    error = StoreDamagedError("its disk is gone")
    turn = Turn(error)
    turn.hear()
    assert turn.failed == [error]


def test_nobody_is_shut_out_for_a_hello_that_had_all_planned_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 1000, 3))  # each message takes three seconds
    monkeypatch.setattr(module, "perf_counter", lambda: next(clock))
    turn = Turn()
    turn.hello()
    turn.hello()
    assert turn.hellos == 2
