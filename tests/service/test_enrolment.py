"""Numbers of workers started by hand: each has one of its own, whatever it says."""

from types import SimpleNamespace
from typing import Any

from bats.common.messages import NOBODY, BagId, Hello, MachineId
from bats.master.brain.protocol.numbering import BEFORE_BY_HAND, by_hand
from bats.master.service.machines.enrolment import Enrolment
from bats.master.store.rows import MachineRow

MINE, OTHERS = MachineId(BEFORE_BY_HAND + 3), MachineId(BEFORE_BY_HAND + 1)


def hello(wanted: MachineId, incarnation: str = "first") -> Hello:
    return Hello("0", wanted, incarnation, 2, "host", 1, (), 0)


class HandKeys:
    """One key is known, and has a number."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, MachineId, str]] = []

    def of(self, key: str) -> Any:
        return SimpleNamespace(machine=MINE) if key == "known" else None

    def owner(self, machine: MachineId) -> bool:
        return machine == MINE

    def came(self, *told: Any) -> None:
        self.seen.append(told)


def enrolment(*there: MachineId, keys: Any = None, running: str = "first") -> Enrolment:
    """After a master that knew these machines; each runs as the incarnation given."""
    rows = [MachineRow(one, BagId(0), "some", "by hand", requested=0.0) for one in there]
    worker = SimpleNamespace(incarnation=running)
    workers: Any = SimpleNamespace(of=lambda machine: worker if machine in there else None)
    nothing: Any = None
    return Enrolment(rows, {}, nothing, workers, nothing, keys or HandKeys())


def test_a_worker_started_by_hand_keeps_its_number_while_it_is_free() -> None:
    office = enrolment()
    first = office.number_by_hand("", hello(NOBODY))
    assert by_hand(first)
    assert office.number_by_hand("", hello(first)) == first
    assert office.number_by_hand("", hello(NOBODY)) == first + 1


def test_numbers_go_on_after_those_of_an_earlier_master() -> None:
    assert enrolment(OTHERS).number_by_hand("", hello(NOBODY)) == OTHERS + 1


def test_nobody_is_given_the_number_of_another_who_is_there() -> None:
    office = enrolment(OTHERS)
    assert office.number_by_hand("", hello(OTHERS, "second")) == OTHERS + 1
    assert office.number_by_hand("", hello(OTHERS, "first")) == OTHERS


def test_a_key_of_its_own_keeps_its_number_whatever_its_worker_says() -> None:
    keys = HandKeys()
    office = enrolment(OTHERS, MINE, keys=keys)
    assert office.number_by_hand("known", hello(OTHERS)) == MINE
    assert keys.seen == [("known", MINE, "host")]
    assert office.number_by_hand("", hello(MINE)) == MINE + 1
