"""The master, put together: state folder, keys, socket, store, bags, fleet; serving until told."""

import asyncio
import resource
import signal
import socket
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import structlog
import zmq

from bats.common.errors import StoreDamagedError
from bats.common.messages import BlobChunk, BlobStored, MachineId, Request, WantBlob
from bats.common.wire.keys import Access, read_access
from bats.deploy.protocol import Site
from bats.master.addresses import addresses
from bats.master.bag import PAUSED
from bats.master.policy_packages import import_policies
from bats.master.service.api.requests import Requests
from bats.master.service.bags.queue import Bags
from bats.master.service.home import ACCESS, Home
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.workers import Workers
from bats.master.service.options import Options
from bats.master.service.transfers import Files
from bats.master.service.wire.admission import Admission, Peer, Role
from bats.master.service.wire.authenticator import Authenticator
from bats.master.service.wire.inbox import Inbox
from bats.master.service.wire.router import Heard, Router
from bats.master.store.blobs import Blobs
from bats.master.store.store import Store
from bats.master.store.writing.group_commit import Trouble

if TYPE_CHECKING:
    from bats.master.web.server import WebPage

_FILES: Final = 65_536
_LATE_SECONDS: Final = 1.0  # the first tasks come before what is only needed later
_LAG_SECONDS: Final = 0.25  # how often the loop's own lateness is measured

log = structlog.get_logger()


class Master:
    """A master, used as `async with Master(options) as master`; then `master.access` reaches it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.release = version("bats-scheduler")
        self.web: WebPage  # when the options ask for one
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._started = time.monotonic()
        self._lag = 0.0
        self._trouble = ""
        self._closers: list[Callable[[], Any]] = []

    async def __aenter__(self) -> Self:
        try:
            self._open()
            await self._open_web()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    def _open(self) -> None:
        options = self.options
        self.home = home = Home(options.state)
        self.store = Store(home.folder, self.release, self._on_trouble)
        self._closers.append(self._close_store)
        self.blobs = Blobs(home.folder)
        self.admission = Admission(home.client.public, home.worker.public)
        _allow_many_connections()
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._closers.append(context.term)
        self.authenticator = Authenticator(
            context, lambda key: self.admission.peer(key) is not None
        )
        self._closers.append(self.authenticator.close)
        site = Site(self.store.master_id, str(home.folder), options.worker_command)
        self.router = Router(context, home.server, self._hear, self._lost)
        self._closers.append(self.router.close)
        self.port = self.router.bind(options.bind, self._port())
        self.addresses = addresses(options.bind, options.reach, self.port)
        self.workers = Workers(
            self.router,
            self.store,
            self.release,
            options.heartbeat_seconds,
            options.silence_seconds,
        )
        self._closers.append(self.workers.close)
        self.files = Files(self.blobs, self.router, self.workers.route_of)
        self._closers.append(self.files.close)
        self.fleet = Fleet(
            options,
            site,
            self.admission,
            self.store,
            self.workers,
            self.files,
            self.addresses,
            home.server.public,
        )
        self._closers.append(self.fleet.close)
        self.bags = Bags(options, self.store, self.workers, self.fleet, self.admission, self.files)
        self.workers.listener = self.bags
        self._closers.append(self.bags.close)
        self.requests = Requests(self, self.router)
        self._closers.append(self.requests.close)
        self.inbox = Inbox(self.router, self.admission, self.workers, self, self.release)
        home.publish(self.addresses, self.port)
        import_policies()
        with self.store.reader() as reader:
            self.bags.restore(reader)
        self._lag_timer = self._loop.call_later(_LAG_SECONDS, self._measure_lag, self._loop.time())
        self._closers.append(self._stop_measuring)
        late = self._loop.call_later(_LATE_SECONDS, self._load_late)
        self._closers.append(late.cancel)
        log.info(
            "master listens",
            addresses=list(self.addresses),
            access=str(home.folder / ACCESS),
            master=self.store.master_id,
            release=self.release,
        )

    async def _open_web(self) -> None:
        """The web page, if wanted; else its code is not even loaded."""
        if self.options.web_port is not None:
            from bats.master.web.server import WebPage

            self.web = WebPage(self)
            self._closers.append(self.web.close)
            await self.web.start()

    async def _close(self) -> None:
        """Close in the opposite order of opening; failures are told, and the rest is closed too."""
        while self._closers:
            close = self._closers.pop()
            try:
                waiting = close()
                if waiting is not None:
                    await waiting
            except StoreDamagedError as error:
                log.warning("store not closed in order", reason=str(error))
            except Exception:
                log.exception("not closed in order")

    async def _close_store(self) -> None:
        await self.store.close()

    def _port(self) -> int:
        if self.options.port:
            return self.options.port
        last = self.home.last_port()
        return last if last and _is_free(self.options.bind, last) else 0

    # --- for those who are in the same process ----------------------------------------------------

    @property
    def access(self) -> Access:
        """Addresses and keys with which a client can speak to this master."""
        return read_access(self.home.folder / ACCESS, "client")

    def shut_down(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)

    async def committed(self) -> None:
        await self.store.committed()

    def waiting(self, machine: MachineId) -> tuple[str, str, str]:
        return self.fleet.waiting(machine)

    def snapshot(self) -> dict[str, Any]:
        """Numbers for whoever watches: metrics, a status page."""
        running = self.bags.running
        run = running.engine.headline() if running else None
        return {
            "release": self.release,
            "master": self.store.master_id,
            "addresses": list(self.addresses),
            "up_seconds": time.monotonic() - self._started,
            "lag_seconds": self._lag,
            "trouble": self._trouble,
            "messages": self.router.messages,
            "refused": {
                "keys": self.authenticator.refused,
                "handshakes": self.router.connections.refused,
                "messages": self.inbox.refused + self.router.malformed,
            },
            "store_backlog": self.store.backlog,
            "workers": [
                {
                    "machine": worker.machine,
                    "host": worker.host,
                    "slots": worker.slots,
                    "running": len(worker.running),
                    "silent": worker.silent,
                    "heard_seconds_ago": self._loop.time() - worker.heard_at,
                }
                for worker in self.workers.all()
            ],
            "running_bag": running.id if running else None,
            "queued_bags": sorted(
                bag.id
                for bag in self.bags.known.values()
                if bag.state != PAUSED and not (running and bag.id == running.id)
            ),
            "paused_bags": sorted(
                bag.id
                for bag in self.bags.known.values()
                if bag.state == PAUSED or (running and bag.id == running.id and running.paused)
            ),
            "tasks": dict(zip(_TASK_STATES, run.counts, strict=True)) if run else {},
            "committed": run.committed if run else 0,
            "settled": run.settled if run else 0,
            "limit": run.limit if run else None,
        }

    # --- what the inbox hands on ------------------------------------------------------------------

    def number_by_hand(self, wanted: MachineId) -> MachineId:
        return self.bags.number_by_hand(wanted)

    def enroll(self, machine: MachineId, key: str, done: Callable[[], None]) -> bool:
        return self.bags.enroll(machine, key, done)

    def request(self, route: bytes, request: Request) -> None:
        self.requests.take(route, request)

    def file(self, route: bytes, peer: Peer, message: WantBlob | BlobChunk | BlobStored) -> None:
        worker = self.workers.on(route)
        match message:
            case WantBlob():
                self.files.give(route, message)
            case BlobChunk() if peer.role is Role.CLIENT:
                self.files.take_from_client(route, message)
            case BlobChunk() if worker is not None:
                self.files.take_from_machine(worker.machine, message)
            case BlobStored(sha256, 0) if worker is not None:
                self.files.not_there(worker.machine, sha256)

    # --- what may happen --------------------------------------------------------------------------

    def _hear(self, batch: list[Heard]) -> None:
        try:
            self.inbox.hear(batch)
        except StoreDamagedError as error:
            self._fail(error)
        except Exception:
            log.exception("a message could not be taken in")

    def _lost(self, route: bytes) -> None:
        self.workers.lost(route)

    def _on_trouble(self, trouble: Trouble | None) -> None:
        """The store cannot write: begin nothing new; if that does not pass, end."""
        self._trouble = trouble.sentence if trouble else ""
        if trouble is None:
            log.info("the store can be written again")
        else:
            log.error(
                "the store cannot be written", reason=trouble.sentence, passing=trouble.passing
            )
        if trouble is not None and not trouble.passing:
            self._fail(StoreDamagedError(trouble.sentence))
        else:
            self.workers.pause(trouble is not None)

    def _fail(self, error: BaseException) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)

    def _load_late(self) -> None:
        """Load the modules that planning will need, so that it does not have to wait for them."""
        self._loop.run_in_executor(None, import_module, "scipy.special")

    def _stop_measuring(self) -> None:
        self._lag_timer.cancel()

    def _measure_lag(self, last: float) -> None:
        now = self._loop.time()
        self._lag = max(0.0, now - last - _LAG_SECONDS)
        self._lag_timer = self._loop.call_later(_LAG_SECONDS, self._measure_lag, now)


_TASK_STATES: Final = ("waiting", "running", "done", "failed", "dropped")


async def serve(options: Options, ready: Callable[[Master], None] = lambda _: None) -> None:
    """Serve until a signal or a client ends it. Machines live on as long as their lease."""
    async with Master(options) as master:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, master.shut_down, f"{number.name} received")
        try:
            ready(master)
            log.info("master ends", reason=await master.ended)
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def _allow_many_connections() -> None:
    """Each takes a file; the soft limit is often as low as 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_free(host: str, port: int) -> bool:
    """True if a port is free; that of a master that was just killed is so at once."""
    where = "" if host == "*" else host.strip("[]")
    family = socket.AF_INET6 if ":" in where else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((where, port))
        except OSError:
            return False
    return True
