"""Choosing one of the efficient strategies (§4.5): by a name, a limit, or a formula of the user's.

A formula is an expression of `makespan` (hours) and `cost` (currency) that is to be small. It is
parsed and worked out here; Python never evaluates it.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bats.master.brain.unreliable import notation
from bats.master.brain.unreliable.estimator import Estimate

CHEAPEST: Final = "cheapest"
FASTEST: Final = "fastest"
PRODUCT: Final = "product"
NAMES: Final = (CHEAPEST, FASTEST, PRODUCT)

Utility = Callable[[float, float], float]

_BINARY: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_CALLS: Final[Mapping[str, Callable[..., float]]] = {
    "min": min, "max": max, "log": math.log, "sqrt": math.sqrt, "abs": abs,
}  # fmt: skip
LONGEST: Final = 200
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
    """The formula as a function of makespan in hours and cost; ValueError says what is wrong."""
    if len(text) > LONGEST:
        raise ValueError(f"the formula is {len(text)} characters long; {LONGEST} will have to do")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ValueError(
            f"`{text}` is no formula; write for example `cost + 2 * makespan`"
        ) from error
    _check(tree, text)
    return lambda makespan, cost: _worth(tree, {"makespan": makespan, "cost": cost})


def _check(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name("makespan" | "cost"):
            return
        case ast.BinOp(left, op, right) if type(op) in _BINARY:
            _check(left, text)
            _check(right, text)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            _check(operand, text)
        case ast.Call(ast.Name(name), [_, *_] as arguments, []) if name in _CALLS:
            for argument in arguments:
                _check(argument, text)
        case _:
            raise ValueError(
                f"`{ast.unparse(node)}` has no place in a formula: numbers, `makespan` (hours), "
                f"`cost`, + - * / ** and {', '.join(_CALLS)} do"
            )


def _worth(node: ast.expr, values: Mapping[str, float]) -> float:
    """NaN and what cannot be worked out are as bad as can be."""
    try:
        worth = float(_of(node, values))
    except (ArithmeticError, ValueError, TypeError):
        return math.inf
    return math.inf if math.isnan(worth) else worth


def _of(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(name):
            return values[name]
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](_of(left, values), _of(right, values))
        case ast.UnaryOp(ast.USub(), operand):
            return -_of(operand, values)
        case ast.UnaryOp(_, operand):
            return _of(operand, values)
        case ast.Call(ast.Name(name), arguments):
            return _CALLS[name](*(_of(one, values) for one in arguments))
    raise AssertionError(ast.dump(node))


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
