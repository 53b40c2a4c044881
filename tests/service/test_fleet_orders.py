"""The fleet by itself: whom it asks for machines, what it tells bags, what it finds left over."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest
from helpers.around_bags import RENTED, Store, Workers, surroundings, ten_tasks
from helpers.service import eventually

from bats.common.errors import BatsError
from bats.common.messages import BagId, MachineId
from bats.common.ticket import Ticket
from bats.deploy.protocol import Orphan, Sighting, Site, State
from bats.master.bag_states import RUNNING
from bats.master.brain.protocol.events import Begin, Cancelled
from bats.master.queries.replay import UNHEARD_OF, Replayed
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.orphans import Handling
from bats.master.service.options import Options, place_of
from bats.master.service.wire.admission import Admission

BAG = BagId(1)
NOBODYS = MachineId(7_000_001)


class BackEnd:
    """Has what it was asked for, and perhaps a machine that nobody asked for."""

    def __init__(self) -> None:
        self.asked: list[MachineId] = []
        self.stopped: list[MachineId] = []
        self.ours: list[Orphan] = []
        self.mute = ""

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        self.asked += [ticket.machine for ticket in tickets]
        return {ticket.machine: Sighting(State.UP, "host-7") for ticket in tickets}

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        return {machine: Sighting(State.UP, "host-7") for machine in machines}

    async def stop(self, machines: Sequence[MachineId]) -> None:
        self.stopped += machines

    async def list_ours(self) -> list[Orphan]:
        if self.mute:
            raise BatsError(self.mute)
        return self.ours

    async def log(self, _: MachineId) -> str:
        return ""

    async def close(self) -> None: ...


class Files:
    def gone(self, _: MachineId) -> None: ...

    def forget(self, _: MachineId) -> list[object]:
        return []

    async def fetched(self, *_: object) -> None: ...


class Bench:
    def __init__(self, folder: Path) -> None:
        self.back_end, self.store = BackEnd(), Store()
        workers, files = Workers(), Files()
        self.fleet = Fleet(
            Options(state=folder, backends={place_of(RENTED): self.back_end}),
            Site("master", str(folder), ("worker",)),
            Admission("client", "hand"),
            self.store,
            workers,
            files,
            ("tcp://127.0.0.1:1",),
            "key",
        )
        around = surroundings(self.store, workers, self.fleet, files)
        bag = ten_tasks(BAG, folder, state=RUNNING, began=0.0)
        self.runner = Runner(bag, around, 0.0, Replayed.of(bag, (), UNHEARD_OF))
        self.runner.happen(Begin())

    @property
    def wanted(self) -> list[MachineId]:
        return [known.id for known in self.runner.engine.alive()]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.runner.close()
    await made.fleet.close()


async def test_the_back_end_of_an_offering_is_asked_for_what_its_bag_wants(bench: Bench):
    wanted = bench.wanted
    bench.store.commit()
    await eventually(lambda: bench.back_end.asked == wanted)


async def test_machines_called_off_before_they_were_asked_for_are_never_asked_for(bench: Bench):
    bench.runner.happen(Cancelled("enough"))
    bench.store.commit()
    await asyncio.sleep(0.05)
    assert bench.back_end.asked == []
    reasons = {row.reason for row in bench.runner.machines.rows.values()}
    assert reasons == {"not needed any more"}
    assert bench.runner.engine.over


async def test_an_offering_whose_back_end_is_unknown_is_set_aside_with_the_reason(bench: Bench):
    def unknown(_: object) -> None:
        raise BatsError("There is no back end `moon`.")

    bench.fleet._backend = unknown
    bench.store.commit()
    (cluster,) = bench.runner.engine.view().clusters
    assert cluster.set_aside == "There is no back end `moon`."
    assert bench.wanted == []


async def test_a_machine_that_no_bag_knows_is_told_and_stopped_only_when_that_is_wanted(
    bench: Bench,
):
    bench.back_end.ours = [Orphan(NOBODYS, "rented", "host-9", 60.0)]
    found, mute = await bench.fleet.orphans([RENTED], {BAG: bench.runner}, Handling.LOOK)
    assert [(one.number, one.done, one.lost) for one in found] == [
        (NOBODYS, "", "bag 7 does not run")
    ]
    assert (mute, bench.back_end.stopped) == ({}, [])
    ((one,), _) = await bench.fleet.orphans([RENTED], {BAG: bench.runner}, Handling.STOP)
    assert (one.done, bench.back_end.stopped) == ("stopped", [NOBODYS])


async def test_machines_in_its_books_are_no_orphans(bench: Bench):
    bench.store.commit()
    await eventually(lambda: bench.back_end.asked)
    bench.back_end.ours = [Orphan(one, "rented", "", 1.0) for one in bench.back_end.asked]
    assert await bench.fleet.orphans([RENTED], {BAG: bench.runner}, Handling.STOP) == ([], {})


async def test_a_back_end_that_does_not_say_is_told_with_its_reason(bench: Bench):
    bench.back_end.mute = "squeue: cannot contact the controller"
    answer = await bench.fleet.orphans([RENTED], {}, Handling.LOOK)
    assert answer == ([], {"rented": "squeue: cannot contact the controller"})


async def test_all_machines_are_stopped_at_once_for_a_user_who_wants_to_leave(bench: Bench):
    bench.store.commit()
    await eventually(lambda: bench.back_end.asked)
    await asyncio.wait_for(bench.fleet.abandon(), 5)
    assert sorted(bench.back_end.stopped) == sorted(bench.back_end.asked)
