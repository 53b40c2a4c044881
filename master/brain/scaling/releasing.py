"""The release of an idle machine too many: at once, or at the end of the time paid for it.

The thesis gives machines back at once. With time that is paid by the hour that pays most hours for
little use: a machine that is started again soon is paid again.
"""

from collections.abc import Callable, Mapping
from typing import Final

from bats.common.errors import UsageError, quoted

Due = Callable[[float, float], bool]
"""True for an age in seconds and the seconds to the next look, if the time has come."""


def at_once(_: float) -> Due:
    return lambda _age, _interval: True


def at_end_of_paid_time(atu: float) -> Due:
    """At the last look before the next ATU would begin."""
    return lambda age, interval: atu - age % atu <= interval


RELEASES: Final[Mapping[str, Callable[[float], Due]]] = {
    "idle": at_once,
    "paid": at_end_of_paid_time,
}
USUAL: Final = "paid"


def release(name: str, atu: float) -> Due:
    """Raises UsageError."""
    if name not in RELEASES:
        raise UsageError(f"{quoted(name)} is no way to release; there are {', '.join(RELEASES)}.")
    return RELEASES[name](atu)
