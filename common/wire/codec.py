"""Messages to bytes and back: a frame is `[type number, fields...]` in msgpack, each field checked.

Whatever cannot be a message of ours is refused by name with `ProtocolError`. Memory stays bounded:
each type has a size of its own, looked up before anything is unpacked.
"""

import typing
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

import msgpack

from bats.common import messages as m
from bats.common.records import dataclass
from bats.common.wire.shapes import Check, ProtocolError, check_for

__all__ = [
    "CHUNK_BYTES",
    "LARGEST_FRAME",
    "Message",
    "ProtocolError",
    "VersionError",
    "decode",
    "encode",
    "name_of",
]

Message = (
    m.Hello | m.Enroll | m.Heartbeat | m.Results | m.Returned | m.Glimpse | m.Goodbye
    | m.Welcome | m.Refused | m.BagSpec | m.Run | m.Kill | m.ResultsStored | m.Lease | m.Stop
    | m.Look
    | m.WantBlob | m.BlobChunk | m.BlobStored
    | m.Request | m.Reply | m.Chunk
)  # fmt: skip

KIB: Final = 1024
MIB: Final = 1024 * KIB
LARGEST_FRAME: Final = 64 * MIB  # a client's sweep with its table of values; what a socket admits
CHUNK_BYTES: Final = 256 * KIB  # of file content per `BlobChunk`

# Numbers for ever: an old peer must be able to read `Hello`, `Refused` and `Request` of a new one.
_NUMBERS: Final[dict[int, tuple[type[Any], int]]] = {
    1: (m.Hello, MIB),
    2: (m.Enroll, KIB),
    3: (m.Heartbeat, MIB),
    4: (m.Results, 2 * MIB),
    5: (m.Returned, MIB),
    6: (m.Goodbye, 64 * KIB),
    7: (m.Glimpse, CHUNK_BYTES + KIB),
    20: (m.Welcome, KIB),
    21: (m.Refused, 64 * KIB),
    22: (m.BagSpec, 16 * MIB),
    23: (m.Run, 16 * MIB),
    24: (m.Kill, MIB),
    25: (m.ResultsStored, KIB),
    26: (m.Lease, KIB),
    27: (m.Stop, 64 * KIB),
    28: (m.Look, KIB),
    40: (m.WantBlob, KIB),
    41: (m.BlobChunk, CHUNK_BYTES + KIB),
    42: (m.BlobStored, KIB),
    60: (m.Request, LARGEST_FRAME),
    61: (m.Reply, LARGEST_FRAME),
    62: (m.Chunk, LARGEST_FRAME),
}


_FIRST_FIELDS: Final[dict[type[Any], int]] = {
    m.Heartbeat: 3, m.Hello: 10, m.Welcome: 4, m.BagSpec: 16, m.Lease: 1,
}  # fmt: skip
"""The number of fields that a message had when peers of older releases learned it."""

_TO_OLDER: Final = (m.Welcome, m.BagSpec, m.Lease)
"""Workers outlive a master that is upgraded: these are told with as few fields as say it all."""


class VersionError(ProtocolError):
    """The peer speaks another version; the text says which side to upgrade."""


def encode(message: Message) -> bytes:
    """One frame. Never raises for a well-typed message whose numbers fit 64 bits."""
    kind = _KINDS_BY_CLASS[type(message)]
    return typing.cast("bytes", msgpack.packb((kind.number, *kind.get(message))))


def decode(frame: bytes | memoryview) -> Message:
    """The message in a frame; raises `ProtocolError` that names what is wrong with it."""
    kind = _kind_of(frame)
    try:
        row = msgpack.unpackb(
            frame,
            use_list=kind.plain,
            strict_map_key=True,
            max_ext_len=0,
        )
    except (ValueError, msgpack.UnpackException, RecursionError, MemoryError) as error:
        raise ProtocolError(f"{kind.name}: not msgpack as we speak it ({error})") from None
    if type(row) not in {tuple, list} or type(row[0]) is not int:
        raise ProtocolError(f"{kind.name}: not a list that starts with a type number")
    if kind.versioned:
        _check_version(kind, row)
    if not kind.least <= len(row) - 1 <= len(kind.checks):
        raise ProtocolError(f"{kind.name}: {len(row) - 1} fields, expected {len(kind.checks)}")
    return kind.build(
        *[check(value, where) for value, (check, where) in zip(row[1:], kind.checks, strict=False)]
    )


def name_of(frame: bytes | memoryview) -> str:
    """The name of a refused frame's type, or how it starts: for a line of the log."""
    try:
        return _kind_of(frame).name
    except ProtocolError:
        return f"{len(frame)} bytes starting {bytes(frame[:8]).hex()}"


def _kind_of(frame: bytes | memoryview) -> "_Kind":
    """Told from the first bytes, before anything is unpacked."""
    first = frame[0] if len(frame) > 1 else 0
    if 0x91 <= first <= 0x9F:
        number = frame[1]
    elif first == 0xDC and len(frame) > 3:
        number = frame[3]
    else:
        raise ProtocolError(f"{len(frame)} bytes that are no message of BaTS")
    kind = _KINDS.get(number)
    if kind is None:
        raise ProtocolError(f"message type {number} is not known here (protocol {m.PROTOCOL})")
    if len(frame) > kind.largest:
        raise ProtocolError(f"{kind.name}: {len(frame)} bytes, at most {kind.largest} are allowed")
    return kind


def _check_version(kind: "_Kind", row: Any) -> None:
    theirs = row[1] if len(row) > 1 else None
    if type(theirs) is not int:
        raise ProtocolError(f"{kind.name}: protocol must be a number")
    if theirs != m.PROTOCOL:
        peer = "worker" if kind.name == "Hello" else "client"
        older = f"the {peer}" if theirs < m.PROTOCOL else "the master"
        raise VersionError(
            f"the {peer} speaks protocol {theirs}, the master {m.PROTOCOL}:"
            f" upgrade bats-scheduler on {older}'s side"
        )


# --- one row per type, built once from the annotations --------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    number: int
    largest: int
    versioned: bool  # has `protocol`, which then comes first on the wire
    plain: bool  # carries plain data of a client: lists stay lists
    get: Callable[[Any], tuple[Any, ...]]
    build: Callable[..., Message]
    checks: tuple[tuple[Check, str], ...]
    least: int  # fields that each release has sent


def _kind(number: int, cls: type[Any], largest: int) -> _Kind:
    hints = typing.get_type_hints(cls)
    names = [field.name for field in fields(cls)]
    build: Callable[..., Message] = cls
    if versioned := "protocol" in names:
        names.sort(key=lambda name: name != "protocol")

        def build(*values: Any) -> Message:
            return typing.cast("Message", cls(**dict(zip(names, values, strict=False))))

    return _Kind(
        name=cls.__name__,
        number=number,
        largest=largest,
        versioned=versioned,
        plain="body" in names,
        get=_results
        if cls is m.Results
        else _shortest(cls)
        if cls in _TO_OLDER
        else _getter(names),
        build=build,
        checks=tuple((check_for(hints[name], name), f"{cls.__name__}.{name}") for name in names),
        least=_FIRST_FIELDS.get(cls, len(names)),
    )


def _results(message: m.Results) -> tuple[Any, ...]:
    return message.serial, [one[: m.TOLD_BY_WORKER] for one in message.results]


def _shortest(cls: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """As workers of older releases know it, if what was added to it since says nothing."""
    first = _FIRST_FIELDS[cls]
    get = _getter([field.name for field in fields(cls)])
    nothing = tuple(field.default for field in fields(cls)[first:])

    def row(message: Any) -> tuple[Any, ...]:
        whole = get(message)
        return whole if whole[first:] != nothing else whole[:first]

    return row


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if names[1:]:
        return attrgetter(*names)
    return lambda message: (getattr(message, names[0]),)


_KINDS: Final = {number: _kind(number, *entry) for number, entry in _NUMBERS.items()}
_KINDS_BY_CLASS: Final = {_NUMBERS[number][0]: kind for number, kind in _KINDS.items()}
