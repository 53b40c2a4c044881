"""Durations and sizes as people write them: "90s", "1h 30m", "12:00:00", "64 MiB"."""

import math
import re
from typing import Final

from bats.common.errors import quoted

_SECONDS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}
_BYTES: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_PARTS: Final = re.compile(r"(?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*)+")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_CLOCK: Final = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)")  # Slurm's, with its days
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?")
_LONGEST_SECONDS: Final = 100 * 366 * 86400.0  # a hundred years: more is a slip
_LONGEST_TEXT: Final = 80  # a longer one is a mistake, and is not searched


def seconds(written: str | float) -> float:
    """Read a duration: `"90s"`, `"1h 30m"`, `"12:00:00"`, `"2-12:00:00"`; a number is seconds."""
    value = _seconds_in(written) if isinstance(written, str) else _seconds_of(written)
    if value is None:
        raise ValueError(
            f"{quoted(written)} is not a duration; write for example 90s, 1h 30m or 12:00:00 "
            "(hours:minutes:seconds)"
        )
    return value


def octets(written: str | int) -> int:
    """Read a size: `"64 KiB"`, `"1M"`, `"0.5 GB"` (all powers of 1024); a bare number is bytes."""
    if isinstance(written, int) and not isinstance(written, bool) and written >= 0:
        return written
    if isinstance(written, str) and len(written) <= _LONGEST_TEXT:
        found = _SIZE.fullmatch(written.strip().lower())
        if found:
            return int(float(found[1]) * _BYTES[found[2]])
    raise ValueError(f"{quoted(written)} is not a size; write for example 64K, 1M or 2 GB")


def show_octets(size: float) -> str:
    """`"64 KB"`, `"1.5 GB"`; the powers of 1024 that `octets` reads."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1024 or unit == "TB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 100 else f"{size:.3g} {unit}"


def _seconds_of(number: float) -> float | None:
    possible = not isinstance(number, bool) and 0 <= number <= _LONGEST_SECONDS
    return float(number) if possible else None


def _seconds_in(written: str) -> float | None:
    text = written.strip().lower()
    if len(text) > _LONGEST_TEXT:
        return None
    if _NUMBER.fullmatch(text):
        return _seconds_of(float(text))
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, rest = (int(part or 0) for part in clock.groups())
        return _seconds_of(((days * 24 + hours) * 60 + minutes) * 60 + rest)
    if not _PARTS.fullmatch(text):
        return None
    total = 0.0
    for number, unit in _PART.findall(text):
        factor = _SECONDS.get(unit) or _SECONDS.get(unit.removesuffix("s"))
        if factor is None:
            return None
        total += float(number) * factor
    return _seconds_of(total)


def in_words(seconds: float) -> str:
    """A duration for people, rounded up to seconds below an hour and to minutes above."""
    whole = math.ceil(seconds * (1 - 1e-9))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = -(-whole // 60)
    return f"{minutes // 60} h {minutes % 60} min"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
