"""The states of a bag, for those too who need nothing else of it."""

from typing import Final

HELD: Final = "held"  # submitted, and not to begin before it is released
QUEUED: Final = "queued"  # begins when those that it waits for have ended
RUNNING: Final = "running"
PAUSED: Final = "paused"  # and has no machine left; it does not keep others from running
BROKEN: Final = "broken"  # ended by a bug of ours
OPEN: Final = (HELD, QUEUED, RUNNING, PAUSED)
"""States of a bag; one that has ended has its outcome for a state."""
