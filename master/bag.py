"""A bag: what was submitted, how that is kept in the store, and what its user may do."""

import json
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgpack

from bats.common.errors import StoreDamagedError, UsageError
from bats.common.messages import BagId, BagSpec, TaskId
from bats.common.money import Money, show
from bats.common.records import dataclass
from bats.master.bag_states import QUEUED
from bats.master.brain.protocol.journal import plain_settings, settings_from
from bats.master.brain.protocol.numbering import before_first
from bats.master.brain.protocol.settings import Settings
from bats.master.store.rows import AdditionRow, BagRow
from bats.master.sweep.space import OpenSpace, Space, space_from_plain, space_to_plain
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.work import Work, work_from_plain

if TYPE_CHECKING:  # a client knows the names of states without a database
    from bats.master.store.reader import Reader


class Anchor(NamedTuple):
    """The beginning of a bag on one boot's clock: nobody can set that one, and it counts sleep."""

    boot: str  # which boot of this computer
    began: float


class Books(NamedTuple):
    """A look at the books of the engine that ran it: which, after how many events, their digest."""

    brain: str
    events: int
    digest: str


class Standing(NamedTuple):
    """The place of a bag among others: its part of what they share, and those it waits for."""

    weight: int = 1
    priority: int = 0
    after: tuple[BagId, ...] = ()  # it begins when these have ended


USUAL: Final = Standing()


@dataclass(slots=True)
class Bag:
    id: BagId
    name: str
    sweep: Work
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
    standing: Standing = USUAL
    user: str = ""  # the name that the key of its client carries
    books: Books | None = None  # as they were last looked at; unknown of releases up to 0.1
    closed: bool = False  # no more tasks are added
    added: dict[str, range] = field(default_factory=dict)  # tasks, by the name of their addition

    def spec(self, cluster: str, step: int) -> BagSpec:
        return self.sweep.spec(
            self.id,
            output_folder=self.output_folder,
            inputs=self.inputs,
            cluster=cluster,
            step=step,
        )

    def add(self, part: Space, name: str) -> AdditionRow:
        """Take in tasks that are added to it while it is open. Raises ValueError."""
        space = self.open_space
        first = TaskId(space.count)
        space.add(part)
        self.added[name] = range(first, space.count)
        packed = cast("bytes", msgpack.packb(space_to_plain(part)))
        return AdditionRow(self.id, first, part.count, name, packed)

    @property
    def open_space(self) -> OpenSpace:
        """The space of its tasks. Raises UsageError unless it was submitted as open."""
        if not (isinstance(self.sweep, Sweep) and isinstance(self.sweep.space, OpenSpace)):
            raise UsageError(
                f"Bag {self.id} has all its tasks from the beginning; tasks are added to bags that "
                "were submitted with --open."
            )
        return self.sweep.space

    @property
    def is_open(self) -> bool:
        """True if it was submitted to be open, and nobody has said that no more tasks come."""
        return self.sweep.open and not self.closed

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
                "standing": self.standing,
                "user": self.user,
                "books": self.books,
                "closed": self.closed,
                "view": view,
            }
        )


def read_bag(reader: "Reader", number: BagId) -> Bag:
    """The bag as the store has it, with all tasks that were added. Raises StoreDamagedError."""
    row = reader.bag(number)
    bag = bag_from(row)
    if isinstance(bag.sweep, Sweep) and isinstance(bag.sweep.space, OpenSpace):
        additions = tuple(reader.additions(number))
        bag.sweep = replace(bag.sweep, space=_grown(row.spec, additions).copy())
        bag.added = {one.name: range(one.first, one.first + one.tasks) for one in additions}
    return bag


@lru_cache(maxsize=1)  # as below
def _grown(spec: bytes, additions: tuple[AdditionRow, ...]) -> OpenSpace:
    """Raises StoreDamagedError."""
    sweep, _, _ = _submitted(spec)
    space = cast("OpenSpace", cast("Sweep", sweep).space).copy()
    try:
        for one in additions:
            space.add(space_from_plain(msgpack.unpackb(one.space)))
    except (LookupError, TypeError, ValueError, msgpack.UnpackException) as error:
        raise StoreDamagedError(
            f"Tasks that were added to a bag cannot be read: {error}."
        ) from error
    if additions and space.count != (last := additions[-1]).first + last.tasks:
        raise StoreDamagedError(f"Of the tasks added to bag {last.bag} some are not there.")
    return space


def bag_from(row: BagRow) -> Bag:
    """The bag as it was submitted. Raises StoreDamagedError."""
    try:
        sweep, output_folder, inputs = _submitted(row.spec)
        summary = json.loads(row.summary) if row.summary else {}
        weight, priority, after = summary.get("standing", USUAL)
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
            Standing(weight, priority, tuple(after)),
            summary.get("user", ""),
            Books(*looked) if (looked := summary.get("books")) else None,
            summary.get("closed", False),
        )
    except (LookupError, TypeError, ValueError, msgpack.UnpackException) as error:
        raise StoreDamagedError(
            f"What was submitted as bag {row.id} cannot be read: {error}."
        ) from error


@lru_cache(maxsize=1)  # who watches a bag asks for it every second, and a long list takes a second
def _submitted(spec: bytes) -> tuple[Work, str, tuple[tuple[str, str, int, int], ...]]:
    plain = msgpack.unpackb(spec)
    inputs = tuple((name, sha, size, mode) for name, sha, size, mode in plain["inputs"])
    return work_from_plain(plain["sweep"]), plain["output_folder"], inputs


def ways_out(
    bag: BagId,
    task: TaskId | None,
    *,
    again: bool,
    budget: Money | None = None,
    currency: str = "$",
) -> str:
    """Ways out for the user of a paused bag; `again`: what failed is tried again anyway.

    `budget` would do for one that waits for money.
    """
    if budget is not None:
        enough = f"`bats allow {bag} --budget {show(budget, currency)}` goes on"
        return f"Nothing more is bought. {enough}, `bats cancel {bag}` ends it."
    ways = [
        f"`bats resume {bag}` goes on" + (" and tries them again" if again else ""),
        "" if again or task is None else f"`bats retry {bag}` also tries again what failed",
        f"`bats cancel {bag}` ends it",
        "" if task is None else f"`bats explain {bag} {task}` shows one",
    ]
    return f"Nothing more is bought. {', '.join(filter(None, ways))}."
