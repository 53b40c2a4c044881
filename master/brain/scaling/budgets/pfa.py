"""PFA, the Performance-Feedback Autoscaler (§5.3.3): a budget spent by what machines achieved.

No runtimes are known. i is a kind of machine, q_i its price for an interval, b the budget for one.

(5.1) τ_i = tasks ended in the last interval per machine (5.2) ρ̂_i = τ_i / Σ τ
(5.3, 5.4) ρ_i = mean of ρ̂_i over the last m + 1 intervals in which something ended; all alike where
           a kind has achieved nothing
(5.6) ν_i = q_i ρ_i / Σ q ρ                     (5.7) μ̂_i = ⌊b ν_i / q_i⌋    (5.8) μ̃ = Σ μ̂
(5.10) ζ = ⌈T⌉, T the mean of the τ (5.9)       (5.11) σ = ⌈θ / T⌉
λ and θ are the widest generation and all tasks of the generations up to the ζ-th of all workflows.
Without any throughput ζ = ∞ and σ = λ.

Where μ̃ > σ there are (5.14) μ_i = ⌈σ μ̂_i / μ̃⌉. Where μ̃ < σ machines are inflated: what is left
buys the cheaper kinds, then dearer ones are exchanged for as many of the next cheaper as they pay
for. Published knobs: m = 10, 20, 30.

EWMA (5.5, 5.12, 5.13), with `alpha` = .7, .8, .9, has instead ρ = α ρ + (1 - α) ρ̂, all alike where
a kind has achieved nothing, ζ = ⌈α ζ + (1 - α) mean τ⌉, σ = ⌈θ |R| / Σ τ⌉.
"""

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final, NamedTuple

from bats.common.money import Money
from bats.master.brain.scaling.scaler import ElasticView, Kind

WINDOW: Final = 10
LEAST_PRICE: Final = Money(1)
"""A billionth: machines that cost nothing are not without end."""


class Need(NamedTuple):
    """Needs as throughput tells them: shares of the kinds, ζ, and T."""

    shares: Sequence[float]  # ρ
    depth: float  # ζ
    each: float  # T; 0: unknown


class MovingAverage:
    def __init__(self, m: int = WINDOW) -> None:
        self._past: deque[Sequence[float]] = deque(maxlen=m + 1)

    def hear(self, throughput: Sequence[float]) -> Need:
        self._past.append(throughput)
        known = [one for one in self._past if sum(one) > 0]
        alike = [1 / len(throughput)] * len(throughput)
        if not known:
            return Need(alike, math.inf, 0.0)
        shares = [fmean(one[i] / sum(one) for one in known) for i in range(len(throughput))]
        each = fmean(tau for one in known for tau in one)
        return Need(shares if min(shares) > 0 else alike, math.ceil(each), each)


class ExponentialAverage:
    def __init__(self, alpha: float) -> None:
        self._alpha = alpha
        self._shares: Sequence[float] = ()
        self._depth = 0.0

    def hear(self, throughput: Sequence[float]) -> Need:
        alpha, total = self._alpha, sum(throughput)
        kinds = len(throughput)
        alike = [1 / kinds] * kinds
        if min(throughput) > 0:
            before = self._shares or alike
            self._shares = [
                alpha * old + (1 - alpha) * tau / total
                for old, tau in zip(before, throughput, strict=True)
            ]
        else:
            self._shares = alike
        if not total:
            return Need(self._shares, math.inf, 0.0)
        each = total / kinds
        self._depth = math.ceil(alpha * (self._depth or each) + (1 - alpha) * each)
        return Need(self._shares, self._depth, each)


class PFA:
    sees_tasks = True

    def __init__(self, m: int = WINDOW, alpha: float | None = None) -> None:
        self._average = MovingAverage(m) if alpha is None else ExponentialAverage(alpha)

    def want(self, pool: ElasticView) -> Sequence[int]:
        throughput = [
            ended / have if have else 0.0
            for ended, have in zip(pool.ended, pool.supply, strict=True)
        ]
        need = self._average.hear(throughput)
        generations = waves(pool, need.depth)
        machines = math.ceil(sum(generations) / need.each) if need.each else max(generations)
        if pool.budget is None:
            raise ValueError("PFA spends a budget, and this pool has none")
        return spent(pool.budget, pool.kinds, need.shares, machines)


def waves(pool: ElasticView, depth: float) -> list[int]:
    """Tasks of each generation of all workflows together, the first being those that can run."""
    sums = [0]
    for one in pool.present:
        counts = one.generations.counts
        reach = len(counts) if depth == math.inf else min(len(counts), int(depth) + 1)
        sums += [0] * (reach - len(sums))
        for generation in range(reach):
            sums[generation] += counts[generation]
    return sums


def spent(budget: Money, kinds: Sequence[Kind], shares: Sequence[float], needed: int) -> list[int]:
    """μ: machines of each kind for the budget, no more than needed where that can be told."""
    prices = [max(kind.price, LEAST_PRICE) for kind in kinds]
    weight = sum(q * rho for q, rho in zip(prices, shares, strict=True))
    # ν_i / q_i = ρ_i / Σ q ρ; the hair is for floating point, which must not take a machine away.
    most = [int(budget * rho / weight + 1e-9) for rho in shares]
    total = sum(most)
    if total > needed:
        return [-(-needed * one // total) for one in most]
    return inflated(budget, prices, most, needed)


def inflated(
    budget: Money, prices: Sequence[Money], machines: Sequence[int], needed: int
) -> list[int]:
    """More machines for the same money, until there are as many as needed."""
    numbers = list(machines)
    left = budget - sum(q * n for q, n in zip(prices, numbers, strict=True))
    by_price = sorted(range(len(prices)), key=lambda kind: prices[kind])
    for kind in by_price[:-1]:
        more = max(0, min(left // prices[kind], needed - sum(numbers)))
        numbers[kind] += more
        left -= more * prices[kind]
    for cheaper, kind in pairwise(by_price):
        while numbers[kind] and sum(numbers) < needed:
            left += prices[kind]
            bought = left // prices[cheaper]
            if bought <= 1:
                left -= prices[kind]
                break
            numbers[kind] -= 1
            numbers[cheaper] += bought
            left -= bought * prices[cheaper]
    return numbers
