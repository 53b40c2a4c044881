"""The rows of the store: what is written, what is read back."""

from typing import NamedTuple

from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import Money
from bats.common.values import Value, last_line, values_of


class BagRow(NamedTuple):
    """A bag as it was submitted; `spec` and `settings` are the service's bytes, kept as is."""

    id: BagId
    name: str
    spec: bytes
    settings: bytes
    tasks: int
    created: float
    state: str
    ended: float | None = None
    summary: str = ""  # JSON
    duplicates: int = 0  # results that came again after one was recorded; counted by the store


class Finished(NamedTuple):
    """One attempt's result and where it was run."""

    result: Result
    machine: MachineId
    cluster: str
    started: float


class TaskRow(NamedTuple):
    """A recorded attempt as it is read back; the fields of `Result` and `Finished`, flat."""

    bag: BagId
    task: TaskId
    machine: MachineId
    cluster: str
    started: float
    attempt: int
    outcome: Outcome
    exit_code: int
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_kib: int
    output_bytes: int
    excerpt: str
    slot: int
    outputs: tuple[tuple[str, str, int], ...]  # name, sha256, bytes

    @property
    def last_words(self) -> str:
        """The last line that a success wrote; the last lines of a failure."""
        return last_line(self.excerpt) if self.outcome is Outcome.DONE else self.excerpt

    @property
    def values(self) -> dict[str, Value]:
        """What a success told in `name=number` or JSON."""
        return values_of(self.excerpt) if self.outcome is Outcome.DONE else {}


class MachineRow(NamedTuple):
    """One machine's life; written again whenever something of it changes."""

    id: MachineId
    bag: BagId
    offering: str
    backend: str
    address: str = ""
    requested: float | None = None
    charged_since: float | None = None
    joined: float | None = None
    gone: float | None = None
    reason: str = ""
    cost: Money = Money(0)
    public_key: bytes = b""


class DecisionRow(NamedTuple):
    bag: BagId
    time: float
    words: str
