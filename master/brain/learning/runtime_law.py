"""The law of runtimes: how they follow from a sweep's parameters, where they demonstrably do.

log t = β0 + Σ βj·xj is fitted by least squares. A term x is the logarithm of a parameter (t grows
by a factor with each doubling), the parameter itself (by a factor with each unit), or whether it is
one of a few words. Terms are added one at a time, always the one that leaves the least errors when
each runtime is foretold by all the others (PRESS: Allen 1974), as long as it lessens them by a
tenth. What was chosen so looks better than it is: a law holds only if all of that, done anew
without a tenth of the runtimes, foretells those clearly better than the mean of the rest does.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.protocol.parameters import Parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

FEWEST: Final = 8  # runtimes from which a law is looked for
MOST_TERMS: Final = 3
LESSENS: Final = 0.9  # of the squared errors, at most so much is left by one more term
FOLDS: Final = 10
EXPLAINS: Final = 0.3  # of the variance of log runtimes, foretold, at least
CLEARLY: Final = 1.645  # standard errors by which it foretells better than the mean
DIFFERS: Final = 0.05  # tasks that differ by less than this in length may go in any order
PINNED: Final = 0.98  # the leverage of a runtime that alone decides a term: it foretells nothing
BEYOND: Final = 2.0  # times the longest or shortest that was seen: no law is known to hold further
_NULL: Final = 1e-9


class Kind(enum.Enum):
    POWER = "power"  # of the logarithm
    GROWTH = "growth"  # of the value itself
    LEVEL = "level"  # of being one of the words


@dataclass(frozen=True, slots=True)
class Term:
    parameter: str
    kind: Kind
    level: str = ""
    low: float = 0.0  # the least and the greatest value in the bag
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class Law:
    """Runtimes are those that it was fitted to."""

    terms: tuple[Term, ...]
    slopes: tuple[float, ...]  # β1, β2 …
    explained: float  # of the variance of log runtimes, in those it was not fitted to
    runtimes: int
    ratios: tuple[float, ...]  # rising: what was over what all others foretold; their mean is 1

    @property
    def error(self) -> float:
        """The relative error (one σ) of what is foretold of one task."""
        return math.sqrt(math.fsum((r - 1) ** 2 for r in self.ratios) / len(self.ratios))


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The terms that there may be, and what each is in each task."""

    terms: tuple[Term, ...]
    matrix: Floats  # tasks × terms

    def __deepcopy__(self, _memo: object) -> Design:
        return self  # nothing in it changes


def design(parameters: Parameters) -> Design:
    terms: list[Term] = []
    columns: list[Floats] = []
    for one in parameters:
        values = np.asarray(one.values, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        if one.levels:
            for place, level in enumerate(one.levels):
                terms.append(Term(one.name, Kind.LEVEL, level))
                columns.append((values == place).astype(np.float64))
            continue
        if low > 0:
            terms.append(Term(one.name, Kind.POWER, "", low, high))
            columns.append(np.log(values))
        terms.append(Term(one.name, Kind.GROWTH, "", low, high))
        columns.append((values - low) / (high - low))
    return Design(tuple(terms), np.column_stack(columns) if columns else np.zeros((0, 0)))


def law_of(
    known: Design, tasks: Sequence[int], seconds: Sequence[float]
) -> tuple[Law, Floats] | None:
    """The law that these tasks' runtimes follow, and the seconds that it foretells of every task.

    None where none holds.
    """
    if len(tasks) < FEWEST or not known.terms:
        return None
    X = known.matrix[np.asarray(tasks)]
    y = np.log(np.asarray(seconds, dtype=np.float64))
    if float(np.ptp(y)) < DIFFERS:
        return None
    chosen, left_out = _chosen(X, y)
    explained = _demonstrated(X, y) if chosen else None
    if explained is None:
        return None
    beta = _fitted(X[:, chosen], y)
    logs = beta[0] + known.matrix[:, chosen] @ beta[1:]
    if float(logs.std()) < DIFFERS:
        return None
    edge = math.log(BEYOND)
    logs = np.clip(logs, y.min() - edge, y.max() + edge)
    ratios = np.sort(np.exp(left_out))
    mean = float(ratios.mean())
    law = Law(
        tuple(known.terms[k] for k in chosen),
        tuple(float(slope) for slope in beta[1:]),
        explained,
        len(tasks),
        tuple(float(r) for r in ratios / mean),
    )
    return law, np.exp(logs) * mean


def _demonstrated(X: Floats, y: Floats) -> float | None:
    """The share of the variance that is foretold; None where that is not clear, or little.

    A runtime is left out with every tenth one, in the order in which they ended.
    """
    n = y.size
    by_law, by_mean = np.empty(n), np.empty(n)
    folds = min(FOLDS, n)
    for fold in range(folds):
        out = np.arange(n) % folds == fold
        mean = y[~out].mean()
        by_mean[out] = y[out] - mean
        chosen, _ = _chosen(X[~out], y[~out])
        beta = _fitted(X[~out][:, chosen], y[~out])
        by_law[out] = y[out] - beta[0] - X[out][:, chosen] @ beta[1:]
    better = by_mean**2 - by_law**2
    explained = float(better.sum() / (by_mean**2).sum())
    clear = float(better.mean()) >= CLEARLY * float(better.std(ddof=1)) / math.sqrt(n)
    return explained if explained >= EXPLAINS and clear else None


def _chosen(X: Floats, y: Floats) -> tuple[list[int], Floats]:
    """The columns of the terms, as chosen one by one; and each error when it is left out."""
    n = y.size
    basis = np.full((n, 1), 1 / math.sqrt(n))
    rest = y - y.mean()
    leverage = np.full(n, 1 / n)
    chosen: list[int] = []
    left_out = rest / (1 - leverage)
    for _ in range(min(MOST_TERMS, n // 4)):
        if float((left_out**2).mean()) < DIFFERS**2:
            break  # what is left is too little to matter, whatever explains it
        beside = X - basis @ (basis.T @ X)
        length = np.sqrt((beside**2).sum(axis=0))
        tells = length > _NULL * (1 + np.abs(X).max(axis=0, initial=0.0)) * math.sqrt(n)
        unit = beside / np.where(tells, length, 1.0)
        rests = rest[:, None] - unit * (unit.T @ rest)
        leverages = leverage[:, None] + unit**2
        tells &= leverages.max(axis=0) < PINNED
        if not tells.any():
            break
        errors = rests / np.where(tells, 1 - leverages, 1.0)
        press = np.where(tells, (errors**2).sum(axis=0), math.inf)
        best = int(np.argmin(press))
        if press[best] > LESSENS * float((left_out**2).sum()):
            break
        chosen.append(best)
        basis = np.column_stack([basis, unit[:, best]])
        rest, leverage, left_out = rests[:, best], leverages[:, best], errors[:, best]
    return chosen, left_out


def _fitted(X: Floats, y: Floats) -> Floats:
    whole = np.column_stack([np.ones(y.size), X])
    return np.asarray(np.linalg.lstsq(whole, y, rcond=None)[0], dtype=np.float64)


# --- in words -------------------------------------------------------------------------------------


def in_words(law: Law) -> str:
    """Such as `runtime grows with n: × 2.1 per doubling; × 3.2 where method = slow`."""
    told = []
    for term, slope in zip(law.terms, law.slopes, strict=True):
        name, grows = term.parameter, "grows" if slope > 0 else "falls"
        match term.kind:
            case Kind.POWER:
                told.append(f"{grows} with {name}: × {2**slope:.2g} per doubling")
            case Kind.GROWTH:
                factor = math.exp(slope)
                told.append(
                    f"{grows} with {name}: × {factor:.2g} from {term.low:g} to {term.high:g}"
                )
            case Kind.LEVEL:
                told.append(f"is × {math.exp(slope):.2g} where {name} = {term.level}")
    return "runtime " + "; ".join(told)


def change_in_words(before: Law | None, now: Law | None) -> str:
    """The change from one law to the next; "" where there is none that is worth telling."""
    if now is None:
        return "" if before is None else "parameters foretell runtimes no more: chance picks tasks"
    if before is not None and before.terms == now.terms:
        return ""
    return (
        f"{in_words(now)}. That foretells {100 * now.explained:.0f} % of how {now.runtimes} "
        "runtimes differ: the longest tasks go first"
    )
