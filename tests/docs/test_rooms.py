"""The table of rooms in `master/README.md` says what each may import, and that is so."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOORS = {  # opened lazily, when a program begins
    ("common/program.py", "worker/command_line"),
    ("common/program.py", "master/cli/beginning"),
    ("master/cli/commands/serving.py", "worker/command_line"),
    ("master/service/bags/predictions.py", "master/simulate/foresight"),
}

pytestmark = pytest.mark.checkout


def rows() -> dict[str, tuple[tuple[str, ...], str]]:
    """By the first words of a row: the rooms and modules it is about, and what they may import."""
    found = {}
    page = ROOT / "master/README.md"
    if not page.exists():  # where only the wheel is tested, as this module is collected
        return {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] not in ("folder", "---"):
            names = re.findall(r"\[([^]]+)\]\([^)]*\)|`([^`]+)`", cells[0])
            here = tuple(place(link or code) for link, code in names)
            found[here[0]] = here, cells[2]
    return found


def place(name: str) -> str:
    """A name of the table as a path of the repository."""
    if name in ("common", "worker", "deploy") or name.startswith("master/"):
        return name
    return f"master/{name.removesuffix('.py')}"


@cache
def imports() -> list[tuple[str, str]]:
    """Each module with each thing of ours that it imports, as paths of the repository."""
    found: list[tuple[str, str]] = []
    for folder in ("common", "deploy", "worker", "master"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                found += [(str(path.relative_to(ROOT)), name) for name in imported(node)]
    return found


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bats."):
        for one in node.names:
            yield f"{node.module}.{one.name}".removeprefix("bats.").replace(".", "/")


def is_in(path: str, rooms: tuple[str, ...]) -> bool:
    return any(path == room or path.startswith((f"{room}/", f"{room}.py")) for room in rooms)


def wrong(here: tuple[str, ...], may: str) -> list[tuple[str, str]]:
    """The imports of a row that its last cell does not allow."""
    named = tuple(place(name) for name in re.findall(r"`([^`]+)`", may))
    shared = rows()["master/userfile"][0]
    ours = [
        (path, name)
        for path, name in imports()
        if is_in(path, here)
        and not is_in(name, here)
        and not any(path == door and name.startswith(to) for door, to in DOORS)
    ]
    if may.startswith("all but"):
        return [(path, name) for path, name in ours if is_in(name, named)]
    return [(path, name) for path, name in ours if not is_in(name, (*named, *shared))]


@pytest.mark.parametrize("row", rows())
def test_a_room_imports_what_its_row_says(row: str) -> None:
    assert wrong(*rows()[row]) == []


def test_a_wrong_import_is_found_out() -> None:
    assert wrong(("master/store",), "`common`")
    assert wrong(("master/web",), "all but `queries`")


def test_every_module_is_in_a_row() -> None:
    everything = tuple(room for here, _ in rows().values() for room in here)
    assert {path for path, _ in imports() if not is_in(path, everything)} == set()


def test_every_row_has_a_contract() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    held = {
        source.removeprefix("bats.").replace(".", "/")
        for contract in told["contracts"]
        for source in contract["source_modules"]
    }
    told_of = {room for here, _ in rows().values() for room in here}
    assert told_of - held == {"master/bats"}  # to the linter that is the root of all


def test_no_two_modules_of_the_product_have_one_name() -> None:
    found = [
        path.name
        for folder in ("common", "deploy", "worker", "master")
        for path in (ROOT / folder).rglob("*.py")
        if path.stem not in ("__init__", "__main__")
    ]
    assert sorted(name for name, count in Counter(found).items() if count > 1) == []
