"""The size of a sample: tasks to run before anything is promised (T §2.2.1, formula 2.1).

n = ceil(N·z² / (z² + 2(N-1)Δ²)), which never exceeds ceil(z²/2Δ²): the sample of an endless bag.
"""

import math
from typing import Final

Z_AT: Final = {0.90: 1.65, 0.95: 1.96, 0.99: 2.58}  # two-sided, rounded as the paper has them
DELTA: Final = 0.25
FEW: Final = 30  # below this the central limit theorem is not to be leaned on
LARGEST_SHARE: Final = 0.05  # of the bag, for draws to count as draws with replacement


def sample_size(N: int, z: float = Z_AT[0.95], delta: float = DELTA) -> int:
    """The number of N tasks to sample; at least one, never more than there are."""
    if N < 1:
        raise ValueError(f"a bag has at least one task, not {N}")
    n = math.ceil(N * z**2 / (z**2 + 2 * (N - 1) * delta**2))
    return min(n, N)


def caveat(n: int, N: int) -> str | None:
    """A warning about a sample of n from N tasks; None when it is sound."""
    if n < min(FEW, N):
        return f"the sample has {n} tasks, fewer than the {FEW} that estimates lean on"
    if n > LARGEST_SHARE * N:
        return (
            f"the sample is {n} of {N} tasks: what is told of the rest of so small a bag is rough"
        )
    return None
