"""Experience across bags, as it can be looked at."""

from statistics import fmean

from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetLearned
from bats.master.brain.learning.losses import Losses
from bats.master.brain.learning.machine_speeds import PARTS
from bats.master.queries.question import Question
from bats.master.store.rows import LearnedRow


@takes(GetLearned)
async def learned(question: Question, want: GetLearned) -> replies.Learned:
    del want
    rows = await question.read(lambda reader: reader.learned())
    return {
        "learned": [_told(row) for row in rows if row.template not in PARTS],
        "speeds": [_speeds(row) for name in PARTS for row in rows if row.template == name],
    }


def _speeds(row: LearnedRow) -> replies.MachineSpeeds:
    return {
        "of": PARTS[row.template],
        "offering": row.offering,
        "machines": row.tasks,
        "slowness": list(row.rising),
        "at": row.at,
    }


def _told(row: LearnedRow) -> replies.Lesson:
    return {
        "command": row.template,
        "offering": row.offering,
        "tasks": row.tasks,
        "mean_seconds": fmean(row.rising),
        "longest_seconds": row.rising[-1],
        "at": row.at,
        "lost": _lost(row),
    }


def _lost(row: LearnedRow) -> replies.Lost | None:
    """None of a reliable offering."""
    if not row.losses:
        return None
    one = Losses(*row.lost)
    return {
        "known": one.known,
        "lately": one.lately,
        "ahead": one.ahead,
        "hazard_per_hour": one.hazard_per_hour,
        "effective_size": one.size,
    }
