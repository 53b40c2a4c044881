"""The file in which a worker keeps the results that its master has not acknowledged.

After a head come records: length, CRC and serial, then how many results the message has, and it. A
torn tail, from a crash or a full disk, ends the file there.
"""

import struct
import zlib
from typing import Final

from bats.common.records import dataclass

HEAD: Final = struct.Struct("<8sQI")  # magic, serials given out before the first record, crc
RECORD: Final = struct.Struct("<IIQ")  # length, crc of serial and data, serial
_MAGIC: Final = b"BATSOUT1"
_LARGEST: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Kept:
    """A message, with the number that it was sent with."""

    serial: int
    frame: bytes
    results: int  # how many it tells


@dataclass(frozen=True, slots=True)
class Contents:
    serial: int  # the last that was given out
    kept: list[Kept]
    whole_bytes: int  # what comes after is torn


def head(serial: int) -> bytes:
    return HEAD.pack(_MAGIC, serial, _crc(serial, _MAGIC))


def record(kept: Kept) -> bytes:
    body = struct.pack("<I", kept.results) + kept.frame
    return RECORD.pack(len(body), _crc(kept.serial, body), kept.serial) + body


def read(data: bytes) -> Contents | None:
    """None if it is no such file."""
    serial = HEAD.unpack_from(data)[1] if len(data) >= HEAD.size else 0
    if not data.startswith(head(serial)):
        return None
    kept = []
    end = HEAD.size
    while end + RECORD.size <= len(data):
        length, crc, number = RECORD.unpack_from(data, end)
        body = data[end + RECORD.size : end + RECORD.size + length]
        if length > _LARGEST or len(body) < length or _crc(number, body) != crc:
            break
        (count,) = struct.unpack_from("<I", body)
        kept.append(Kept(number, body[4:], count))
        serial = max(serial, number)
        end += RECORD.size + length
    return Contents(serial, kept, end)


def _crc(serial: int, body: bytes) -> int:
    return zlib.crc32(body, serial & 0xFFFFFFFF)
