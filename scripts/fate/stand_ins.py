"""Stand-ins for sockets, processes, clocks, chance and the disk's syncs."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import zmq
from zmq.utils import z85

import bats.master.queries.replay as replay_module
import bats.master.service.master as master_module
import bats.master.service.wire.inbox as inbox_module
import bats.worker.link.session as session_module
import bats.worker.lobby as lobby_module
import bats.worker.tasks.attempts as attempts_module
from bats.common.messages import AttemptId, MachineId
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.store.blobs import Blobs
from bats.master.store.writing.writer import Writer
from bats.worker.files.library import Library
from bats.worker.tasks.shared_output import SharedOutput
from bats.worker.tasks.spawn import Recipe
from fate.kernel import Reaper
from fate.network import MasterEnd, WorkerEnd
from fate.timeline import clocks_of

if TYPE_CHECKING:
    from fate.world import World


@contextmanager
def stand_ins(world: "World") -> Iterator[None]:
    """Stand-ins for sockets, processes, clocks, chance and the disk's syncs."""
    kernel, network, disk = world.kernel, world.network, world.disk
    draw = world.draw_secret

    def pair() -> tuple[bytes, bytes]:
        return tuple(z85.encode(draw(32)) for _ in range(2))  # type: ignore[return-value]

    def recipe_start(_: Any, attempt: AttemptId, _values: Any, slot: Any, *_more: Any) -> int:
        return kernel.start(attempt, slot)

    def router(*_: Any) -> MasterEnd:
        return MasterEnd(network)

    def link(*args: Any) -> WorkerEnd:
        return WorkerEnd(network, *args)

    lease, welcome = Workers.lease, Workers.welcome

    def leased(workers: Workers, machine: MachineId, seconds: float) -> None:
        world.provider.leased(machine, seconds)
        lease(workers, machine, seconds)

    def welcomed(workers: Workers, worker: Worker, seconds: float) -> None:
        world.provider.leased(worker.machine, seconds)
        welcome(workers, worker, seconds)

    nothing = SimpleNamespace(term=lambda: None)
    usable = world.story.shared
    with ExitStack() as stack:
        put = lambda *a: stack.enter_context(mock.patch.object(*a))  # noqa: E731
        stack.enter_context(clocks_of(world.loop))
        put(os, "fsync", disk.fsync)
        put(os, "urandom", draw)
        put(os, "wait4", kernel.wait)
        put(secrets, "token_hex", lambda n=8: draw(n).hex())
        put(zmq, "curve_keypair", pair)
        put(master_module, "Router", router)
        put(
            master_module,
            "Authenticator",
            lambda _, admits: SimpleNamespace(close=lambda: None, refused=0, admits=admits),
        )
        put(master_module.zmq, "Context", lambda: nothing)
        put(master_module, "_allow_many_connections", lambda: None)
        put(master_module, "_is_free", lambda *_: True)
        put(inbox_module, "perf_counter", world.loop.time)
        put(master_module, "import_policies", lambda: None)
        put(replay_module, "import_policies", lambda: None)
        put(session_module, "Connection", link)
        put(session_module, "release", lambda: "0")
        put(master_module, "release", lambda: "0")
        put(session_module, "adopt_orphans", lambda: None)
        put(session_module, "bury_orphans", lambda _: None)
        put(session_module, "end_descendants", lambda _: [])
        put(attempts_module, "reaper", lambda _, ended: Reaper(kernel, ended))
        put(attempts_module, "signal_group", kernel.signal)
        put(lobby_module, "group_lives", lambda _: False)
        put(attempts_module, "descendants", lambda _: [])
        put(attempts_module, "strangers", lambda _: [])
        put(Recipe, "start", recipe_start)
        put(SharedOutput, "usable", lambda _: usable)
        put(Workers, "lease", leased)
        put(Workers, "welcome", welcomed)
        put(shutil, "copyfile", world.outputs.write(disk.write(shutil.copyfile)))
        put(Blobs, "receive", disk.write(Blobs.receive))
        for keeper, name in ((Library, "put"), (Library, "take"), (SharedOutput, "put")):
            put(keeper, name, world.workers_disk.write(getattr(keeper, name)))
        put(Writer, "write", disk.commit(Writer.write))
        yield
