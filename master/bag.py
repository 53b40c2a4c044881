"""A bag: what was submitted, how that is kept in the store, and what its user may do."""

import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

import msgpack

from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId, BagSpec, TaskId
from bats.master.brain.protocol.journal import plain_settings, settings_from
from bats.master.brain.protocol.numbering import before_first
from bats.master.brain.protocol.settings import Settings
from bats.master.store.rows import BagRow
from bats.master.sweep.sweep import Sweep

HELD: Final = "held"  # submitted, and not to begin before it is released
QUEUED: Final = "queued"  # begins when those before it have ended
RUNNING: Final = "running"
PAUSED: Final = "paused"  # and has no machine left; it does not keep others from running
BROKEN: Final = "broken"  # ended by a bug of ours
OPEN: Final = (HELD, QUEUED, RUNNING, PAUSED)
"""States of a bag; one that has ended has its outcome for a state."""


class Anchor(NamedTuple):
    """The beginning of a bag on one boot's clock: nobody can set that one, and it counts sleep."""

    boot: str  # which boot of this computer
    began: float


@dataclass(slots=True)
class Bag:
    id: BagId
    name: str
    sweep: Sweep
    settings: Settings
    created: float  # by the calendar
    output_folder: str
    inputs: tuple[tuple[str, str, int, int], ...] = ()  # name, sha256, bytes, mode
    state: str = QUEUED
    began: float | None = None  # by the calendar
    ended: float | None = None
    words: str = ""  # how it ended
    anchor: Anchor | None = None  # where its time began, by the clock of a boot
    pending: list[list[Any]] = field(default_factory=list)  # events for when its turn comes

    def spec(self, cluster: str) -> BagSpec:
        return self.sweep.spec(
            self.id, output_folder=self.output_folder, inputs=self.inputs, cluster=cluster
        )

    def row(self) -> BagRow:
        spec = {
            "sweep": self.sweep.to_plain(),
            "output_folder": self.output_folder,
            "inputs": self.inputs,
        }
        return BagRow(
            self.id,
            self.name,
            cast("bytes", msgpack.packb(spec)),
            cast("bytes", msgpack.packb(plain_settings(self.settings))),
            self.sweep.count,
            self.created,
            self.state,
            self.ended,
            self.summary({}),
        )

    def summary(self, view: dict[str, Any]) -> str:
        """`view` is the last that was to be seen of it, when it has ended."""
        return json.dumps(
            {
                "began": self.began,
                "anchor": self.anchor,
                "words": self.words,
                "pending": self.pending,
                "view": view,
            }
        )


def bag_from(row: BagRow) -> Bag:
    """The bag again. Raises StoreDamagedError."""
    try:
        sweep, output_folder, inputs = _submitted(row.spec)
        summary = json.loads(row.summary) if row.summary else {}
        return Bag(
            row.id,
            row.name,
            sweep,
            replace(
                settings_from(msgpack.unpackb(row.settings)), numbers_after=before_first(row.id)
            ),
            row.created,
            output_folder,
            inputs,
            row.state,
            summary.get("began"),
            row.ended,
            summary.get("words", ""),
            Anchor(*written) if (written := summary.get("anchor")) else None,
            summary.get("pending", []),
        )
    except (LookupError, TypeError, ValueError, msgpack.UnpackException) as error:
        raise StoreDamagedError(
            f"What was submitted as bag {row.id} cannot be read: {error}."
        ) from error


@lru_cache(maxsize=1)  # who watches a bag asks for it every second, and a long list takes a second
def _submitted(spec: bytes) -> tuple[Sweep, str, tuple[tuple[str, str, int, int], ...]]:
    plain = msgpack.unpackb(spec)
    inputs = tuple((name, sha, size, mode) for name, sha, size, mode in plain["inputs"])
    return Sweep.from_plain(plain["sweep"]), plain["output_folder"], inputs


def ways_out(bag: BagId, task: TaskId | None, *, again: bool) -> str:
    """Ways out for the user of a paused bag; `again`: what failed is tried again anyway."""
    ways = [
        f"`bats resume {bag}` goes on" + (" and tries them again" if again else ""),
        "" if again or task is None else f"`bats retry {bag}` also tries again what failed",
        f"`bats cancel {bag}` ends it",
        "" if task is None else f"`bats explain {bag} {task}` shows one",
    ]
    return f"Nothing more is spent. {', '.join(filter(None, ways))}."
