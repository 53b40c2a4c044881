"""`import bats` gives what a program needs, and `help(bats)` tells it."""

import ast
import inspect
import pydoc
import re
import textwrap
from collections.abc import Iterator

import pytest

import bats
from bats.common.release import release


def public() -> Iterator[tuple[str, object]]:
    """What is exported, and what its classes have."""
    for name in bats.__all__:
        thing = getattr(bats, name)
        yield name, thing
        if inspect.isclass(thing) and thing.__module__.startswith("bats.master.client."):
            for method, there in vars(thing).items():
                if not method.startswith("_") and inspect.isfunction(there):
                    yield f"{name}.{method}", there


def examples(doc: str) -> list[str]:
    """The paragraphs and the words between backquotes that are Python and call something."""
    found = [*inspect.cleandoc(doc).split("\n\n"), *re.findall(r"`([^`]+)`", doc)]
    return [text for text in map(textwrap.dedent, found) if calls(text)]


def calls(text: str) -> bool:
    try:
        code = compile(text, "", "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Subscript) for node in ast.walk(code))


@pytest.mark.parametrize(("name", "thing"), [pytest.param(*one, id=one[0]) for one in public()])
def test_everything_public_has_a_docstring_with_an_example(name: str, thing: object) -> None:
    assert examples(thing.__doc__ or ""), name


def test_what_is_no_example_is_found_out() -> None:
    assert examples("The state of `it`.") == []
    assert examples("The state: `bag.status()`.") == ["bag.status()"]
    assert examples("It.\n\n        x = f()\n        y = 2\n    ") == ["x = f()\ny = 2"]


def test_help_is_readable() -> None:
    told = pydoc.plain(pydoc.render_doc(bats))
    assert told.index("with connect() as master:") < told.index("CLASSES")
    assert all(f"class {name}" in told for name in ("Bag", "Client", "Sweep", "UsageError"))
    assert all(f"    {name}(" in told for name in ("clouds", "connect", "sweep"))
    assert "__getattr__" not in told


def test_only_what_is_there_can_be_had() -> None:
    assert bats.__version__ == release()
    with pytest.raises(AttributeError, match="module 'bats' has no attribute 'conect'"):
        bats.conect  # noqa: B018
