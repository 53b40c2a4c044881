"""An object has all that it will ever have when its constructor ends; nothing is assumed later."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("common", "deploy", "worker", "master")
OF_TESTS = "deploy/testing.py"  # the contract of back ends is a test itself
LATE = """
class Late:
    def __init__(self):
        self.early = 1
        self.promised: int
        self._open()

    def _open(self):
        self.socket = 2

    def start(self):
        self.early, self.late = 3, 4
"""

pytestmark = pytest.mark.checkout

Function = ast.FunctionDef | ast.AsyncFunctionDef


def late(tree: ast.AST) -> list[str]:
    """What is assigned to `self` first by a method that the constructor does not call."""
    return [
        f"{one.name}.{name}"
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef)
        for name in sorted(set(assigned(one.body)) - known(one))
    ]


def known(one: ast.ClassDef) -> set[str]:
    fields = {
        target.id
        for line in one.body
        for target in (
            [line.target]
            if isinstance(line, ast.AnnAssign)
            else line.targets
            if isinstance(line, ast.Assign)
            else []
        )
        if isinstance(target, ast.Name)
    }
    methods = {line.name: line for line in one.body if isinstance(line, Function)}
    begun, found = ["__init__", "__post_init__"], fields
    for name in begun:
        if name in methods:
            found |= set(assigned([methods[name]]))
            begun += [called for called in own_calls(methods[name]) if called not in begun]
    return found


def own_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self")):
                yield inner


def assigned(body: list[ast.stmt]) -> Iterator[str]:
    promised = {
        id(node.target)
        for line in body
        for node in ast.walk(line)
        if isinstance(node, ast.AnnAssign) and node.value is None
    }
    for line in body:
        for one in own_attributes(line):
            if isinstance(one.ctx, ast.Store) and id(one) not in promised:
                yield one.attr


def own_calls(method: Function) -> Iterator[str]:
    for inner in ast.walk(method):
        if isinstance(inner, ast.Call):
            yield from (one.attr for one in own_attributes(inner.func) if one is inner.func)


def assumed(tree: ast.AST) -> list[str]:
    """Claims to the type checker that something is there."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        and isinstance(node.test, ast.Name | ast.Attribute | ast.Compare)
        and (not isinstance(node.test, ast.Compare) or "is not None" in ast.unparse(node.test))
    ]


def modules() -> Iterator[tuple[str, ast.AST]]:
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def test_an_object_has_everything_from_its_constructor_on() -> None:
    found = {path: late(tree) for path, tree in modules()}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_may_be_missing_is_not_assumed_to_be_there() -> None:
    found = {path: assumed(tree) for path, tree in modules() if path != OF_TESTS}
    assert {path: words for path, words in found.items() if words} == {}


def test_what_comes_late_is_found() -> None:
    assert late(ast.parse(LATE)) == ["Late.late"]
    assert assumed(ast.parse("assert a.b\nassert c is not None\nassert d == 1")) == [
        "assert a.b",
        "assert c is not None",
    ]
