"""A master loads soon after its start what it does not start with: its package may be replaced."""

import ast
import subprocess
import sys
from pathlib import Path

import bats.master
from bats.deploy.registry import BACKENDS, EXTRAS
from bats.master.queries.by_verb import QUERIES

HOUSE = Path(bats.master.__file__).parent
AT_THE_START = {
    "bats.master.web.server",  # if there is a page
    "bats.master.brain.household.sharing",  # of options
    "bats.master.brain.scaling.scalers",  # of pools, which are there from the start on
}
STORY = """\
import asyncio, sys
from pathlib import Path
from bats.master.service import master
from bats.master.service.late_modules import load_of_plans
async def story():
    async with master.serving(master.Options(Path(sys.argv[1]))):
        before = set(sys.modules)
        async with asyncio.timeout(20):
            while "bats.deploy.batch.sge" not in sys.modules:
                await asyncio.sleep(0.05)
        assert "bats.deploy.batch.sge" not in before
        assert "numpy" not in sys.modules, "where all is free nothing is planned"
asyncio.run(story())
load_of_plans()
print(*sys.modules)
"""


def imported_in_functions(path: Path) -> set[str]:
    functions = [one for one in ast.walk(ast.parse(path.read_text()))
                 if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]  # fmt: skip
    inside = [one for function in functions for one in ast.walk(function)]
    found = {one.module or "" for one in inside if isinstance(one, ast.ImportFrom)}
    return {name for name in found if name.startswith("bats.")}


def test_soon_after_its_start_a_master_has_loaded_all_of_ours_that_it_may_need(
    tmp_path: Path,
) -> None:
    wanted = {target.partition(":")[0] for name, target in BACKENDS.items() if name not in EXTRAS}
    wanted |= {query.__module__ for query in QUERIES.values()}
    for room in "service", "queries", "brain":
        wanted |= {n for path in (HOUSE / room).rglob("*.py") for n in imported_in_functions(path)}
    words = [sys.executable, "-c", STORY, tmp_path]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    assert len(wanted) > 20
    assert wanted - AT_THE_START - set(told.stdout.split()) == set()
