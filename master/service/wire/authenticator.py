"""Answers ZeroMQ's question, at each handshake, whether a key may come in (ZAP, RFC 27).

That of pyzmq (`zmq.auth`) lets in who brings no key at all, and tells nobody who was refused.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog
import zmq
from zmq.utils import z85

from bats.common.wire.sockets import ZAP_DOMAIN
from bats.master.service.wire.log_limit import LogLimit

_ENDPOINT: Final = "inproc://zeromq.zap.01"
_VERSION: Final = b"1.0"
_AT_ONCE: Final = 64

log = structlog.get_logger()


class Authenticator:
    """`admits` is given a public key as z85 text; who it belongs to comes with each message."""

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", admits: Callable[[str], bool]
    ) -> None:
        self._admits = admits
        self._log_limit = LogLimit()
        self._loop = asyncio.get_running_loop()
        self._socket = context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(_ENDPOINT)
        self._loop.add_reader(self._socket.FD, self._answer)
        self.refused = 0

    def close(self) -> None:
        self._loop.remove_reader(self._socket.FD)
        self._socket.close()

    def _answer(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                question = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._socket.send_multipart(self._reply(question))
        self._loop.call_soon(self._answer)

    def _reply(self, question: list[bytes]) -> list[bytes]:
        route, empty, version, request, domain, address, _, mechanism, *credentials = question
        head = [route, empty, _VERSION, request]
        ours = version == _VERSION and domain == ZAP_DOMAIN and mechanism == b"CURVE"
        key = z85.encode(credentials[0]).decode() if ours and len(credentials) == 1 else ""
        if key and self._admits(key):
            return [*head, b"200", b"OK", key.encode(), b""]
        self.refused += 1
        if self._log_limit.may_say("key"):
            log.warning(
                "refused: unknown key",
                peer=address.decode(errors="replace"),
                key=key[:8] or mechanism.decode(errors="replace"),
                refused=self.refused,
            )
        return [*head, b"400", b"this key is not known here", b"", b""]
