"""The user's choice: a schedule, what may be spent, by when; and what came of it."""

from dataclasses import field

from bats.common.errors import BrokenInvariantError
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.protocol.events import Chosen


@dataclass(frozen=True, slots=True)
class Share:
    """A bag's part, at some moment, of what bags have in common."""

    places: int  # on machines that serve all
    machines: tuple[int, ...]  # of each offering that it knows, that it may have


@dataclass(frozen=True, slots=True)
class Told:
    """Schedules, with what they come to from then on as far as it is known."""

    schedules: tuple[Schedule, ...]
    at: float
    spent: Money  # until then
    tasks: int = 0  # of the bag, as far as they were known
    share: Share | None = None  # that it counts with

    @property
    def total_cost(self) -> Money:
        """The price of the whole run that is told of a single one, with its confidence."""
        return Money(self.spent + self._bounds().cost)

    def ends(self, *, sure: bool) -> float:
        """The time of the end that is told of a single one, in the median or with confidence."""
        bounds = self._bounds()
        return self.at + (bounds.makespan_seconds if sure else bounds.median_seconds)

    def _bounds(self) -> Bounds:
        (schedule,) = self.schedules
        if schedule.bounds is None:
            raise BrokenInvariantError(f"nobody has told what {schedule.name} comes to")
        return schedule.bounds


@dataclass(slots=True)
class Choice:
    """The word that was taken, and what is told of it."""

    budget: Money | None  # the user's own, which stays when something else is chosen
    cushion: Money  # granted, not yet opened
    word: Chosen | None = None  # from before there was a choice
    name: str = ""  # of the schedule
    at: float = 0.0
    committed: Money = NOTHING  # for ATUs entered until then; by the paper, for those reserved, too
    delta_n: int = 0  # ΔN of the chosen schedule: what its cushion is for
    deadline_at: float | None = None
    missed: bool = False  # the deadline cannot be met: as soon as possible, then
    awaits_more: bool = False  # too few tasks have ended to tell what it comes to
    drafts: tuple[Schedule, ...] = ()  # as they were planned, before anybody ran them ahead
    asked: Told | None = None  # of what it is being found out what it comes to
    offered: Told | None = None  # what there was to choose from, as foretold
    beside: bool = False  # that was foretold once a budget had decided, and is older by now
    told: Told | None = None  # what was told of that which was chosen
    told_before: Money = NOTHING  # what was told until more tasks or machines came
    looks: list[Told] = field(default_factory=list)  # what it came to each time since, and by now
    looked: int = 0  # after which part of the bag that was asked last
    warned: bool = False  # the user has been told that what was told will hardly hold
