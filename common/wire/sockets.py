"""The settings of every socket: encrypted, bounded in memory, quick to notice a dead peer.

The master's socket admits nobody unless an authenticator answers for it (ZAP, always enforced).
Routing ids are left to ZeroMQ, so that no peer can take another's: who a peer is follows from its
key alone (`Frame.get("User-Id")`). ROUTER drops what it cannot deliver unless told otherwise, so
sending to a peer that left raises `EHOSTUNREACH`, and to one that does not read, `EAGAIN`.
"""

from typing import Any, Final

import zmq

from bats.common.wire.codec import LARGEST_FRAME
from bats.common.wire.keys import KeyPair

ZAP_DOMAIN: Final = b"bats"
_WAITING_MESSAGES: Final = 1000  # per peer and direction; beyond that a flood waits in its own TCP
_WAITING_TO_SEND: Final = 64  # the master's, to each peer: pieces of files among them
_WAITING_AT_HOME: Final = 100_000
_HANDSHAKE_MS: Final = 10_000  # a peer that only connects is let go after that
_PING_MS: Final = 5_000
_PONG_MS: Final = 20_000  # beneath the heartbeats that carry state: closes half-open connections
_RETRY_MS: Final = 100
_RETRY_LONGEST_MS: Final = 5_000


def set_up_server(socket: "zmq.Socket[Any]", pair: KeyPair) -> None:
    """Make a fresh ROUTER the master's end; bind it afterwards."""
    _set_up(socket, pair)
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
    socket.setsockopt(zmq.SNDHWM, _WAITING_TO_SEND)  # beyond that the router keeps and counts them


def set_up_client(socket: "zmq.Socket[Any]", pair: KeyPair, server_key: str) -> None:
    """Make a fresh DEALER a worker's or client's end; connect it afterwards."""
    _set_up(socket, pair)
    socket.setsockopt(zmq.CURVE_SERVERKEY, server_key.encode())
    socket.setsockopt(zmq.CONNECT_TIMEOUT, _HANDSHAKE_MS)
    socket.setsockopt(zmq.RECONNECT_IVL, _RETRY_MS)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, _RETRY_LONGEST_MS)
    socket.setsockopt(zmq.SNDHWM, _WAITING_AT_HOME)  # its own memory, and an outbox may be long
    # Nothing is queued for a master that is not there: what is said on a new connection starts
    # with Hello, not with leftovers.
    socket.setsockopt(zmq.IMMEDIATE, 1)


def _set_up(socket: "zmq.Socket[Any]", pair: KeyPair) -> None:
    socket.setsockopt(zmq.CURVE_PUBLICKEY, pair.public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, pair.secret.encode())
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.IPV6, 1)
    socket.setsockopt(zmq.SNDHWM, _WAITING_MESSAGES)
    socket.setsockopt(zmq.RCVHWM, _WAITING_MESSAGES)
    socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
    socket.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
    socket.setsockopt(zmq.HEARTBEAT_IVL, _PING_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, _PONG_MS)
    socket.setsockopt(zmq.HEARTBEAT_TTL, _PONG_MS)
