"""Reasons of failures as the brain is told them: how an attempt ended and what it said last."""

import re
from collections.abc import Mapping
from typing import Final

from bats.common.messages import Outcome, Result
from bats.common.outcomes.failures import FAILURES, how_it_failed, last_line, why_it_failed

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
