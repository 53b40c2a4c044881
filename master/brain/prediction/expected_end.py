"""The error of a bag's expected end, as it is shown while the bag runs.

N tasks at v tasks per second are expected to take N/v. Their sum wavers by spread·√N of a task,
and the mean runtime is known from n tasks only, with an error of spread/√n of it. At the end
machines wait for the last tasks: by no more than (1 - 1/S) of the longest one with S slots
(R. L. Graham, Bounds on multiprocessing timing anomalies, 1969).
"""

import math
from typing import Final

CONFIDENCE: Final = 0.9
_Z: Final = 1.645  # of the normal distribution, 5 % above
_LEAST: Final = 0.2  # where next to nothing is known: no more than five times what is expected


def eta_bounds(
    tasks: int, speed: float, slots: int, spread: float, known: int, longest_seconds: float
) -> tuple[float, float]:
    """Between which times from now, in seconds, the last of the tasks should end.

    `spread` is a standard deviation as a share of the mean, known from so many tasks.
    """
    expected = tasks / speed
    reach = _Z * spread * math.sqrt(1 / tasks + 1 / known)
    tail = longest_seconds * (1 - 1 / slots)
    # Divided: who has seen few long tasks takes their mean for too short, more than for too long.
    return expected / (1 + reach), expected / max(_LEAST, 1 - reach) + tail
