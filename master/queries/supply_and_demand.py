"""Supply and demand of a bag, judged by the measures of autoscalers.

Curves are read off the bag's journal by its engine. A copy of a task is no demand of its own: the
place where it runs counts as one too many.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, field
from typing import Final, NamedTuple

import msgpack

from bats.common.billing import begun_before
from bats.common.errors import UsageError
from bats.common.messages import BagId, MachineId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.units import in_words
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetElasticity
from bats.master.bag import read_bag
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.elasticity import curves
from bats.master.brain.elasticity.charges import HOUR
from bats.master.brain.elasticity.rankings import scores
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import Ended
from bats.master.brain.protocol.journal import CODES, code_of, event_from
from bats.master.brain.protocol.numbering import by_hand
from bats.master.queries.question import Question
from bats.master.queries.replay import Recorded, Replayed
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow

Point = tuple[float, float]

_ENDED: Final = CODES[Ended]


class Changes:
    """A curve: what it was from when on."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def put(self, at: float, value: float) -> None:
        if not self.points or self.points[-1][1] != value:
            self.points.append((at, value))


@dataclass
class Course:
    """A bag's demand and supply from its beginning to its last event."""

    offerings: tuple[Offering, ...]
    machines: list[MachineRow]
    demand: Changes = field(default_factory=Changes)
    supply: Changes = field(default_factory=Changes)
    busy: Changes = field(default_factory=Changes)
    running: Changes = field(default_factory=Changes)  # tasks, copies not counted
    by_hand: Changes = field(default_factory=Changes)  # places on workers started by hand
    began: float = 0.0
    last: float = 0.0


def course(reader: Reader, number: BagId) -> Course:
    """Replays the bag's journal: a second or so for 100,000 tasks."""
    bag = read_bag(reader, number)
    found = Course(tuple(bag.settings.offerings), reader.machines(number))
    replayed = Replayed(bag, Recorded.of(bag, reader))
    for _, now, written in reader.events(number):
        replayed.hear(event_from(msgpack.unpackb(written), number), now)
        run = replayed.engine.headline()
        running = run.counts[TaskState.RUNNING]
        found.began, found.last = run.began_at, now
        found.demand.put(now, run.counts[TaskState.WAITING] + running)
        if code_of(written) != _ENDED:  # no machine comes or goes by a result
            found.supply.put(now, sum(_slots(replayed.engine, lambda _: True)))
            found.by_hand.put(now, sum(_slots(replayed.engine, by_hand)))
        found.running.put(now, running)
        found.busy.put(now, min(running, found.supply.points[-1][1]))
    return found


def _slots(engine: Engine, counts: Callable[[MachineId], bool]) -> Iterator[int]:
    for machine in engine.alive():
        if counts(machine.id) and machine.joined_at is not None and machine.wanted:
            yield machine.slots


@takes(GetElasticity)
async def elasticity(question: Question, want: GetElasticity) -> replies.Elasticity:
    number = await question.bag(want.bag)
    return await question.read(lambda reader: measured(course(reader, number), number, want))


def measured(of: Course, number: BagId, want: GetElasticity) -> replies.Elasticity:
    if not of.machines:
        raise UsageError(f"Bag {number} has had no machine yet: there is nothing to measure.")
    lasted = of.last - of.began
    since = want.since_seconds
    until = lasted if want.until_seconds is None else min(want.until_seconds, lasted)
    if until <= since:
        raise UsageError(
            f"From {in_words(since)} to {in_words(until)} there is nothing to measure: bag "
            f"{number} has gone on for {in_words(lasted)}."
        )
    begin, end = of.began + since, of.began + until
    most = want.most or sum(one.max_machines * one.slots for one in of.offerings)
    rows = (of.demand.points, of.supply.points, of.busy.points)
    machines = sum(one.max_machines for one in of.offerings)
    return {
        "bag": number,
        "since_seconds": since,
        "until_seconds": until,
        **judged(*rows, most, begin, end, list(_lives(of, begin, end)), machines),
    }


def judged(
    demand: curves.Curve,
    supply: curves.Curve,
    busy: curves.Curve,
    most: int,
    begin: float,
    end: float,
    lives: Sequence["Life"],
    machines: int,
) -> replies.Measures:
    """`machines` there can be at most, with `most` places."""
    own = curves.elasticity(demand, supply, busy, most, begin, end)
    base = curves.elasticity(demand, [(begin, float(most))], busy, most, begin, end)
    within = [one for one in lives if begin < one.until and one.since < end]
    return {
        "most": most,
        **asdict(own),  # type: ignore[typeddict-item]  # the same names
        "hours_on": sum(min(one.until, end) - max(one.since, begin) for one in within) / HOUR,
        "hours_charged": sum(_charged(one, begin) for one in within) / HOUR,
        "hours_always_on": machines * (end - begin) / HOUR,
        "score": _score(own, base),
    }


class Life(NamedTuple):
    """A machine's paid time until the end of the span."""

    atu_seconds: float
    since: float
    until: float


def _lives(of: Course, begin: float, end: float) -> Iterator[Life]:
    atus = {str(one.name): one.atu_seconds for one in of.offerings}
    for row in of.machines:
        gone = end if row.gone is None else min(row.gone, end)
        if row.offering in atus and row.charged_since is not None and begin < gone:
            yield Life(atus[row.offering], row.charged_since, gone)


def _charged(life: Life, begin: float) -> float:
    """Seconds of the ATUs that begin within the span."""
    before = begun_before(life.atu_seconds, life.since, begin)
    return (begun_before(life.atu_seconds, life.since, life.until) - before) * life.atu_seconds


def _score(own: curves.Elasticity, base: curves.Elasticity) -> float | None:
    """s, equation 4.16."""

    def named(one: curves.Elasticity) -> dict[str, float]:
        return {"a_U": one.a_u, "a_O": one.a_o, "t_U": one.t_u, "t_O": one.t_o,
                "k": one.k, "k'": one.k_less, "H": 1.0, "S_e": 1.0}  # fmt: skip

    try:
        return scores(named(own), named(base)).elasticity
    except ZeroDivisionError:
        return None
