"""A machine's ticket: what it needs to join.

It is handed over privately (stdin, a 0600 file), never on a command line.
"""

import json
import math
from dataclasses import asdict, field, fields
from typing import Any, Final

from bats.common.errors import UsageError
from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.common.wire.keys import KeyPair, is_key

_VERSION: Final = 1

LEASE_ENDED: Final = 75
"""The exit code of a worker whose lease ran out, so that a back end can tell it from a failure."""

UNRENEWED: Final = "its lease ran out before it was renewed"
"""`LEASE_ENDED` in words; the master itself knows whether it could not or would not renew."""


@dataclass(frozen=True, slots=True)
class Ticket:
    machine: MachineId  # -1: started by hand; the master gives it a number when it joins
    master: tuple[str, ...]  # addresses to try, "tcp://host:port"
    server_key: str  # the master's public key (z85)
    public_key: str  # this machine's own pair, admitted for this machine alone
    secret_key: str = field(repr=False)
    slots: int
    lease_seconds: float  # from start: a worker that never reaches the master ends after that
    margin_seconds: float = 3.0  # at the end of a lease, at the most, to stop tasks in order
    single_use: bool = False  # the worker must enroll a key of its own at once
    state_folder: str = ""  # where the worker keeps its outbox and scratch; "" lets it choose
    power_off: str = ""  # command run when the lease runs out, for back ends that need it
    speed: float = 1.0  # emulated speed of a local machine; real machines have 1
    offering: str = ""  # of a machine started by hand: what it counts as
    memory_bytes: int = 0  # that its tasks may use in all; 0: not told
    gpus: int = 0

    @property
    def pair(self) -> KeyPair:
        return KeyPair(self.public_key, self.secret_key)


def to_json(ticket: Ticket) -> str:
    """One line, to be written where only the machine's owner can read it."""
    return json.dumps({"version": _VERSION, **asdict(ticket)}) + "\n"


def from_json(text: str, where: str) -> Ticket:
    """Raises `UsageError` that names `where` and what is wrong."""
    try:
        held = json.loads(text)
    except ValueError:
        raise UsageError(f"{where} is not a ticket: it is not JSON.") from None
    if not isinstance(held, dict) or held.pop("version", None) != _VERSION:
        raise UsageError(
            f"{where} is not a ticket of version {_VERSION}."
            " Install the same release of bats-scheduler at the master and on this machine."
        )
    known = {f.name for f in fields(Ticket)}
    if strange := set(held) - known:
        raise UsageError(f"{where} has unknown keys: {', '.join(sorted(strange))}.")
    for name, (fits, what) in _FITS.items():
        if name in held and not fits(held[name]):
            raise UsageError(f"{where}: `{name}` must be {what}.")
    if missing := _REQUIRED - set(held):
        raise UsageError(f"{where} lacks {', '.join(sorted(missing))}.")
    return Ticket(**{**held, "master": tuple(held["master"])})


def _whole(low: int) -> Any:
    return lambda value: type(value) is int and value >= low


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _addresses(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_text(a) and "://" in a for a in value)


def _duration(value: Any) -> bool:
    return type(value) in {int, float} and 0 <= value < math.inf


def _positive(value: Any) -> bool:
    return type(value) in {int, float} and 0 < value < math.inf


_FITS: Final[dict[str, tuple[Any, str]]] = {
    "machine": (_whole(-1), "a whole number from -1"),
    "master": (_addresses, "a list of addresses like tcp://host:port"),
    "server_key": (is_key, "a key of 40 characters"),
    "public_key": (is_key, "a key of 40 characters"),
    "secret_key": (is_key, "a key of 40 characters"),
    "slots": (_whole(1), "a whole number from 1"),
    "lease_seconds": (_positive, "a number of seconds above 0"),
    "margin_seconds": (_duration, "a number of seconds from 0"),
    "single_use": (lambda value: isinstance(value, bool), "true or false"),
    "state_folder": (_text, "a path"),
    "power_off": (_text, "a command"),
    "speed": (_positive, "a number above 0"),
    "offering": (_text, "a name"),
    "memory_bytes": (_whole(0), "a whole number from 0"),
    "gpus": (_whole(0), "a whole number from 0"),
}
_REQUIRED: Final = {
    "machine",
    "master",
    "server_key",
    "public_key",
    "secret_key",
    "slots",
    "lease_seconds",
}
