"""The course of a bag: what it has behind and before it, as placements by name ask."""

from bats.common.records import dataclass


@dataclass(frozen=True, slots=True)
class Course:
    """Times are in seconds; in mean runtimes of its tasks, if `mean` is 0 and nobody knows that."""

    tasks: int  # p_j
    unfinished: int  # m_j
    critical: float  # c_j, the longest way through all of it
    left: float  # ĉ_j, the longest way to the end from a task that is not begun
    next_rank: float  # the way to the end from the task that it would begin next
    mean: float = 0.0  # of a task
    level: int = 0  # the most tasks that may run at a time, as far as the placement looks ahead
