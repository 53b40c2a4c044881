"""The user's choice: a schedule, what may be spent, by when; and what came of it."""

from dataclasses import dataclass

from bats.common.money import NOTHING, Money
from bats.master.brain.protocol.events import Chosen


@dataclass(slots=True)
class Choice:
    budget: Money | None  # the user's own, which stays when something else is chosen
    cushion: Money  # granted, not yet opened
    word: Chosen | None = None  # from before there was a choice
    name: str = ""  # of the schedule
    at: float = 0.0
    committed: Money = NOTHING  # for ATUs entered until then; by the paper, for those reserved, too
    delta_n: int = 0  # ΔN of the chosen schedule: what its cushion is for
    deadline_at: float | None = None
    missed: bool = False  # the deadline cannot be met: as soon as possible, then
