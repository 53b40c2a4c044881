"""The inbox of every message: who says it, whether they may, and who is to hear it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import structlog

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
from bats.master.service.machines.workers import Workers
from bats.master.service.wire.admission import Admission, Peer, Role
from bats.master.service.wire.log_limit import LogLimit
from bats.master.service.wire.router import Heard, Router

_MOST_MALFORMED: Final = 50  # then the connection is not listened to any more
_LARGEST_OF_WORKER: Final = 4 << 20

_MAY_SAY: Final[Mapping[Role, frozenset[type]]] = {
    Role.CLIENT: frozenset({Request, WantBlob, BlobChunk}),
    Role.HAND: frozenset(
        {Hello, Heartbeat, Results, Returned, Glimpse, Goodbye, WantBlob, BlobChunk, BlobStored}
    ),
    Role.MACHINE: frozenset(
        {
            Hello,
            Enroll,
            Heartbeat,
            Results,
            Returned,
            Glimpse,
            Goodbye,
            WantBlob,
            BlobChunk,
            BlobStored,
        }
    ),
}

log = structlog.get_logger()


class Handlers(Protocol):
    """Handlers of all that is not a worker's daily word."""

    def number_by_hand(self, wanted: MachineId) -> MachineId: ...

    def enroll(self, machine: MachineId, key: str, done: Callable[[], None]) -> bool: ...

    def request(self, route: bytes, request: Request) -> None: ...

    def file(
        self, route: bytes, peer: Peer, message: WantBlob | BlobChunk | BlobStored
    ) -> None: ...


class Inbox:
    def __init__(
        self,
        router: Router,
        admission: Admission,
        workers: Workers,
        handlers: Handlers,
        release: str,
    ) -> None:
        self._router = router
        self._admission = admission
        self._workers = workers
        self._handlers = handlers
        self._release = release
        self._log_limit = LogLimit()
        self._malformed: dict[bytes, int] = {}
        self.refused = 0

    def hear(self, batch: list[Heard]) -> None:
        """All that came in one turn; a message that is no good harms none of the others."""
        for heard in batch:
            if self._malformed and self._malformed.get(heard.route, 0) >= _MOST_MALFORMED:
                continue
            peer = self._admission.peer(heard.key)
            if peer is None:
                self._refuse(heard, "a revoked key", "this key is not valid any more", known=False)
                continue
            self._hear_one(heard, peer)
        self._workers.end_turn()

    def _hear_one(self, heard: Heard, peer: Peer) -> None:
        try:
            message = _decode(heard.frame, peer)
        except VersionError as error:
            self._refuse(heard, str(peer), str(error))
            return
        except ProtocolError as error:
            self._malformed[heard.route] = self._malformed.get(heard.route, 0) + 1
            if len(self._malformed) > _MOST_MALFORMED * 1000:
                self._malformed.clear()
            self._note(heard, str(peer), str(error))
            return
        if type(message) not in _MAY_SAY[peer.role]:
            what = type(message).__name__
            self._refuse(heard, str(peer), f"{peer} may not say {what}: use another access file")
            return
        self._take(heard, peer, message)

    def _take(self, heard: Heard, peer: Peer, message: Message) -> None:
        route = heard.route
        match message:
            case Request():
                self._handlers.request(route, message)
                return
            case Hello():
                self._hello(heard, peer, message)
                return
            case Enroll():
                self._enroll(heard, peer, message)
                return
            case WantBlob() | BlobChunk() | BlobStored():
                self._handlers.file(route, peer, message)
                return
        worker = self._workers.on(route)
        if worker is None:  # it has a newer connection, or has not said Hello
            known = peer.role is not Role.MACHINE or self._workers.of(peer.machine) is not None
            if isinstance(message, Heartbeat) and not known:
                self._send(route, Refused("say Hello first: you had been forgotten", retry=True))
            return
        rule = _RULES.get(type(message))
        if rule is not None:
            rule(self._workers, worker, message)

    def _hello(self, heard: Heard, peer: Peer, hello: Hello) -> None:
        if hello.slots < 1 or hello.slots > 100_000:
            self._refuse(heard, str(peer), f"a worker cannot have {hello.slots} slots")
        elif peer.role is Role.HAND:
            known = self._workers.on(heard.route)
            machine = known.machine if known else self._handlers.number_by_hand(hello.machine)
            self._workers.greet(heard.route, machine, hello)
        elif hello.machine != peer.machine:
            self._refuse(
                heard, str(peer), f"this is the key of {peer}, not of machine {hello.machine}"
            )
        else:
            self._workers.greet(heard.route, peer.machine, hello)

    def _enroll(self, heard: Heard, peer: Peer, enroll: Enroll) -> None:
        """Trade the ticket's key, which others may have seen, for one that only the machine has."""
        key = enroll.public_key.decode("ascii", errors="replace")
        if not peer.ticket or enroll.machine != peer.machine or not is_key(key):
            self._refuse(heard, str(peer), "this ticket has been used, or is another machine's")
            return

        def done() -> None:
            self._send(heard.route, Welcome(self._release, 5.0, 60.0, peer.machine))

        if self._handlers.enroll(peer.machine, key, done):
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


def _goodbye(workers: Workers, worker: Any, message: Goodbye) -> None:
    workers.goodbye(worker, message.reason)


_RULES: Final[Mapping[type, Callable[[Workers, Any, Any], None]]] = {
    Heartbeat: Workers.heartbeat,
    Results: Workers.results,
    Returned: Workers.returned,
    Glimpse: Workers.glimpse,
    Goodbye: _goodbye,
}
