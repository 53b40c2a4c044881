"""Reasons of failures as the brain is told them: how an attempt ended and what it said last."""

import re
from collections.abc import Mapping
from typing import Final

from bats.common.failure import FAILURES, how_it_failed, last_line, why_it_failed
from bats.common.messages import BagId, Outcome, Result, TaskId

_FAILURES: Final = frozenset(int(outcome) for outcome in FAILURES)
_SHORTEST: Final = 3  # characters of a value that is recognised in what a task says
_LONGEST: Final = 200


def why(result: Result, parameters: Mapping[str, str]) -> str:
    """The reason in the task's own words, but with `{name}` for values that only this task has."""
    if result.outcome not in _FAILURES:
        return ""
    how = how_it_failed(Outcome(result.outcome), result.exit_code)
    return why_it_failed(how, _named(last_line(result.excerpt), parameters))


def _named(said: str, parameters: Mapping[str, str]) -> str:
    """Put names for values that are whole words; numbers differ anyway, and may be anything."""
    for name, value in sorted(parameters.items(), key=lambda one: -len(one[1])):
        if _SHORTEST <= len(value) <= _LONGEST and not _is_number(value):
            said = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"{{{name}}}", said)
    return said


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def ways_out(bag: BagId, task: TaskId | None, *, again: bool) -> str:
    """Ways out for the user of a paused bag; `again`: what failed is tried again anyway."""
    ways = [
        f"`bats resume {bag}` goes on" + (" and tries them again" if again else ""),
        "" if again or task is None else f"`bats retry {bag}` also tries again what failed",
        f"`bats cancel {bag}` ends it",
        "" if task is None else f"`bats explain {bag} {task}` shows one",
    ]
    return f"Nothing more is spent. {', '.join(filter(None, ways))}."
