"""Errors a person can act on.

BatsError                    something outside this program: said in one sentence, no traceback
├── UsageError               exit 2: a wrong argument, file, key or value
├── CannotBeMetError         exit 3: no schedule within this budget or deadline
├── UnreachableError         exit 4: the master is not there, or refuses this key
└── StoreDamagedError        exit 2: the store on disk cannot be read as it should

BrokenInvariantError         a bug in BaTS: the books do not agree
"""

from typing import ClassVar


class BatsError(Exception):
    """Says what happened, with numbers, and what to do; the command line prints just that."""

    exit_code: ClassVar[int] = 2


class UsageError(BatsError):
    exit_code = 2


class CannotBeMetError(BatsError):
    exit_code = 3


class UnreachableError(BatsError):
    exit_code = 4


class StoreDamagedError(BatsError):
    exit_code = 2


class BrokenInvariantError(AssertionError):
    """A bug in BaTS. Please report it with the journal of the run."""
