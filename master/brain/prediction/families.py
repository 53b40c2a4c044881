"""Families of distributions, and speeds of kinds, that ended and running tasks may stem from.

Four tasks that ended first are the short ones, and perhaps none has run on two kinds of machines.
What they leave open is drawn: X has a generalised gamma distribution (Prentice 1974),
ln X = µ + σW, where e^(QW)·Q⁻² has a gamma distribution of shape Q⁻². Q makes it a Weibull
distribution at 1, a gamma distribution at σ, a log-normal one at 0, below that one with a tail like
Pareto's. A share p of the tasks are of a second mode: they take e^ρ times as long as the others.
Of n tasks that ended none may be of it, and p is a part in n still. Tasks that run count with the
chance that they take longer than they have. Kind k is by e^(δ_k) slower than its line says. The
priors of σ, Q, p, ρ and δ know what bags and prices are like in general, and nothing of any kind of
bag.

The posterior is walked through by an ensemble of walkers (Goodman and Weare 2010), which has no
steps to tune: each moves along the line to another by a factor z with density ~ 1/√z.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.learning.experience import SHARES, shares

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

SPREAD: Final = (0.5, 0.7)
"""σ: runtimes differ by a half, give or take a factor of two."""

SHAPE: Final = (0.0, 0.5)
"""Q: either skewed way, or not."""

SHARE: Final = (0.5, 2.0)
"""p, a beta distribution: many bags have one mode only, and the shorter tasks are mostly more."""

FURTHER: Final = (1.4, 0.7)
"""ρ: four times as long, give or take a factor of two; never shorter."""

MOST_SKEWED: Final = 1.5
LEAST_SKEWED: Final = 0.05  # a log-normal distribution for all that matters
OWN: Final = 5  # columns of a walker that are no δ
WALKERS: Final = 60
STEPS: Final = 100
STRETCH: Final = 2.0
LONGEST: Final = 100.0
"""Times the longest that was seen: how much longer nothing is reckoned to take."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Doubt about a kind's speed: δ by its line, and δ by what it costs; one σ each."""

    by_line: float  # inf: its line was fitted to nothing
    by_price: float  # what ln(seconds there) would be more, if speed were in proportion to price
    price_tells: float


@dataclass(frozen=True, slots=True)
class Seen:
    """Seconds on one kind, as its line makes them canonical ones."""

    done: Sequence[float]
    running: Sequence[float]
    doubt: Doubt | None  # None: it is the canonical kind


@dataclass(frozen=True, slots=True)
class Family:
    """One that is possible."""

    mu: float
    sigma: float
    Q: float
    delta: tuple[float, ...]  # of each kind
    longest: float
    p: float = 0.0
    rho: float = 0.0

    def runtimes(self, count: int, rng: Generator) -> Floats:
        """Canonical runtimes of so many tasks."""
        return self._after(np.zeros(count), rng)

    def ends(self, elapsed: Sequence[float], kinds: Sequence[int], rng: Generator) -> Floats:
        """Canonical runtimes of tasks that have run for so long, by their lines, on these kinds."""
        slower = np.exp(np.array([self.delta[k] for k in kinds], dtype=np.float64))
        return self._after(np.asarray(elapsed, dtype=np.float64) / slower, rng)

    def canonical(self, seconds: Sequence[float], kind: int) -> Floats:
        found: Floats = np.asarray(seconds, dtype=np.float64) / np.exp(self.delta[kind])
        return found

    def _after(self, tau: Floats, rng: Generator) -> Floats:
        """Each is longer than τ."""
        further = np.exp(self.rho)
        of_first, of_second = (self._beyond(tau / by) for by in (1.0, further))
        with np.errstate(invalid="ignore"):
            chance = self.p * of_second / (self.p * of_second + (1 - self.p) * of_first)
        by = np.where(rng.random(tau.size) < chance, further, 1.0)
        x = by * self._drawn(tau / by, rng)
        x = np.where(np.isfinite(x), x, self.longest)
        return np.clip(x, tau, np.maximum(self.longest, tau))

    def _beyond(self, tau: Floats) -> Floats:
        """The chance of a task of the first mode to be longer than τ."""
        with np.errstate(divide="ignore", over="ignore"):
            return _survival((np.log(tau) - self.mu) / self.sigma, np.asarray(self.Q))

    def _drawn(self, tau: Floats, rng: Generator) -> Floats:
        """Tasks of the first mode, each longer than τ."""
        from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

        a = self.Q**-2
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            grown = a * np.exp(self.Q * (np.log(tau) - self.mu) / self.sigma)
            u = 1.0 - rng.random(tau.size)
            if self.Q > 0:
                drawn = gammainccinv(a, u * gammaincc(a, grown))
            else:
                drawn = gammaincinv(a, u * gammainc(a, np.where(tau > 0, grown, np.inf)))
            x: Floats = np.exp(self.mu + self.sigma * np.log(drawn / a) / self.Q)
        return x


def families(seen: Sequence[Seen], count: int, rng: Generator) -> list[Family]:
    """So many families that what was seen may stem from; something must have ended."""
    from scipy.special import expit

    posterior = _Posterior(seen)
    walkers = _walked(posterior, max(WALKERS, count), rng)
    found = []
    walkers[:, 1], walkers[:, 2] = np.exp(walkers[:, 1]), _skew(walkers[:, 2])
    walkers[:, 3] = expit(walkers[:, 3])
    for mu, sigma, Q, p, rho, *doubtful in walkers[rng.permutation(len(walkers))[:count]].tolist():
        delta = [0.0] * len(seen)
        for k, value in zip(posterior.doubtful, doubtful, strict=True):
            delta[k] = value
        found.append(Family(mu, sigma, Q, tuple(delta), posterior.longest, p, rho))
    return found


class _Posterior:
    """ln of the density of (µ, ln σ, Q, logit p, ρ, δ…), but for a constant, of many at a time."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        self.doubtful = [k for k, one in enumerate(seen) if one.doubt is not None]
        self._doubts = [one.doubt for one in seen if one.doubt is not None]
        self._done, self._of_done, self._weigh_done = self._logs([one.done for one in seen])
        self._running, self._of_running, self._weigh_running = self._logs(
            [one.running for one in seen]
        )
        everything = np.concatenate([self._done, self._running])
        self.longest = LONGEST * float(np.exp(everything.max()))
        self.centre = float(self._done.mean())

    def _logs(self, of_kinds: Sequence[Sequence[float]]) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Logarithms, which δ is theirs, and how many tasks each stands for: many are as shares."""
        logs, columns, weights = [], [], []
        for k, seconds in enumerate(of_kinds):
            few = shares(sorted(seconds)) if len(seconds) > SHARES else tuple(seconds)
            logs += [float(np.log(max(x, 1e-9))) for x in few]
            columns += [self.doubtful.index(k) + 1 if k in self.doubtful else 0] * len(few)
            weights += [len(seconds) / max(1, len(few))] * len(few)
        return np.array(logs), np.array(columns, dtype=np.intp), np.array(weights)

    def __call__(self, at: Floats) -> Floats:
        from scipy.special import log_expit

        mu, sigma, Q = at[:, 0, None], np.exp(at[:, 1, None]), _skew(at[:, 2, None])
        first, second = log_expit(-at[:, 3, None]), log_expit(at[:, 3, None])
        delta = np.concatenate([np.zeros((len(at), 1)), at[:, OWN:]], axis=1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            w = (self._done - delta[:, self._of_done] - mu) / sigma
            further = at[:, 4, None] / sigma
            each = np.logaddexp(
                first + _log_density(w, Q), second + _log_density(w - further, Q)
            ) - np.log(sigma)
            found = (each * self._weigh_done).sum(axis=1)
            w = (self._running - delta[:, self._of_running] - mu) / sigma
            beyond = np.exp(first) * _survival(w, Q) + np.exp(second) * _survival(w - further, Q)
            found += (np.log(np.maximum(beyond, 1e-300)) * self._weigh_running).sum(axis=1)
        found += self._prior(at)
        return np.where(np.isfinite(found), found, -np.inf)

    def _prior(self, at: Floats) -> Floats:
        from scipy.special import log_expit

        known = -(((at[:, 1] - np.log(SPREAD[0])) / SPREAD[1]) ** 2) / 2
        known -= ((at[:, 2] - SHAPE[0]) / SHAPE[1]) ** 2 / 2
        known += SHARE[0] * log_expit(at[:, 3]) + SHARE[1] * log_expit(-at[:, 3])
        known -= ((at[:, 4] - FURTHER[0]) / FURTHER[1]) ** 2 / 2
        known = np.where((abs(at[:, 2]) <= MOST_SKEWED) & (at[:, 4] > 0), known, -np.inf)
        for column, doubt in enumerate(self._doubts, OWN):
            delta = at[:, column]
            # Student's t of 3: some prices tell nothing
            known -= 2 * np.log1p(((delta - doubt.by_price) / doubt.price_tells) ** 2 / 3)
            if np.isfinite(doubt.by_line):
                known -= (delta / doubt.by_line) ** 2 / 2
        return known

    def begun(self, walkers: int, rng: Generator) -> Floats:
        """Places to walk from."""
        columns = [
            self.centre + rng.normal(0.3, 0.3, walkers),
            np.log(SPREAD[0]) + rng.normal(0.0, SPREAD[1] / 2, walkers),
            np.clip(rng.normal(SHAPE[0], SHAPE[1] / 2, walkers), -1.0, 1.0),
            rng.normal(-2.0, 1.5, walkers),
            abs(rng.normal(FURTHER[0], FURTHER[1], walkers)),
        ]
        for doubt in self._doubts:
            if np.isfinite(doubt.by_line):
                columns.append(rng.normal(0.0, doubt.by_line, walkers))
            else:
                columns.append(rng.normal(doubt.by_price, doubt.price_tells, walkers))
        return np.column_stack(columns)


def _log_density(w: Floats, Q: Floats) -> Floats:
    """Logarithm of the density of W."""
    from scipy.special import gammaln

    a = Q**-2
    found: Floats = np.log(abs(Q)) + a * np.log(a) - gammaln(a) + a * (Q * w - np.exp(Q * w))
    return found


def _survival(w: Floats, Q: Floats) -> Floats:
    """P(W > w)."""
    from scipy.special import gammainc, gammaincc

    a = Q**-2
    grown = a * np.exp(Q * w)
    found: Floats = np.where(Q > 0, gammaincc(a, grown), gammainc(a, grown))
    return found


def _skew(Q: Floats) -> Floats:
    return np.where(Q < 0, np.minimum(Q, -LEAST_SKEWED), np.maximum(Q, LEAST_SKEWED))


def _walked(posterior: _Posterior, walkers: int, rng: Generator) -> Floats:
    walkers += walkers % 2
    at = posterior.begun(walkers, rng)
    density = posterior(at)
    half, dimensions = walkers // 2, at.shape[1]
    parts = (slice(None, half), slice(half, None))
    for _ in range(STEPS):
        for mine, others in (parts, parts[::-1]):
            z = ((STRETCH - 1) * rng.random(half) + 1) ** 2 / STRETCH
            towards = at[others][rng.integers(half, size=half)]
            there = towards + z[:, None] * (at[mine] - towards)
            new = posterior(there)
            with np.errstate(invalid="ignore"):
                better = (dimensions - 1) * np.log(z) + new - density[mine]
            moves = np.log(1.0 - rng.random(half)) < better
            at[mine] = np.where(moves[:, None], there, at[mine])
            density[mine] = np.where(moves, new, density[mine])
    return at
