"""An attempt as a row of the database: flat, tame, and with a checksum.

SQLite notices a page that cannot be, not one whose numbers were changed.
"""

import json
import math
import struct
import zlib
from typing import Any, Final

from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId, Outcome, TaskId
from bats.master.store.rows import Finished, TaskRow
from bats.master.store.schema import SHIFT, key

COLUMNS: Final = (
    "id", "machine", "cluster", "started", "attempt", "outcome", "exit_code", "wall_seconds",
    "user_seconds", "system_seconds", "peak_kib", "output_bytes", "excerpt", "slot", "outputs",
    "crc",
)  # fmt: skip

_GREATEST: Final = (1 << 63) - 1
_NUMBERS: Final = struct.Struct("<qqdqqqdddqqq").pack


def flat(row: Finished) -> tuple[Any, ...]:
    """A row in the order of COLUMNS."""
    result, machine, cluster, started = row
    outputs = json.dumps(result.outputs) if result.outputs else ""
    at = key(result.bag, result.task)
    values = (at, machine, cluster, started, *result[2:12], outputs)
    try:
        return (*values, checksum(values))
    except (struct.error, UnicodeEncodeError, ValueError):  # a worker may say anything
        values = tuple(map(tame, values))
        return (*values, checksum(values))


def checksum(values: tuple[Any, ...]) -> int:
    """The checksum of the row without it; raises what SQLite would not keep as it is."""
    (at, machine, cluster, started, attempt, outcome, exit_code, wall, user, system, peak, output,
     excerpt, slot, outputs) = values  # fmt: skip
    if math.isnan(started + wall + user + system):
        raise ValueError("not a number")
    numbers = _NUMBERS(
        at, machine, started, attempt, outcome, exit_code, wall, user, system, peak, output, slot
    )
    text = f"{len(cluster)} {len(excerpt)} {cluster}{excerpt}{outputs}"
    return zlib.crc32(text.encode(), zlib.crc32(numbers))


def intact(row: tuple[Any, ...]) -> bool:
    """True if a row that was read is the one that was written."""
    try:
        return bool(checksum(row[:-1]) == row[-1])
    except (struct.error, TypeError, ValueError):
        return False


def task_row(row: tuple[Any, ...]) -> TaskRow:
    bag = BagId(row[0] >> SHIFT)
    task = TaskId(row[0] - key(bag, 0))
    if not intact(row):
        raise StoreDamagedError(
            f"The store is damaged: what it says of task {task} of bag {bag} is not what was "
            "written. `python -m bats.master.store check FOLDER` says what can be read."
        )
    outputs = tuple(map(tuple, json.loads(row[-2]))) if row[-2] else ()
    return TaskRow._make((bag, task, *row[1:5], Outcome(row[5]), *row[6:-2], outputs))


def bag_checksum(spec: bytes | None, settings: bytes | None) -> int:
    """The checksum of what never changes, and without which the bag cannot go on."""
    return zlib.crc32(settings or b"", zlib.crc32(spec or b""))


def tame(value: Any) -> Any:
    """A value that SQLite can keep: no number too large, no half character, no infinity."""
    if isinstance(value, int):
        return max(-_GREATEST, min(value, _GREATEST))
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    return value
