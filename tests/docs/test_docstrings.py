"""Docstrings begin with their subject, and name no page that a reader does not have."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.pages import ROOT

pytestmark = pytest.mark.checkout

FILES = [path for folder in ("common", "deploy", "master", "worker")
         for path in sorted((ROOT / folder).rglob("*.py"))]  # fmt: skip


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Where each stands, and what it says; those of constants and fields too."""
    for node in ast.walk(ast.parse(path.read_text())):
        for part in ast.iter_child_nodes(node):
            match part:
                case ast.Expr(ast.Constant(str(text))):
                    yield f"{path.relative_to(ROOT)}:{part.lineno}", text


def test_a_docstring_begins_with_its_subject() -> None:
    """`What it costs` is no sentence; `The price of it` begins one, `Pay for it` is one."""
    opened = re.compile(r"\s*(What|Who|Whose|Whether|How|Why|Where|When|Which)\b")
    found = [
        f"{place}: {text.strip().splitlines()[0]}"
        for path in FILES
        for place, text in docstrings(path)
        if opened.match(text)
    ]
    assert not found, "\n".join(found)


def test_pages_that_the_code_names_are_in_the_repository() -> None:
    named = re.compile(r"\b[\w/-]+\.md\b")
    missing = [
        f"{path.relative_to(ROOT)}: {page}"
        for path in FILES
        for page in named.findall(path.read_text())
        if not any((place / page).exists() for place in (ROOT, path.parent, *path.parents[:3]))
    ]
    assert not missing, "\n".join(missing)
