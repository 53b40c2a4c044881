"""Who may speak to a master: each key stands for one role, and a revoked one for nobody."""

from bats.common.messages import MachineId
from bats.master.service.wire.admission import Admission, Role
from bats.master.service.wire.log_limit import LogLimit

SEVEN = MachineId(7)


def test_a_key_that_nobody_gave_out_stands_for_nobody() -> None:
    admission = Admission("client", "hand")
    assert admission.peer("stranger") is None
    assert admission.peer("client").role is Role.CLIENT
    assert admission.peer("hand").role is Role.HAND


def test_a_machine_trades_the_key_of_its_ticket_for_one_of_its_own() -> None:
    """A ticket lies at its provider, where others may read it."""
    admission = Admission("client", "hand")
    admission.admit(SEVEN, "ticket", ticket=True)
    assert admission.peer("ticket").ticket
    assert admission.enroll(SEVEN, "its own")
    assert admission.peer("ticket") is None
    assert admission.peer("its own").machine == SEVEN
    assert not admission.peer("its own").ticket


def test_nobody_enrolls_with_the_key_of_another() -> None:
    admission = Admission("client", "hand")
    admission.admit(SEVEN, "ticket", ticket=True)
    assert not admission.enroll(SEVEN, "client")
    assert admission.peer("ticket").machine == SEVEN
    assert admission.peer("client").role is Role.CLIENT


def test_a_machine_that_is_gone_is_not_listened_to_with_any_of_its_keys() -> None:
    admission = Admission("client", "hand")
    admission.admit(SEVEN, "first", ticket=True)
    admission.admit(SEVEN, "second", ticket=True)
    admission.revoke(SEVEN)
    admission.revoke(SEVEN)
    assert admission.peer("first") is admission.peer("second") is None


def test_a_flood_of_one_kind_is_one_line_and_other_kinds_are_heard() -> None:
    limit = LogLimit(seconds=1000)
    assert limit.may_say("nonsense")
    assert not any(limit.may_say("nonsense") for _ in range(100))
    assert limit.may_say("a strange key")


def test_a_flood_of_kinds_does_not_fill_the_memory() -> None:
    limit = LogLimit(seconds=1000)
    for number in range(25_000):
        limit.may_say(number)
    assert len(limit._said) <= 10_000
