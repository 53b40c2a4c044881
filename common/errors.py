"""Errors a person can act on.

BatsError                    something outside this program: said in one sentence, no traceback
├── UsageError               exit 2: a wrong argument, file, key or value
├── PausedError              exit 1: what is waited for does not come before its user acts
├── CannotBeMetError         exit 3: no schedule within this budget or deadline
├── UnreachableError         exit 4: the master is not there, or refuses this key
└── StoreDamagedError        exit 2: the store on disk cannot be read as it should

BrokenInvariantError         a bug in BaTS: the books do not agree
"""

from reprlib import Repr
from typing import ClassVar, Final


class BatsError(Exception):
    """Says what happened, with numbers, and what to do; the command line prints just that.

    try:
        bag = master.submit("sweep.toml", budget="5")
    except BatsError as error:
        sys.exit(f"{error}")  # `error.exit_code` is the command line's
    """

    exit_code: ClassVar[int] = 2


class UsageError(BatsError):
    """A wrong argument, file, key or value: `sweep(command="echo {m}", grid={"n": "1:3"})`."""

    exit_code = 2


class PausedError(BatsError):
    """A bag is paused: what is waited for does not come before `bag.resume()`."""

    exit_code = 1


class CannotBeMetError(BatsError):
    """No schedule within this budget or deadline; it names one that would do.

    bag.choose(budget=1)
    """

    exit_code = 3


class UnreachableError(BatsError):
    """The master is not there, or refuses this key; `connect("access.json")` names another."""

    exit_code = 4


class StoreDamagedError(BatsError):
    exit_code = 2


class BrokenInvariantError(AssertionError):
    """A bug in BaTS. Please report it with the journal of the run."""


def quoted(value: object) -> str:
    """A wrong value as a message shows it: recognisable, never pages long."""
    return _SHORT.repr(value)


class _Short(Repr):
    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 4096:  # Python refuses to write out very long numbers
            return f"a number of {x.bit_length()} bits"
        return super().repr_int(x, level)


_SHORT: Final = _Short()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlong = 40
_SHORT.maxlevel = 3
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 4
