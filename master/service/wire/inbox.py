"""The inbox of every message: who says it, whether they may, and who is to hear it."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Final, Protocol

import structlog

from bats.common.errors import StoreDamagedError
from bats.common.messages import (
    BlobChunk,
    BlobStored,
    Enroll,
    Glimpse,
    Goodbye,
    Heartbeat,
    Hello,
    MachineId,
    Refused,
    Request,
    Results,
    Returned,
    WantBlob,
    Welcome,
)
from bats.common.wire.codec import Message, ProtocolError, VersionError, decode, encode, name_of
from bats.common.wire.keys import is_key
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.worker_reports import WorkerReports
from bats.master.service.machines.workers import Workers
from bats.master.service.wire.admission import Admission, Peer, Role
from bats.master.service.wire.budgets import SPONSORED, Budgets, is_shared
from bats.master.service.wire.log_limit import LogLimit
from bats.master.service.wire.router import Heard, Router

_MOST_MALFORMED: Final = 50  # then the connection is not listened to any more
_MOST_SECONDS: Final = 0.1  # held against it for a message: one Hello may have all planned anew
_READING_SECONDS: Final = 5e-6  # of any message, before it comes here
_SECONDS_A_BYTE: Final = 4e-9  # of taking it in and decrypting it
_LARGEST_OF_WORKER: Final = 4 << 20

_OF_WORKERS: Final[frozenset[type]] = frozenset(
    {Hello, Enroll, Heartbeat, Results, Returned, Glimpse, Goodbye, WantBlob, BlobChunk, BlobStored}
)
_MAY_SAY: Final[Mapping[Role, frozenset[type]]] = {
    Role.CLIENT: frozenset({Request, WantBlob, BlobChunk}),
    Role.HAND: _OF_WORKERS,
    Role.MACHINE: _OF_WORKERS,
}

log = structlog.get_logger()


class Enrolment(Protocol):
    """The knowledge of who a worker is."""

    def number_by_hand(self, key: str, hello: Hello) -> MachineId: ...

    def enroll_by_hand(self, key: str) -> bool: ...

    def enroll(self, machine: MachineId, key: str, done: Callable[[], None]) -> bool: ...

    def came_with(self, machine: MachineId, key: str) -> None: ...


class Handlers(Protocol):
    """Handlers of all that is not a worker's daily word."""

    def request(self, route: bytes, request: Request, user: str) -> None: ...

    def fail(self, error: BaseException) -> None: ...

    def file(
        self, route: bytes, peer: Peer, message: WantBlob | BlobChunk | BlobStored
    ) -> bool: ...


class Inbox:
    def __init__(
        self,
        router: Router,
        admission: Admission,
        workers: Workers,
        reports: WorkerReports,
        enrolment: Enrolment,
        handlers: Handlers,
        release: str,
        budgets: Budgets | None = None,
    ) -> None:
        self._router = router
        self._admission = admission
        self._workers = workers
        self._reports = reports
        self._enrolment = enrolment
        self._handlers = handlers
        self._release = release
        self._budgets = budgets or Budgets()
        self._log_limit = LogLimit()
        self._malformed: dict[bytes, int] = {}
        self.refused = 0

    def hear(self, batch: list[Heard]) -> None:
        """All that came in one turn; a message that is no good harms none of the others."""
        try:
            self._hear_all(batch)
            self._reports.end_turn()
        except StoreDamagedError as error:
            self._handlers.fail(error)

    def _hear_all(self, batch: list[Heard]) -> None:
        for heard in batch:
            if self._budgets.is_out(heard.key):
                continue
            if self._malformed and self._malformed.get(heard.route, 0) >= _MOST_MALFORMED:
                continue
            peer = self._admission.peer(heard.key)
            if peer is None:
                self._refuse(heard, "a revoked key", "this key is not valid any more", known=False)
                continue
            began, useful = perf_counter(), False
            try:
                useful = self._hear_one(heard, peer)
            except StoreDamagedError:
                raise
            except Exception:
                log.exception("a message could not be taken in", peer=str(peer))
            if not useful and peer.role is not Role.CLIENT:
                reading = _READING_SECONDS + len(heard.frame) * _SECONDS_A_BYTE
                took = min(perf_counter() - began, _MOST_SECONDS)
                self._waste(heard, peer, took + reading)

    def _waste(self, heard: Heard, peer: Peer, seconds: float) -> None:
        """Hold against a key what its message took for nothing."""
        if pause := self._budgets.waste(heard.key, seconds, shared=is_shared(peer)):
            self._shut_out(heard, peer, pause)

    def _shut_out(self, heard: Heard, peer: Peer, seconds: float) -> None:
        why = "what it says is of no use, and takes the master's time"
        log.warning("shut out", peer=str(peer), key=heard.key[:8], why=why, seconds=seconds)
        self._router.connections.hang_up_on(heard.key)
        if peer.own:  # else it would come again and again, with a new key each time
            self._budgets.waste(self._admission.invitation, SPONSORED, shared=True)

    def _hear_one(self, heard: Heard, peer: Peer) -> bool:
        """True if it was of use."""
        try:
            message = _decode(heard.frame, peer)
        except VersionError as error:
            self._refuse(heard, str(peer), str(error))
            return False
        except ProtocolError as error:
            said = self._malformed[heard.route] = self._malformed.get(heard.route, 0) + 1
            if said >= _MOST_MALFORMED and peer.role is not Role.CLIENT:
                self._shut_out(heard, peer, self._budgets.shut_out(heard.key))
            if len(self._malformed) > _MOST_MALFORMED * 1000:
                self._malformed.clear()
            self._note(heard, str(peer), str(error))
            return False
        if type(message) not in _MAY_SAY[peer.role]:
            what = type(message).__name__
            self._refuse(heard, str(peer), f"{peer} may not say {what}: use another access file")
            return False
        return self._take(heard, peer, message)

    def _take(self, heard: Heard, peer: Peer, message: Message) -> bool:
        route = heard.route
        match message:
            case Request():
                self._handlers.request(route, message, peer.user)
                return True
            case Hello():
                self._hello(heard, peer, message)
                return False
            case Enroll():
                self._enroll(heard, peer, message)
                return False
            case WantBlob() | BlobChunk() | BlobStored():
                return self._handlers.file(route, peer, message)
        worker = self._workers.on(route)
        if worker is None:  # it has a newer connection, or has not said Hello
            known = peer.role is not Role.MACHINE or self._workers.of(peer.machine) is not None
            if isinstance(message, Heartbeat) and not known:
                self._send(route, Refused("say Hello first: you had been forgotten", retry=True))
            return False
        rule = _RULES.get(type(message))
        return rule is not None and bool(rule(self._reports, worker, message))

    def _hello(self, heard: Heard, peer: Peer, hello: Hello) -> None:
        if hello.slots < 1 or hello.slots > 100_000:
            self._refuse(heard, str(peer), f"a worker cannot have {hello.slots} slots")
        elif peer.role is Role.HAND:
            known = self._workers.on(heard.route)
            machine = known.machine if known else self._enrolment.number_by_hand(heard.key, hello)
            self._reports.greet(heard.route, machine, hello)
        elif hello.machine != peer.machine:
            self._refuse(
                heard, str(peer), f"this is the key of {peer}, not of machine {hello.machine}"
            )
        else:
            if peer.ticket:
                self._enrolment.came_with(peer.machine, heard.key)
            self._reports.greet(heard.route, peer.machine, hello)

    def _enroll(self, heard: Heard, peer: Peer, enroll: Enroll) -> None:
        """Trade the ticket's key, which others may have seen, for one that only the machine has."""
        key = enroll.public_key.decode("ascii", errors="replace")
        if peer.role is Role.HAND:
            if is_key(key) and self._enrolment.enroll_by_hand(key):
                self._send(heard.route, Welcome(self._release, 5.0, 60.0))
            else:
                self._refuse(heard, str(peer), "that key is another's, or there are too many")
            return
        if not peer.ticket or enroll.machine != peer.machine or not is_key(key):
            self._refuse(heard, str(peer), "this ticket has been used, or is another machine's")
            return

        def done() -> None:
            self._send(heard.route, Welcome(self._release, 5.0, 60.0, peer.machine))

        if self._enrolment.enroll(peer.machine, key, done):
            log.info("machine has a key of its own", machine=peer.machine)
        else:
            self._refuse(heard, str(peer), "that key is known already as another's")

    # --- refusing ---------------------------------------------------------------------------------

    def _refuse(self, heard: Heard, who: str, why: str, *, known: bool = True) -> None:
        self._note(heard, who, why)
        if known:
            self._send(heard.route, Refused(why))

    def _note(self, heard: Heard, who: str, why: str) -> None:
        self.refused += 1
        if self._log_limit.may_say((heard.route, why)):
            log.warning(
                "refused", peer=who, message=name_of(heard.frame), reason=why, refused=self.refused
            )

    def _send(self, route: bytes, message: Refused | Welcome) -> None:
        self._router.send(route, encode(message))


def _decode(frame: memoryview, peer: Peer) -> Message:
    if peer.role is not Role.CLIENT and len(frame) > _LARGEST_OF_WORKER:
        raise ProtocolError(f"{len(frame)} bytes are too many for a worker")
    return decode(frame)


def _goodbye(reports: WorkerReports, worker: Worker, message: Goodbye) -> None:
    reports.goodbye(worker, message.reason)


_RULES: Final[Mapping[type, Callable[[WorkerReports, Worker, Any], bool | None]]] = {
    Heartbeat: WorkerReports.heartbeat,
    Results: WorkerReports.results,
    Returned: WorkerReports.returned,
    Glimpse: WorkerReports.glimpse,
    Goodbye: _goodbye,
}
