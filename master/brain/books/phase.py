"""The phases of a run, and the moves from one to another that are legal."""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Phase(Enum):
    SAMPLING = "sampling"
    CHOOSING = "choosing"  # schedules are offered; nobody has picked one yet
    EXECUTING = "executing"
    ENDING = "ending"  # nothing will run any more; machines are being stopped
    ENDED = "ended"


_P = Phase
MOVES: Final[Mapping[Phase, frozenset[Phase]]] = {
    _P.SAMPLING: frozenset({_P.CHOOSING, _P.EXECUTING, _P.ENDING}),
    _P.CHOOSING: frozenset({_P.EXECUTING, _P.ENDING}),
    _P.EXECUTING: frozenset({_P.EXECUTING, _P.ENDING}),  # the former: another schedule is chosen
    _P.ENDING: frozenset({_P.ENDED, _P.SAMPLING, _P.EXECUTING}),  # the latter: tried again
    _P.ENDED: frozenset({_P.SAMPLING, _P.EXECUTING}),  # likewise
}
"""Legal moves; anything else is a bug."""
