"""Budgets of peers: the time of the master's that a key may take for nothing, and other bounds.

What is of use costs nothing: results that count, files that were asked for, requests of users. The
time that all else takes is held against the key it came with. Heartbeats of an honest worker come
to microseconds a second; who takes much more is shut out for a while, longer each time.
"""

import time
from collections.abc import Callable
from typing import Final

from bats.common.records import dataclass
from bats.master.service.wire.admission import Peer, Role

_IN_HAND_SECONDS: Final = 0.5
_REFILL: Final = 0.02  # seconds of the master's time in a second
_SHARED: Final = 10  # times as much for the key of the invitation, with which many come
SPONSORED: Final = 2.0  # held against the invitation when one that came with it is shut out
_FIRST_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 600.0
_FORGIVEN_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """Bounds of what comes in with one key."""

    connections: int
    unread_bytes: int  # over one connection, not handed on yet: parts of a message, or many


_OF_ONE: Final = Allowance(8, 24 << 20)
_OF_MANY: Final = Allowance(16_384, 24 << 20)
_OF_CLIENTS: Final = Allowance(1024, 128 << 20)  # a sweep with its table of values is a message
UNKNOWN: Final = Allowance(1024, 80 << 20)  # before its first message


def allowance(peer: Peer | None) -> Allowance:
    if peer is None or peer.role is Role.CLIENT:
        return _OF_CLIENTS if peer else UNKNOWN
    return _OF_MANY if is_shared(peer) else _OF_ONE


def is_shared(peer: Peer) -> bool:
    """True of the key that invites workers, with which many may come."""
    return peer.role is Role.HAND and not peer.own


@dataclass(slots=True)
class _Account:
    wasted: float = 0.0
    at: float = 0.0
    times: int = 0  # that it was shut out
    until: float = 0.0


class Budgets:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._out: dict[str, float] = {}  # until when

    def waste(self, key: str, seconds: float, *, shared: bool = False) -> float:
        """Seconds for which the key is shut out from now on; 0.0 while it is not."""
        now, times = self._clock(), _SHARED if shared else 1
        account = self._accounts.setdefault(key, _Account(at=now))
        account.wasted = max(0.0, account.wasted - (now - account.at) * _REFILL * times) + seconds
        account.at = now
        if account.wasted <= _IN_HAND_SECONDS * times:
            return 0.0
        return self.shut_out(key)

    def shut_out(self, key: str) -> float:
        """Shut it out, twice as long as the last time; the seconds."""
        now = self._clock()
        account = self._accounts.setdefault(key, _Account(at=now))
        if now > account.until + _FORGIVEN_SECONDS:
            account.times = 0
        pause: float = min(_FIRST_SECONDS * 2**account.times, _LONGEST_SECONDS)
        account.times, account.wasted = min(account.times + 1, 10), 0.0
        account.until = self._out[key] = now + pause
        return pause

    def is_out(self, key: str) -> bool:
        if not self._out or (until := self._out.get(key)) is None:
            return False
        if self._clock() < until:
            return True
        del self._out[key]
        return False
