"""What the page for contributors names is there, and what it says to run runs."""

import re
import subprocess

import pytest
from helpers.pages import ROOT, blocks

pytestmark = pytest.mark.checkout

PAGE = "CONTRIBUTING.md"
TEXT = (ROOT / PAGE).read_text()
NAMED = re.findall(r"\]\(([\w/.]+\.py)\)\s+`(\w+)`", TEXT)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_what_is_named_stands_in_its_file(path: str, name: str) -> None:
    """As a definition, not only as a word."""
    there = (ROOT / path).read_text()
    assert re.search(
        rf"^ *(?:async )?(?:def |class |self\.)?{name}\b *[(:=\[]", there, re.MULTILINE
    )


def test_every_task_of_a_contributor_has_its_files() -> None:
    parts = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert len(parts) == 14
    for part in parts:
        assert re.search(r"\]\([\w/]+(\.py)?\)", part), part.splitlines()[0]
    assert len(NAMED) > 30


def test_the_policies_and_registries_are_those_of_the_concepts() -> None:
    concepts = (ROOT / "master/brain/README.md").read_text()
    listed = re.findall(r"^\| `([A-Z]+)` in \[\w+\.py\]\(([\w/]+\.py)\)", concepts, re.MULTILINE)
    assert len(listed) == 8
    assert {(f"master/brain/{file}", name) for name, file in listed} <= set(NAMED)


def test_one_test_is_run_as_printed() -> None:
    commands = [command for block in blocks(PAGE) for command in block.commands()]
    one, *_ = commands
    assert one.startswith(".venv/bin/python -m pytest tests/")
    done = subprocess.run(one.split(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert "= 1 passed" in done.stdout, done.stdout
    assert "table5" in " ".join(commands)
