"""The master, put together: state folder, keys, socket, store, bags, fleet; serving until told."""

import asyncio
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
import zmq

from bats.common.errors import BatsError, StoreDamagedError
from bats.common.messages import BlobChunk, BlobStored, MachineId, Request, WantBlob
from bats.common.release import release
from bats.common.wire.keys import Access, read_access
from bats.deploy.protocol import Site
from bats.master.addresses import addresses
from bats.master.api import replies
from bats.master.brain.protocol.events import Hampered
from bats.master.policy_packages import import_policies
from bats.master.service.api.answering import Requests
from bats.master.service.bags.queue import Bags
from bats.master.service.closing import Closing
from bats.master.service.disk import Disks
from bats.master.service.home import ACCESS, Home
from bats.master.service.late_modules import load_of_all, load_of_plans
from bats.master.service.machines.enrolment import Enrolment
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.reception import Reception
from bats.master.service.machines.worker_reports import WorkerReports
from bats.master.service.machines.workers import Workers
from bats.master.service.options import Options
from bats.master.service.transfers import Files
from bats.master.service.wire.admission import Admission, Peer, Role
from bats.master.service.wire.authenticator import Authenticator
from bats.master.service.wire.budgets import Allowance, Budgets, allowance
from bats.master.service.wire.hand_keys import FILE as KEYS_BY_HAND
from bats.master.service.wire.hand_keys import HandKey, HandKeys
from bats.master.service.wire.inbox import Inbox
from bats.master.service.wire.router import Router
from bats.master.store.blobs import Blobs
from bats.master.store.store import Store
from bats.master.store.writing.group_commit import Trouble

if TYPE_CHECKING:
    from bats.master.web.server import WebPage

_FILES: Final = 65_536
_LATE_SECONDS: Final = 1.0  # the first tasks come before what is only needed later
_DISK_SECONDS: Final = 1.0
_WRITING_SECONDS: Final = 10.0  # for a change to be written down; then its user is told
_LAG_SECONDS: Final = 0.25  # how often the loop's own lateness is measured

log = structlog.get_logger()


class Master:
    """A master that has opened all it needs and listens; `serving` makes one, and closes it."""

    def __init__(self, options: Options, closing: Closing) -> None:
        self.options = options
        self.release = release()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._started = time.monotonic()
        self._lag = 0.0
        self._trouble = ""  # of the store
        self.home = home = Home(options.state)
        self.store = Store(home.folder, self.release, self._on_trouble)
        closing.then(self.store.close)
        if options.restored and self.store.take_identity():
            log.warning("this copy of a store is a master of its own now", id=self.store.master_id)
        self.blobs = Blobs(home.folder)
        self.disks = Disks((home.folder, options.output_folder), options.reserve_bytes)
        self.admission = Admission(home.client.public, home.worker.public)
        for name, pair in home.users.items():
            self.admission.admit_user(name, pair.public)
        self.budgets = Budgets()
        self.hand_keys = HandKeys(home.folder / "keys" / KEYS_BY_HAND)
        for one in self.hand_keys.all():
            self.admission.admit_by_hand(one.key)
        _allow_many_connections()
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        closing.then(context.term)
        self.authenticator = Authenticator(
            context,
            lambda key: self.admission.peer(key) is not None and not self.budgets.is_out(key),
        )
        closing.then(self.authenticator.close)
        site = Site(self.store.master_id, str(home.folder), options.worker_command)
        self.router = Router(context, home.server, self._allowance)
        closing.then(self.router.close)
        self.port = self.router.bind(options.bind, self._port())
        self.addresses = addresses(options.bind, options.reach, self.port)
        self.workers = Workers(
            self.router,
            self.store,
            self.release,
            options.heartbeat_seconds,
        )
        self.files = Files(self.blobs, self.router, self.workers.route_of, self.disks.check_room)
        closing.then(self.files.close)
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
        closing.then(self.fleet.close)
        import_policies()
        self.bags = Bags(options, self.store, self.workers, self.fleet, self.admission, self.files)
        closing.then(self.bags.messenger.close, self.bags.close)
        self.reports = WorkerReports(
            self.workers,
            self.store,
            Reception(self.bags, self.store, self.workers, self.fleet, self.files),
            options.heartbeat_seconds,
            options.silence_seconds,
        )
        closing.then(self.reports.close)
        self.requests = Requests(self, self.router)
        closing.then(self.requests.close)
        with self.store.reader() as reader:
            enrolment = Enrolment(
                reader.machines(),
                lambda: self.bags.owners,
                self.store,
                self.workers,
                self.admission,
                self.hand_keys,
            )
        self.inbox = Inbox(
            self.router,
            self.admission,
            self.workers,
            self.reports,
            enrolment,
            self,
            self.release,
            self.budgets,
        )
        home.publish(self.addresses, self.port)
        with self.store.reader() as reader:
            self.bags.restore(reader)
        self._loop.run_in_executor(None, self.blobs.drop_leftovers)
        self.router.serve(self.inbox.hear, self.reports.lost)
        self._lag_timer = self._loop.call_later(_LAG_SECONDS, self._measure_lag, self._loop.time())
        self._late = self._loop.call_later(_LATE_SECONDS, self._load_late)
        self._mind_disks()
        closing.then(self._stop_timers)
        self.web = self._page(closing)
        log.info(
            "master listens",
            addresses=list(self.addresses),
            access=str(home.folder / ACCESS),
            master=self.store.master_id,
            release=self.release,
        )

    def _page(self, closing: Closing) -> "WebPage | None":
        """The web page, if wanted; else its code is not even loaded."""
        if self.options.web_port is None:
            return None
        from bats.master.web.server import WebPage

        page = WebPage(self)
        closing.then(page.close)
        return page

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
        """Return when all changes are durable; raise if that takes too long, as on a full disk."""
        try:
            async with asyncio.timeout(_WRITING_SECONDS):
                await asyncio.shield(asyncio.ensure_future(self.store.committed()))
        except TimeoutError:
            raise BatsError(
                f"It could not be written down yet: {self._trouble or 'the disk is slow.'} It "
                "will be done when it can, unless the master ends before."
            ) from None

    def waiting(self, machine: MachineId) -> tuple[str, str, str]:
        return self.fleet.waiting(machine)

    def snapshot(self) -> replies.Snapshot:
        """Numbers for whoever watches: metrics, a status page."""
        return {
            "release": self.release,
            "master": self.store.master_id,
            "addresses": list(self.addresses),
            "up_seconds": time.monotonic() - self._started,
            "lag_seconds": self._lag,
            "trouble": self.trouble,
            "messages": self.router.messages,
            "refused": {
                "keys": self.authenticator.refused,
                "handshakes": self.router.connections.refused,
                "messages": self.inbox.refused + self.router.malformed,
            },
            "store_backlog": self.store.backlog,
            "workers": self.workers.snapshot(),
            **self.bags.snapshot(),
        }

    def is_there(self, machine: MachineId) -> bool:
        """True of a worker that has a connection."""
        return self.workers.route_of(machine) is not None

    def lock_out(self, named: str) -> HandKey:
        """Revoke the key of one worker started by hand; the others stay.

        It knew the invitation too, so that is another one from now on.
        """
        gone = self.hand_keys.revoke(named)
        self.admission.lock_out(gone.key, self.home.invite_anew().public)
        self.home.publish(self.addresses, self.port)
        self.reports.turn_out(gone.machine, "its key was revoked")
        log.warning("a worker's key is revoked", key=gone.short, machine=gone.machine)
        return gone

    # --- what the inbox hands on ------------------------------------------------------------------

    def users(self) -> list[str]:
        return list(self.home.users)

    def invite(self, user: str) -> Path:
        """Another client's key, which carries this name; its access file."""
        self.admission.admit_user(user, self.home.add_user(user).public)
        self.home.publish(self.addresses, self.port)
        log.info("a user has a key", user=user)
        return self.home.access_of(user)

    def dismiss(self, user: str) -> None:
        """Lock out who has the key of this name; bags of theirs go on."""
        self.admission.lock_out_user(self.home.drop_user(user).public)
        log.warning("a user's key is revoked", user=user)

    def request(self, route: bytes, request: Request, user: str) -> None:
        self.requests.take(route, request, user)

    def file(self, route: bytes, peer: Peer, message: WantBlob | BlobChunk | BlobStored) -> bool:
        """True if it was of use."""
        worker = self.workers.on(route)
        match message:
            case WantBlob():
                if worker is not None:
                    self.files.wanted(worker.machine, message)
                return self.files.give(route, message)
            case BlobChunk() if peer.role is Role.CLIENT:
                self.files.take_from_client(route, message)
                return True
            case BlobChunk() if worker is not None:
                return self.files.take_from_machine(worker.machine, message)
            case BlobStored(sha256, 0) if worker is not None:
                self.files.not_there(worker.machine, sha256)
            case BlobStored() if worker is not None:
                self.files.came(worker.machine, message)
        return False

    def _allowance(self, key: str) -> Allowance:
        return allowance(self.admission.peer(key))

    # --- what may happen --------------------------------------------------------------------------

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
            self.fail(StoreDamagedError(trouble.sentence))
        else:
            self._pause()

    @property
    def trouble(self) -> str:
        """The reason why nothing new is begun; "" if none."""
        return self._trouble or self.disks.low

    def _pause(self) -> None:
        self.workers.pause(bool(self.trouble))

    def _mind_disks(self) -> None:
        self._minding = self._loop.call_later(_DISK_SECONDS, self._mind_disks)
        if self.disks.look():
            if self.disks.low:
                log.error("only what runs is finished", reason=self.disks.low)
            else:
                log.info("there is room on the disk again")
            self._pause()
        for runner in list(self.bags.running.values()):
            if bool(runner.engine.hampered) != bool(self.trouble):
                runner.happen(Hampered(self.trouble))

    def fail(self, error: BaseException) -> None:
        """End: what is told to the store is not kept."""
        if not self.ended.done():
            self.ended.set_exception(error)

    def _load_late(self) -> None:
        self._loop.run_in_executor(None, load_of_all)
        self._load_for_plans()

    def _load_for_plans(self) -> None:
        """Load the modules that planning will need, so that it does not have to wait for them.

        Where all is free nothing is planned: a fifth of a second would be lost to the tasks.
        """
        running = self.bags.running.values()
        if any(not one.free for runner in running for one in runner.bag.settings.offerings):
            self._loop.run_in_executor(None, load_of_plans)
        else:
            self._late = self._loop.call_later(_LATE_SECONDS, self._load_for_plans)

    def _stop_timers(self) -> None:
        for timer in (self._minding, self._lag_timer, self._late):
            timer.cancel()

    def _measure_lag(self, last: float) -> None:
        now = self._loop.time()
        self._lag = max(0.0, now - last - _LAG_SECONDS)
        self._lag_timer = self._loop.call_later(_LAG_SECONDS, self._measure_lag, now)


@asynccontextmanager
async def serving(options: Options) -> AsyncIterator[Master]:
    """A master that serves as long as the block lasts; `master.access` reaches it."""
    closing = Closing()
    try:
        master = Master(options, closing)
        if master.web:
            await master.web.start()
        yield master
    finally:
        await closing.close()


async def serve(options: Options, ready: Callable[[Master], None] = lambda _: None) -> None:
    """Serve until a signal or a client ends it. Machines live on as long as their lease."""
    async with serving(options) as master:
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
