"""Formulas that users write: parsed and worked out here, Python never evaluates them."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Final

Formula = Callable[[Mapping[str, float]], float]
"""The value, given those of its names; ArithmeticError, ValueError where there is none."""

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


def formula(text: str, names: Mapping[str, str], example: str) -> Formula:
    """The formula of these names, beside each what is said of it; ValueError: it is none."""
    if len(text) > LONGEST:
        raise ValueError(f"the formula is {len(text)} characters long; {LONGEST} will have to do")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"`{text}` is no formula; write for example `{example}`") from error
    _check(tree, names)
    return lambda values: float(_of(tree, values))


def _check(node: ast.expr, names: Mapping[str, str]) -> None:
    match node:
        case ast.Constant(int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name(name) if name in names:
            return
        case ast.BinOp(left, op, right) if type(op) in _BINARY:
            _check(left, names)
            _check(right, names)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            _check(operand, names)
        case ast.Call(ast.Name(name), [_, *_] as arguments, []) if name in _CALLS:
            for argument in arguments:
                _check(argument, names)
        case _:
            known = ", ".join(f"`{name}` {said}".rstrip() for name, said in names.items())
            raise ValueError(
                f"`{ast.unparse(node)}` has no place in a formula: numbers, {known}, "
                f"+ - * / ** and {', '.join(_CALLS)} do"
            )


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
