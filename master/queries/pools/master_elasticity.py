"""Supply and demand of a whole master between two times, judged by the measures of autoscalers.

Demand is that of all bags; supply the places of pools, of machines that bags bought, and those of
workers started by hand that bags had. Curves come from journals and rows, with a master or without.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.common.offering import MANUAL, Offering
from bats.common.records import dataclass
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetMasterElasticity
from bats.master.bag import read_bag
from bats.master.brain.elasticity import curves
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.queries.question import Question
from bats.master.queries.supply_and_demand import Life, Point, course, judged
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow, MachineRow


@takes(GetMasterElasticity)
async def elasticity(question: Question, want: GetMasterElasticity) -> replies.MasterElasticity:
    now = time.time()
    begin, end = now - want.since_seconds_ago, now - want.until_seconds_ago
    return await question.read(lambda reader: measured(reader, begin, end, want.most))


@dataclass(frozen=True, slots=True)
class Found:
    """Demand and supply of a span: curves in places, by the calendar."""

    bags: int
    demand: curves.Curve
    supply: curves.Curve
    busy: curves.Curve
    lives: Sequence[Life]
    places: int  # that there can be
    machines: int


def measured(
    reader: Reader, begin: float, end: float, most: int | None
) -> replies.MasterElasticity:
    if end <= begin:
        raise UsageError("The span to measure ends before it begins: give --since the longer time.")
    found = found_in(reader, begin, end)
    if not found.bags and not found.lives:
        raise UsageError("No bag ran and no machine was there in that time.")
    of = found.demand, found.supply, found.busy
    return {
        "bags": found.bags,
        "since": begin,
        "until": end,
        **judged(*of, most or found.places or 1, begin, end, found.lives, found.machines),
    }


def found_in(reader: Reader, begin: float, end: float) -> Found:
    demand, supply, busy = _Steps(), _Steps(), _Steps()
    lives: list[Life] = []
    places = machines = bags = 0
    bought: dict[str, Offering] = {}
    for row, began in _of_span(reader, begin, end):
        bags += 1
        of = course(reader, row.id)
        ended = end if row.ended is None else row.ended
        offerings = {str(one.name): one for one in of.offerings if one.backend != MANUAL}
        bought |= offerings
        demand.add(_moved(of.demand.points, began, ended))
        busy.add(_moved(of.running.points, began, ended))
        by_hand = _moved(of.by_hand.points, began, ended)
        supply.add(by_hand)
        places += int(max((value for _, value in by_hand), default=0))
        own = [one for one in of.machines if one.bag == row.id]
        _add_rows(own, offerings, began, end, supply, lives)
    for number, pool in replayed_pools(reader).items():
        kinds = {str(one.offering.name): one.offering for one in pool.kinds}
        _add_rows(reader.machines(number), kinds, 0.0, end, supply, lives)
        machines += min(pool.rules.most, sum(one.max_machines for one in pool.rules.kinds))
        places += pool.rules.most_places
    machines += sum(one.max_machines for one in bought.values())
    places += sum(one.max_machines * one.slots for one in bought.values())
    of_all = demand.curve(), supply.curve(), busy.curve()
    return Found(bags, *of_all, lives, places, machines)


def _of_span(reader: Reader, begin: float, end: float) -> Iterator[tuple[BagRow, float]]:
    """Bags that ran in it, and when each began."""
    for row in reader.bags():
        summary = json.loads(row.summary) if row.summary else {}
        began = summary.get("began")
        if began is not None and began < end and (row.ended is None or row.ended > begin):
            yield row, read_bag(reader, BagId(row.id)).began or began


def _moved(points: Iterable[Point], began: float, ended: float) -> list[Point]:
    """By the calendar; nothing any more once the bag has ended."""
    return [*((began + at, value) for at, value in points if began + at < ended), (ended, 0.0)]


def _add_rows(
    rows: Iterable[MachineRow],
    offerings: dict[str, Offering],
    began: float,
    end: float,
    supply: "_Steps",
    lives: list[Life],
) -> None:
    for row in rows:
        offering = offerings.get(row.offering)
        if offering is None:
            continue
        gone = end if row.gone is None else began + row.gone
        if row.joined is not None:
            supply.add([(began + row.joined, float(offering.slots)), (gone, 0.0)])
        if row.charged_since is not None:
            lives.append(Life(offering.atu_seconds, began + row.charged_since, min(gone, end)))


class _Steps:
    """A sum of curves."""

    def __init__(self) -> None:
        self._changes: list[Point] = []

    def add(self, points: Iterable[Point]) -> None:
        before = 0.0
        for at, value in points:
            self._changes.append((at, value - before))
            before = value

    def curve(self) -> list[Point]:
        found: list[Point] = []
        total = 0.0
        for at, change in sorted(self._changes):
            total += change
            if found and found[-1][0] == at:
                found[-1] = at, total
            else:
                found.append((at, total))
        return found
