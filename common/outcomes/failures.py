"""Failures in words, and by which of those two failures count as alike."""

import re
from typing import Final

from bats.common.messages import Outcome

FAILURES: Final = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.NOT_STARTED)

_SAID: Final = ", '"
_DIFFERS: Final = re.compile(r"\{\w+\}|0x[0-9a-fA-F]+|\d+")
_LONGEST: Final = 200


def how_it_failed(outcome: Outcome, exit_code: int) -> str:
    """Words as a person would say them; a negative exit code is the signal that ended it."""
    if outcome is Outcome.TIMED_OUT:
        return "ran longer than its time limit"
    if outcome is Outcome.NOT_STARTED:
        return "could not be started"
    if exit_code < 0:
        return f"ended by signal {-exit_code}"
    return f"exit code {exit_code}"


def last_line(excerpt: str) -> str:
    """The last line that an attempt printed, as far as it helps to find the cause."""
    lines = excerpt.strip().splitlines()
    return lines[-1].strip()[:_LONGEST] if lines else ""


def why_it_failed(how: str, said: str) -> str:
    """Both in one: `exit code 2, 'No such file: mising.py'`."""
    return f"{how}{_SAID}{said}'" if said else f"{how} without a word"


def kind_of(why: str) -> str:
    """Failures of one kind ended the same way and said the same, numbers apart."""
    how, quote, said = why.partition(_SAID)
    return how + quote + without_numbers(said)


def without_numbers(said: str) -> str:
    """The words with a mark for what differs between tasks: numbers, and names of parameters."""
    return _DIFFERS.sub("#", said)
