"""Errors of estimates: the intervals of T ch. 4, with the letters of the paper.

The machines of a mix are seen as one aggregate machine that runs the bag in sequence:
γ = Σ a_k/µ_k, µ_agg = 1/γ, and with S1 = (1/γ)·Σ a_k µ_k, S2 = (1/γ)·Σ a_k σ_k²/µ_k and
S3 = (Σ a_k)²/γ²: σ_agg = √(S1+S2-S3) / Σ a_k. Then M ≤ N·µ_agg,max + √N·z·σ_agg,max holds with a
probability of at least p_M + p_µ + p_σ - 2.

This leaves out the tail, where machines wait for the last tasks to end.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from bats.common.billing import charge_to_work
from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass

P_M = P_MU = P_SIGMA = 0.9


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and standard deviation of a sample of n (the biased one, as in T §4.1.4)."""

    n: int
    mu: float
    sigma: float


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def moments(sample: Sequence[float]) -> Moments:
    n = len(sample)
    mu = math.fsum(sample) / n
    return Moments(n, mu, math.sqrt(math.fsum((x - mu) ** 2 for x in sample) / n))


def mean_interval(known: Moments, p: float = P_MU) -> Interval:
    """The interval of the distribution's mean: µ̄ ± t_{n-1}·σ̄/√n, and never below nothing."""
    if known.n < 2:
        return Interval(0.0, math.inf)
    reach = _student(known.n - 1, p) * known.sigma / math.sqrt(known.n)
    return Interval(max(0.0, known.mu - reach), known.mu + reach)


def sigma_interval(known: Moments, p: float = P_SIGMA) -> Interval:
    """The interval of its σ: σ̄·√(n/χ²_{1-α/2}) to σ̄·√(n/χ²_{α/2}), for n-1 degrees of freedom."""
    if known.n < 2:
        return Interval(0.0, math.inf)
    upper_chi2, lower_chi2 = _chi2(known.n - 1, p)
    return Interval(
        known.sigma * math.sqrt(known.n / upper_chi2), known.sigma * math.sqrt(known.n / lower_chi2)
    )


def makespan_bound(
    N: int,
    a: Sequence[int],
    known: Sequence[Moments],
    p_M: float = P_M,
    p_mu: float = P_MU,
    p_sigma: float = P_SIGMA,
) -> float:
    """Upper bound in seconds for N tasks (4.12); a_k counts the slots bought from cluster k."""
    if N == 0:
        return 0.0
    bought = [(a_k, k) for a_k, k in zip(a, known, strict=True) if a_k > 0]
    if not bought:
        return math.inf
    mu = [(a_k, mean_interval(k, p_mu)) for a_k, k in bought]
    gamma_min = math.fsum(a_k / m.high for a_k, m in mu)  # at µ_max
    gamma_max = math.fsum(a_k / m.low if m.low > 0 else math.inf for a_k, m in mu)
    if gamma_min == 0 or math.isinf(gamma_max):
        return math.inf
    machines = sum(a_k for a_k, _ in bought)
    sigma_max = [sigma_interval(k, p_sigma).high for _, k in bought]
    S1 = math.fsum(a_k * m.high for a_k, m in mu) / gamma_min
    S2 = (
        math.fsum(a_k / m.low * s**2 for (a_k, m), s in zip(mu, sigma_max, strict=True)) / gamma_min
    )
    S3 = machines**2 / gamma_max**2
    sigma_agg_max = math.sqrt(max(0.0, S1 + S2 - S3)) / machines
    return N / gamma_min + math.sqrt(N) * _normal(p_M) * sigma_agg_max


def promised(p_M: float = P_M, p_mu: float = P_MU, p_sigma: float = P_SIGMA) -> float:
    """The probability that the bound holds, at least (4.13)."""
    return max(0.0, p_M + p_mu + p_sigma - 2)


def budget_bound(
    mix: Sequence[int], offerings: Sequence[Offering], makespan_seconds: float
) -> Money:
    """The cost of all machines of the mix when they are kept until then."""
    return Money(
        sum(
            a_k * charge_to_work(offering, makespan_seconds)
            for a_k, offering in zip(mix, offerings, strict=True)
            if a_k
        )
    )


# scipy takes a fifth of a second to load, and most free bags never need it.


@lru_cache
def _normal(p: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(p))


@lru_cache
def _student(freedom: int, p: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + p) / 2))


@lru_cache
def _chi2(freedom: int, p: float) -> tuple[float, float]:
    """The quantiles at 1-α/2 and α/2; `chdtri` takes the probability of the upper tail."""
    from scipy.special import chdtri

    return float(chdtri(freedom, (1 - p) / 2)), float(chdtri(freedom, (1 + p) / 2))
