"""Failed attempts, grouped by what seems to be their cause."""

from dataclasses import field
from itertools import islice
from typing import Final

from bats.common.messages import BagId, Outcome, Result
from bats.common.outcomes.failures import (
    FAILURES,
    how_it_failed,
    last_line,
    why_it_failed,
    without_numbers,
)
from bats.common.records import dataclass
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetFailures
from bats.master.queries.question import Question
from bats.master.store.reader import Reader, TaskQuery

MOST_READ: Final = 20_000  # attempts; who has more failures finds their cause among these
_EXAMPLES: Final = 8


@takes(GetFailures)
async def why_failed(question: Question, want: GetFailures) -> replies.Failures:
    """Reasons why tasks failed for good: what is alike counts once, the commonest first."""
    number = await question.bag(want.bag)
    found = await question.read(lambda reader: failures(reader, number))
    return {
        "bag": number,
        "failures": [
            {"why": one.why, "tasks": one.for_good, "first": min(one.tasks)}
            for one in sorted(found, key=lambda one: -one.for_good)
            if one.for_good
        ],
    }


@dataclass(slots=True)
class Failure:
    outcome: Outcome
    exit_code: int
    attempts: int = 0
    for_good: int = 0  # of which their tasks were given up
    tasks: list[int] = field(default_factory=list)  # the first few
    more: bool = False  # tasks than these
    excerpt: str = ""  # of the first

    @property
    def words(self) -> str:
        return how_it_failed(self.outcome, self.exit_code)

    @property
    def why(self) -> str:
        """In one line: how it ended and what it said last."""
        return why_it_failed(self.words, last_line(self.excerpt))


def failures(reader: Reader, bag: BagId) -> list[Failure]:
    """The commonest first. Outputs that differ only in numbers count as the same cause."""
    groups: dict[tuple[Outcome, int, str], Failure] = {}
    final = reader.tasks(bag, TaskQuery(outcomes=FAILURES, limit=MOST_READ)).rows
    retried = (row for row in reader.every_attempt(bag) if row.outcome in FAILURES)
    for row in final:
        _count(groups, row).for_good += 1
    for row in islice(retried, MOST_READ):
        _count(groups, row)
    return sorted(groups.values(), key=lambda one: (-one.attempts, one.exit_code, one.excerpt))


def _count(groups: dict[tuple[Outcome, int, str], Failure], row: Result) -> Failure:
    key = (row.outcome, row.exit_code, cause(row.excerpt))
    group = groups.setdefault(key, Failure(row.outcome, row.exit_code, excerpt=row.excerpt.strip()))
    group.attempts += 1
    if row.task not in group.tasks:
        if len(group.tasks) < _EXAMPLES:
            group.tasks.append(row.task)
        else:
            group.more = True
    return group


def cause(excerpt: str) -> str:
    """The last words, numbers left out: `ValueError: bad seed #`."""
    return without_numbers(last_line(excerpt))
