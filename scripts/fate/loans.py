"""Machines that bags lend each other, as the events of borrowers tell; and what each bag did."""

from collections import Counter
from typing import Any

from bats.common.messages import BagId, MachineId
from bats.master.brain.household.notices import Came
from bats.master.brain.protocol.commands import Record
from bats.master.brain.protocol.events import Borrowed, TakenBack


class Loans:
    """What was lent to whom until when, by the world's clock, whatever the masters' lives."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.until: dict[tuple[BagId, MachineId], float] = {}  # the latest that was announced
        self.begun: list[tuple[MachineId, float, float]] = []  # a loan from when to when
        self.did: dict[tuple[BagId, int, float], list[Any]] = {}  # by place in a journal, and time

    def announced(self, _now: float, notice: Any, _answers: Any) -> None:
        """Something was told to the household."""
        self.counts["lent"] += isinstance(notice, Came) and notice.paid_by is not None

    def see(self, bag: BagId, event: Any, now: float, began: float) -> None:
        """An event of a bag whose own time began then."""
        if isinstance(event, Borrowed):
            of, until = (bag, event.machine), began + event.until
            self.until[of] = max(self.until.get(of, 0.0), until)
            self.begun.append((event.machine, now, until))
            self.counts["borrowed"] += 1
        elif isinstance(event, TakenBack):
            self.counts["taken back"] += 1

    def note(self, bag: BagId, heard: int, now: float, commands: list[Any]) -> None:
        """What a bag did at an event. A master that is killed may have lost that event."""
        self.did[bag, heard, now] = [*map(plain, commands)]


def plain(command: Any) -> Any:
    """A result that is recorded is more to whoever told it than to a journal."""
    if isinstance(command, Record):
        told = command.endings
        return [(command.machine, one.task, one.attempt, one.outcome) for one in told]
    return command
