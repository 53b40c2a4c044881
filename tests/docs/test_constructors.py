"""An object has all that it will ever have when its constructor ends; nothing is assumed later."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("common", "deploy", "worker", "master")
OF_TESTS = "deploy/testing.py"  # the contract of back ends is a test itself
LATE = """
class Base:
    def __init__(self):
        self.inherited = 0

class Late(Base):
    def __init__(self):
        self.early = 1
        self.promised: int
        self._open()

    def _open(self):
        self.socket = 2

    def start(self):
        self.inherited, self.early, self.promised, self.late = 3, 4, 5, 6
"""

pytestmark = pytest.mark.checkout

Function = ast.FunctionDef | ast.AsyncFunctionDef
Classes = Mapping[str, ast.ClassDef]


def classes(trees: Iterable[ast.AST]) -> Classes:
    found = (node for tree in trees for node in ast.walk(tree))
    return {one.name: one for one in found if isinstance(one, ast.ClassDef)}


def late(tree: ast.AST, others: Classes) -> list[str]:
    """What is assigned to `self` first by a method that the constructor does not call."""
    return [
        f"{name}.{attribute}"
        for name, one in classes([tree]).items()
        for attribute in sorted(set(assigned(one.body)) - known(one, {**others, name: one}))
    ]


def known(one: ast.ClassDef, others: Classes) -> set[str]:
    """What an object has when its constructor ends, by its bases, too."""
    found: set[str] = set()
    for base in one.bases:
        if isinstance(base, ast.Name) and base.id in others and base.id != one.name:
            found |= known(others[base.id], others)
    for line in one.body:
        match line:
            case (
                ast.AnnAssign(target=ast.Name(id=field)) | ast.Assign(targets=[ast.Name(id=field)])
            ):
                found.add(field)
    methods = {line.name: line for line in one.body if isinstance(line, Function)}
    begun = ["__init__", "__post_init__"]
    for name in begun:
        if name in methods:
            found |= set(assigned([methods[name]]))
            begun += [called for called in own_calls(methods[name]) if called not in begun]
    return found


def assigned(body: Iterable[ast.stmt]) -> Iterator[str]:
    nodes = [node for line in body for node in ast.walk(line)]
    promised = [
        node.target for node in nodes if isinstance(node, ast.AnnAssign) and node.value is None
    ]
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()) if node not in promised:
                yield node.attr


def own_calls(method: Function) -> Iterator[str]:
    for inner in ast.walk(method):
        match inner:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called)):
                yield called


def assumed(tree: ast.AST) -> list[str]:
    """Claims to the type checker that something is there."""
    claims = (node.test for node in ast.walk(tree) if isinstance(node, ast.Assert))
    return [
        f"assert {ast.unparse(claim)}"
        for claim in claims
        if isinstance(claim, ast.Name | ast.Attribute) or "is not None" in ast.unparse(claim)
    ]


def modules() -> dict[str, ast.AST]:
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text())
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    }


def test_an_object_has_everything_from_its_constructor_on() -> None:
    read = modules()
    others = classes(read.values())
    found = {path: late(tree, others) for path, tree in read.items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_may_be_missing_is_not_assumed_to_be_there() -> None:
    found = {path: assumed(tree) for path, tree in modules().items() if path != OF_TESTS}
    assert {path: words for path, words in found.items() if words} == {}


def test_what_comes_late_is_found() -> None:
    assert late(ast.parse(LATE), classes([ast.parse(LATE)])) == ["Late.late", "Late.promised"]
    assert assumed(ast.parse("assert a.b\nassert c is not None\nassert d == 1")) == [
        "assert a.b",
        "assert c is not None",
    ]
