"""Signs that a run gets on, or does not: what a watch over it goes by."""

from dataclasses import field

from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.books.alike_failures import Alike


@dataclass(slots=True)
class Progress:
    ended_last: float = 0.0  # when a task ended
    spent_then: Money | None = None  # until then; None: to be counted
    fruitless: int = 0  # machines since then that ended with a task on them
    alike: Alike = field(default_factory=Alike)  # failures since it began or was resumed
    forgiven: int = 0  # tasks that were given up before that
    waited_since: float = 0.0  # for machines of the sample: since it was resumed, or grew
    unasked: Money = NOTHING  # what the sample had cost when it was resumed without a budget
    stood_still: float = 0.0  # so long since the schedule was chosen: paused, or ended and resumed

    def went_on(self, stood_since: float, chosen_at: float, now: float) -> None:
        self.stood_still += max(0.0, now - max(stood_since, chosen_at))
