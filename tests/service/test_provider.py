"""The machines of one offering: what a back end says and does, and what its bag is told of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.service import eventually

from bats.common.messages import MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.common.ticket import UNRENEWED, Ticket
from bats.common.units import in_words
from bats.deploy.protocol import BusyError, Gone, RefusedError, Sighting, State
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import Begin, Cause, Joined
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.told.facts import MachineFacts
from bats.master.service.machines import provider as module
from bats.master.service.machines.provider import Provider, ProviderContext
from bats.master.service.machines.watched import Watched
from bats.master.service.options import Options
from bats.master.service.wire.admission import Admission

RENTED = Offering(ClusterName("rented"), money(3), 3600.0, 4)
UP = Sighting(State.UP, "host-7", charged_seconds=2.0)
QUEUED = Sighting(State.REQUESTED)
LOST = Sighting(State.GONE, gone=Gone.LOST)


class BackEnd:
    """Says what a test has set, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Exception] = []  # to be raised by the next calls of start
        self.asked: list[list[MachineId]] = []
        self.keys: list[str] = []  # of the tickets it was given
        self.starts_unheard = False  # it starts machines, and its answer never comes
        self.stopped: list[list[MachineId]] = []
        self.cannot_stop = 0  # so often
        self.says: dict[MachineId, Sighting] = {}
        self.says_once: dict[MachineId, Sighting] = {}

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        self.asked.append([ticket.machine for ticket in tickets])
        self.keys += [ticket.public_key for ticket in tickets]
        if self.starts_unheard:
            self.says = {ticket.machine: UP for ticket in tickets}
        if self.answers:
            raise self.answers.pop(0)
        for ticket in tickets:
            self.says.pop(ticket.machine, None)
        return {ticket.machine: QUEUED for ticket in tickets}

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        said, self.says_once = {**self.says, **self.says_once}, {}
        return {machine: said.get(machine, QUEUED) for machine in machines}

    async def stop(self, machines: Sequence[MachineId]) -> None:
        if self.cannot_stop:
            self.cannot_stop -= 1
            raise BusyError("too many requests")
        self.stopped.append(list(machines))
        for machine in machines:
            self.says[machine] = Sighting(State.GONE, gone=Gone.STOPPED, charged_seconds=60.0)

    async def log(self, machine: MachineId) -> str:
        return f"machine {machine}:\nno such file: python3"

    async def close(self) -> None: ...


class Bag:
    """A bag's runner as a provider sees it: it is asked little and told all."""

    def __init__(self) -> None:
        self.offerings = (RENTED,)
        self.task_slots = 1
        self.engine = Engine(Settings(10, self.offerings))
        self.charges: list[tuple[MachineId, str]] = []
        self.announcements: list[str] = []
        self.ended: dict[MachineId, tuple[Cause, str]] = {}
        self.bills: dict[MachineId, tuple[float, float | None]] = {}  # since, until
        self.others = False
        self.machines = self  # nothing else of it is asked

    def clock(self) -> float:
        return 1000.0

    def waiting_for(self, _machine: MachineId) -> list[Any]:
        return []

    def known(self, machine: MachineId) -> MachineFacts | None:
        return self.engine.machine(machine)

    def has_others_than(self, _cluster: int) -> bool:
        return self.others

    def knows_key(self, _machine: MachineId, _key: str) -> None: ...

    def charged(self, machine: MachineId, since: float, address: str) -> None:
        self.charges.append((machine, address))
        self.bills[machine] = since, None

    def announced(self, _machine: MachineId, reason: str) -> None:
        self.announcements.append(reason)

    def gone(self, machine: MachineId, at: float | None, cause: Cause, detail: str) -> None:
        self.ended[machine] = cause, detail
        if machine in self.bills:
            self.bills[machine] = self.bills[machine][0], at


class World:
    """A provider with its back end and its bag."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.backend, self.bag = BackEnd(), Bag()
        self.set_aside: list[str] = []
        self.workers: dict[MachineId, Any] = {}  # connected
        self.admission = Admission("a client's key", "a hand's key")
        ready: Callable[..., Any] = _at_once
        context = ProviderContext(
            Options(state=folder, poll_seconds=0.05, **options),
            self.admission,
            SimpleNamespace(committed=ready),
            SimpleNamespace(stop=lambda _machine, _reason: False, of=self.workers.get),
            SimpleNamespace(fetched=ready),
            ("tcp://here:1",),
            "our key",
            lambda _runner, _cluster, _machines, reason: self.set_aside.append(reason),
            lambda _machine: None,
        )
        self.provider = Provider(RENTED, self.backend, context)

    def machines(self, *numbers: int) -> list[Watched]:
        return [Watched(MachineId(number), self.bag, 0) for number in numbers]

    def start(self, *numbers: int) -> list[Watched]:
        made = self.machines(*numbers)
        self.provider.start(made)
        return made


async def _at_once(*_: object) -> None: ...


@asynccontextmanager
async def world(folder: Path, **options: Any) -> AsyncIterator[World]:
    made = World(folder, **options)
    try:
        yield made
    finally:
        await made.provider.close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(module, "_SURE_SECONDS", 0.1)


async def test_all_machines_are_asked_for_in_one_call_and_the_bill_is_told_once(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        here.start(1, 2, 3)
        await eventually(lambda: here.backend.asked)
        here.backend.says = {MachineId(2): UP}
        await eventually(lambda: here.bag.charges)
        await asyncio.sleep(0.2)
        assert here.backend.asked == [[1, 2, 3]]
        assert here.bag.charges == [(2, "host-7")]


async def test_a_busy_back_end_is_asked_again_and_says_meanwhile_why_nothing_comes(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        here.backend.answers = [BusyError("no capacity in this zone")] * 3
        (machine,) = here.start(1)
        assert await eventually(lambda: machine.waits) == "no capacity in this zone"
        await eventually(lambda: machine.asked)
        assert len(here.backend.asked) == 4
        assert machine.waits == ""


async def test_where_others_can_work_a_busy_back_end_is_given_up_after_a_while(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, busy_seconds=0.1) as here:
        here.bag.others = True
        here.backend.answers = [BusyError("no capacity")] * 1000
        here.start(1)
        (reason,) = await eventually(lambda: here.set_aside)
        assert reason == "it had nothing to give for 0.1 s: no capacity"


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([RefusedError("the key is not valid")], "the key is not valid"),
        ([ZeroDivisionError("a bug")] * 5, "the back end failed: a bug"),
    ],
    ids=["refused", "surprised too often"],
)
async def test_what_cannot_work_is_set_aside_with_its_reason(
    tmp_path: Path, answers: list[Exception], told: str
) -> None:
    async with world(tmp_path) as here:
        here.backend.answers = list(answers)
        here.start(1, 2)
        (reason,) = await eventually(lambda: here.set_aside)
        assert reason == told
        assert len(here.backend.asked) == len(answers)


async def test_a_machine_called_off_while_its_back_end_is_busy_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE_SECONDS", 30.0)
    async with world(tmp_path) as here:
        here.backend.answers = [BusyError("no capacity")]
        first, _ = here.start(1, 2)
        await eventually(lambda: first.waits)
        here.provider.stop(first, "not needed any more")
        await eventually(lambda: len(here.backend.asked) == 2)
        assert here.backend.asked[1] == [2]
        assert here.bag.ended == {1: (Cause.STOPPED, "not needed any more")}


async def test_a_machine_whose_start_was_never_answered_is_let_in_whichever_ticket_it_got(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        here.backend.answers = [TimeoutError("no answer"), BusyError("slow down")]
        (machine,) = here.start(1)
        await eventually(lambda: len(here.backend.asked) == 3)
        await eventually(lambda: machine.asked)
        assert all(here.admission.peer(key).machine == 1 for key in here.backend.keys)


async def test_a_machine_asked_for_again_after_a_restart_may_come_with_its_first_ticket(
    tmp_path: Path,
) -> None:
    """The master was killed when its provider had started the machine and not told of it yet."""
    async with world(tmp_path) as here:
        here.admission.admit(MachineId(1), "of its first ticket", ticket=True)
        here.start(1)
        await eventually(lambda: here.backend.keys)
        assert here.admission.peer("of its first ticket").machine == 1
        here.admission.settle(MachineId(1), "of its first ticket")
        assert here.admission.peer(here.backend.keys[0]) is None


async def test_a_machine_that_may_have_been_started_is_stopped_when_it_is_called_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE_SECONDS", 30.0)
    async with world(tmp_path) as here:
        here.backend.starts_unheard = True
        here.backend.answers = [TimeoutError("no answer")]
        (machine,) = here.start(1)
        await eventually(lambda: here.backend.asked)
        await asyncio.sleep(0.05)
        here.provider.stop(machine, "not needed any more")
        await eventually(lambda: here.bag.ended)
        assert here.backend.stopped == [[1]]
        assert here.bag.bills[MachineId(1)] == (940.0, 1000.0), "its bill is in the books"


async def test_machines_that_may_have_been_started_are_stopped_when_a_back_end_is_given_up(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        here.backend.starts_unheard = True
        here.backend.answers = [TimeoutError("no answer")] * 5
        here.start(1)
        await eventually(lambda: here.set_aside)
        await eventually(lambda: here.backend.stopped == [[1]])
        await eventually(lambda: here.bag.ended)


async def test_machines_sent_away_together_are_one_call_and_twice_is_no_error(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        machines = here.start(1, 2, 3)
        await eventually(lambda: all(one.asked for one in machines))
        for one in machines[:2] * 2:
            here.provider.stop(one, "the bag has ended")
        await eventually(lambda: len(here.bag.ended) == 2)
        assert here.backend.stopped == [[1, 2]]
        assert here.bag.ended[MachineId(1)] == (Cause.STOPPED, "the bag has ended")


async def test_a_machine_that_cannot_be_stopped_yet_is_stopped_as_soon_as_it_can(
    tmp_path: Path,
) -> None:
    """Until then it costs money."""
    async with world(tmp_path) as here:
        here.backend.cannot_stop = 3
        (machine,) = here.start(1)
        await eventually(lambda: machine.asked)
        here.provider.stop(machine, "the bag has ended")
        await eventually(lambda: here.bag.ended)
        assert here.backend.stopped == [[1]]


@pytest.mark.parametrize(
    ("gone", "cause"),
    [
        (Gone.EXPIRED, Cause.EXPIRED),
        (Gone.PREEMPTED, Cause.PREEMPTED),
        (Gone.FAILED, Cause.FAILED),
    ],
)
async def test_a_machine_that_went_by_itself_is_told_of_in_its_providers_words(
    tmp_path: Path, gone: Gone, cause: Cause
) -> None:
    async with world(tmp_path) as here:
        here.start(1)
        await eventually(lambda: here.backend.asked)
        here.backend.says[MachineId(1)] = Sighting(State.GONE, gone=gone, detail="as they say")
        await eventually(lambda: here.bag.ended)
        assert here.bag.ended == {1: (cause, "as they say")}


async def test_a_machine_whose_lease_ends_before_it_joins_is_told_of_with_the_lease_it_had(
    tmp_path: Path,
) -> None:
    """Its offering says none: then that follows from its ATU."""
    async with world(tmp_path) as here:
        here.bag.engine.handle(Begin(), 0.0)
        one = next(machine.id for machine in here.bag.engine.alive())
        had = here.bag.engine.machine(one)
        assert had
        assert had.lease_seconds > here.bag.offerings[0].lease_seconds == 0
        here.start(one)
        await eventually(lambda: here.backend.asked)
        here.backend.says[one] = Sighting(State.GONE, gone=Gone.EXPIRED, detail=UNRENEWED)
        await eventually(lambda: here.bag.ended)
        _, words = here.bag.ended[one]
        assert words.startswith(
            f"its lease of {in_words(had.lease_seconds)} ran out before it joined"
        )


@pytest.mark.parametrize(("joined_at", "bill"), [(900.0, (900.0, 902.5)), (None, (997.5, 1000.0))])
async def test_a_machine_whose_end_is_learnt_late_costs_what_its_provider_charges(
    tmp_path: Path, joined_at: float | None, bill: tuple[float, float]
) -> None:
    """Its provider had not answered before: the bag knows since when it was there, if it joined."""
    async with world(tmp_path) as here:
        here.bag.engine.handle(Begin(), 0.0)
        one = next(machine.id for machine in here.bag.engine.alive())
        if joined_at is not None:
            here.bag.engine.handle(Joined(one, 1), joined_at)
        here.start(one)
        await eventually(lambda: here.backend.asked)
        here.backend.says[one] = Sighting(State.GONE, charged_seconds=2.5, gone=Gone.EXPIRED)
        await eventually(lambda: here.bag.ended)
        assert here.bag.bills[one] == bill


async def test_a_machine_that_joined_before_its_provider_was_heard_costs_what_that_charges(
    tmp_path: Path,
) -> None:
    """The answer was long on its way: told by it, the meter began after the worker had spoken."""
    async with world(tmp_path) as here:
        here.bag.engine.handle(Begin(), 0.0)
        one = next(machine.id for machine in here.bag.engine.alive())
        here.bag.engine.handle(Joined(one, 1), 990.0)
        here.start(one)
        await eventually(lambda: here.backend.asked)
        here.backend.says[one] = UP
        await eventually(lambda: here.bag.charges)
        here.backend.says[one] = Sighting(State.GONE, charged_seconds=8.0, gone=Gone.STOPPED)
        await eventually(lambda: here.bag.ended)
        assert here.bag.bills[one] == (990.0, 998.0)


async def test_a_meter_that_ran_longer_than_a_late_answer_told_is_set_right_by_the_next(
    tmp_path: Path,
) -> None:
    """The master was frozen when the first came: it lay there, and told of a while ago."""
    async with world(tmp_path) as here:
        here.start(1)
        await eventually(lambda: here.backend.asked)
        here.backend.says[MachineId(1)] = UP
        await eventually(lambda: here.bag.bills.get(MachineId(1)) == (998.0, None))
        here.backend.says[MachineId(1)] = Sighting(State.UP, "host-7", charged_seconds=27.0)
        await eventually(lambda: here.bag.bills[MachineId(1)] == (973.0, None), 10)
        gone = Sighting(State.GONE, charged_seconds=27.4, gone=Gone.STOPPED)
        here.backend.says[MachineId(1)] = gone
        await eventually(lambda: here.bag.ended)
        assert here.bag.bills[MachineId(1)] == (1000.0 - 27.4, 1000.0)


async def test_a_machine_unknown_once_is_looked_for_again_before_it_is_held_to_be_lost(
    tmp_path: Path,
) -> None:
    """Providers may be slow to know what they were asked for."""
    async with world(tmp_path) as here:
        (machine,) = here.start(1)
        await eventually(lambda: machine.asked)
        here.backend.says[MachineId(1)], here.backend.says_once[MachineId(1)] = UP, LOST
        await eventually(lambda: here.bag.charges)
        assert machine.lost_since is None
        assert here.bag.ended == {}
        here.backend.says[MachineId(1)] = LOST
        await eventually(lambda: here.bag.ended)
        assert here.bag.ended[MachineId(1)][0] is Cause.FAILED


async def test_a_machine_that_speaks_lives_whatever_its_provider_lists(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.workers[MachineId(1)] = worker = SimpleNamespace(silent=False)
        here.backend.says[MachineId(1)] = LOST
        (machine,) = here.machines(1)
        machine.asked = machine.joined = True
        here.provider.adopt(machine)
        await eventually(lambda: machine.lost_since)
        await asyncio.sleep(0.3)
        assert here.bag.ended == {}
        worker.silent = True
        await eventually(lambda: here.bag.ended)


async def test_a_machine_of_an_earlier_life_that_was_never_asked_for_is_asked_for_now(
    tmp_path: Path,
) -> None:
    """Its master was killed between writing it down and asking."""
    async with world(tmp_path) as here:
        (machine,) = here.machines(1)
        machine.asked = machine.resumed = True
        here.backend.says[MachineId(1)] = LOST
        here.provider.adopt(machine)
        await eventually(lambda: here.backend.asked)
        here.backend.says[MachineId(1)] = UP
        await eventually(lambda: here.bag.charges)
        assert here.backend.asked == [[1]]
        assert here.bag.ended == {}


async def test_a_machine_whose_worker_never_joins_is_stopped_and_explained_by_its_log(
    tmp_path: Path,
) -> None:
    """It counts as failed, though its back end says that it went as it was told."""
    async with world(tmp_path, join_seconds=5.0) as here:
        here.start(1)
        await eventually(lambda: here.backend.asked)
        here.backend.says[MachineId(1)] = Sighting(State.UP, charged_seconds=6.0)
        await eventually(lambda: here.bag.ended)
        cause, detail = here.bag.ended[MachineId(1)]
        assert cause is Cause.FAILED
        assert detail.splitlines() == [
            "its worker did not join within 5 s; its log ends:",
            "machine 1:",
            "no such file: python3",
        ]


async def test_a_machine_that_is_taken_away_soon_is_announced_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.start(1)
        await eventually(lambda: here.backend.asked)
        here.backend.says[MachineId(1)] = Sighting(
            State.STOPPING, charged_seconds=1.0, detail="spot instance interrupted at 12:02"
        )
        await eventually(lambda: here.bag.announcements)
        await asyncio.sleep(0.2)
        assert here.bag.announcements == ["spot instance interrupted at 12:02"]
