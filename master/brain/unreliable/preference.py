"""Choosing one of the efficient strategies (§4.5): by a name, a limit, or a formula of the user's.

A formula is an expression of `makespan` (hours) and `cost` (currency) that is to be small.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

from bats.master.brain.protocol.formulas import formula
from bats.master.brain.unreliable import notation
from bats.master.brain.unreliable.estimator import Estimate

CHEAPEST: Final = "cheapest"
FASTEST: Final = "fastest"
PRODUCT: Final = "product"
NAMES: Final = (CHEAPEST, FASTEST, PRODUCT)

Utility = Callable[[float, float], float]

_MEANT: Final = re.compile(r"\b(makespan|cost)\b")


def is_preference(text: str) -> bool:
    """True for what chooses a strategy, by a name or a formula, and is none itself."""
    return text in NAMES or bool(_MEANT.search(text))


def check(text: str) -> None:
    """Of a strategy, or of what chooses one; ValueError says what is wrong."""
    if not is_preference(text):
        notation.read(text)
    elif text not in NAMES:
        utility(text)


def utility(text: str) -> Utility:
    """The formula as a function of makespan in hours and cost; ValueError says what is wrong.

    NaN and what cannot be worked out are as bad as can be.
    """
    worth = formula(text, {"makespan": "(hours)", "cost": ""}, "cost + 2 * makespan")

    def of(makespan: float, cost: float) -> float:
        try:
            found = worth({"makespan": makespan, "cost": cost})
        except (ArithmeticError, ValueError, TypeError):
            return math.inf
        return math.inf if math.isnan(found) else found

    return of


def chosen(
    frontier: Sequence[Estimate],
    by: str = PRODUCT,
    *,
    budget: float | None = None,
    deadline_seconds: float | None = None,
) -> Estimate | None:
    """The best, by a name or a formula, of those within the limits; None if none is."""
    possible = [
        e
        for e in frontier
        if (budget is None or e.cost <= budget)
        and (deadline_seconds is None or e.seconds <= deadline_seconds)
    ]
    return best_of(possible, by) if possible else None


def best_of(possible: Sequence[Estimate], by: str) -> Estimate:
    """The best of these, one at least, by a name or a formula."""
    if by == CHEAPEST:
        return min(possible, key=lambda e: e.cost)
    if by == FASTEST:
        return min(possible, key=lambda e: e.seconds)
    if by == PRODUCT:
        return min(possible, key=lambda e: e.seconds * e.cost)
    worth = utility(by)
    return min(possible, key=lambda e: worth(e.seconds / 3600, e.cost))
