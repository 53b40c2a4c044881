"""Every command of every page is run as printed, or is on a short list with the reason."""

import json
import re
import shutil
import sqlite3
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers.pages import ROOT, Block, blocks, pages
from helpers.reader import PATIENCE_SECONDS, Reader, free_port
from helpers.waiting import until

pytestmark = pytest.mark.checkout

NOT_RUN = {
    "scripts/test": "is what runs this",
    "python3 -m venv bats && bats/bin/pip install ./path/to/this/folder":
        "scripts/check-wheel installs the package into a fresh environment",
    ". bats/bin/activate": "is of that environment",
    "python scripts/live.py table2.1 [--scale F]": "takes minutes; tests/scripts runs a short one",
    "python scripts/live.py chapter6 [--scale F]": "likewise",
    "python scripts/live.py comparison": "likewise",
    "python scripts/live.py all": "likewise",
}  # fmt: skip
PAGES_NOT_RUN = {
    "CONTRIBUTING.md": "test_contributing runs the short ones, tests/scripts a quick study",
    "scripts/testbeds/README.md": "tests/testbeds raises every bed",
    "scripts/examples/htcondor/README.md": "changes this environment; its own tests run it",
}
PRICED = """
[[offering]]
name = "rented"
price = "0.03"
per = "10s"
atu = "10s"
boundary = "3s"
max = 1
[offering.local]
speed = 1
"""
SIM = """
import pathlib, sys, time
alpha, seed = float(sys.argv[1]), int(sys.argv[2])
time.sleep(float(pathlib.Path("nap").read_text()))
print(f"loss={alpha * seed}")
raise SystemExit(alpha == 1 and seed == 3)
"""


ARGPARSED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--alpha", type=float)
parser.add_argument("--seed", type=int)
given = parser.parse_args()
print(given.alpha * given.seed)
"""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    home = tmp_path / "home"
    home.mkdir()
    made = Reader(home)
    yield made
    made.types("bats master --help")  # the home is still usable
    assert not list(made.state.rglob("core.*"))


class Story:
    """A page's commands in their order; `rest` must be empty in the end."""

    def __init__(self, page: str) -> None:
        found = [command for block in blocks(page) for command in block.commands()]
        self.rest = [command for command in found if command not in NOT_RUN]

    def next(self, expected: str) -> str:
        """The next command, which a test has something to say about."""
        command = self.rest.pop(0)
        assert command.startswith(expected), (command, expected)
        return command


STORIES = {
    "README.md", "master/clouds/README.md", "master/service/README.md", "worker/README.md",
    "master/service/cost-and-safety.md", "master/store/README.md", "scripts/examples/README.md",
    "scripts/workloads/README.md", "master/service/money/README.md",
}  # fmt: skip
"""Pages whose commands are run below."""


def every_block() -> Iterator[Block]:
    for page in pages():
        yield from blocks(page)


def test_no_command_is_left_out() -> None:
    told = {(block.page, command) for block in every_block() for command in block.commands()}
    known = STORIES | set(PAGES_NOT_RUN)
    assert {page for page, command in told if command not in NOT_RUN} == known
    assert set(NOT_RUN) <= {command for _, command in told}, "no page says this any more"


def test_every_link_leads_somewhere() -> None:
    for page in pages():
        text = (ROOT / page).read_text()
        for target in re.findall(r'(?:\]\(|src=")([^)"#:]+)[)"]', text):
            assert ((ROOT / page).parent / target).exists(), (page, target)


def test_every_page_is_reached_from_the_readme() -> None:
    seen, open_pages = set(), ["README.md"]
    while open_pages:
        page = open_pages.pop()
        seen.add(page)
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            path = ((ROOT / page).parent / target).resolve()
            path = path / "README.md" if path.is_dir() else path
            name = str(path.relative_to(ROOT))
            if path.suffix == ".md" and path.exists() and name not in seen:
                open_pages.append(name)
    assert set(pages()) - {"CHANGELOG.md"} <= seen


def test_what_is_no_command_can_be_read_by_its_program() -> None:
    for block in every_block():
        if block.kind == "toml":
            tomllib.loads(block.text)
        elif block.kind == "python":
            compile(block.text, block.page, "exec")
        else:
            assert block.kind in ("", "sh", "text", "ini", "sql"), block


def test_the_readme_from_the_first_sweep_to_the_last_command(reader: Reader) -> None:
    story = Story("README.md")
    printed = blocks("README.md")
    sweep, clouds, flow = (block.text for block in printed if block.kind == "toml")
    _, python = (block.text for block in printed if block.kind == "python")
    assert '"1:10"' in sweep
    reader.write("sweep.toml", sweep.replace('"1:10"', "[1, 2, 3]"))
    reader.write("bats-clouds.toml", clouds)
    reader.write("flow.toml", flow)
    reader.write("sim.py", SIM)
    reader.write("nap", "0")
    assert "of $0.50" in reader.types(story.next("bats run sweep.toml --budget"), 1)
    assert "loss" in reader.types(story.next("bats results"))
    assert "33 tasks" in reader.types(story.next("bats run sweep.toml --dry-run"))
    assert "  └ square" in reader.types(story.next("bats run flow.toml --dry-run"))
    assert "22 of 22 tasks done" in reader.types(story.next("bats run flow.toml"))
    assert "[[offering]]" in reader.types(story.next("bats clouds init"))
    reader.types(story.next("bats clouds check"))
    reader.write("bats-clouds.toml", PRICED)
    assert "fastest" in reader.types(story.next("bats simulate"))
    reader.types(story.next("bats run sweep.toml"), 2)  # nobody is there to choose
    reader.write("nap", "1")
    with ExitStack() as shells:
        master = story.next("bats master").replace("8000", free_port())
        shells.enter_context(reader.meanwhile(master, "Web page"))
        reader.types(story.next("bats submit"))
        watch = shells.enter_context(reader.meanwhile(story.next("bats watch"), "sampling"))
        schedules = story.next("bats schedules")
        until(lambda: "chance" in reader.types(schedules, 0, 2), PATIENCE_SECONDS)
        reader.types(story.next("bats choose"))
        assert watch.wait(timeout=100) == 1
        assert "with failures" in reader.types(story.next("bats status"))
        reader.types(story.next("bats results"))
        assert len((reader.home / "results.csv").read_text().splitlines()) == 34
        assert reader.types(story.next("bats logs")).strip()
        assert "done with exit code 0" in reader.types(story.next("bats explain"))
        reader.types(story.next("bats report"))
        assert "32 of 33 tasks done, 1 failed" in (reader.home / "report.html").read_text()
        reader.types(story.next("bats retry"))
        reader.types("bats submit -q --pick fastest -p n=1:20 -- sh -c 'exit 1' {n}")
        until(lambda: "paused" in reader.types("bats status last"), PATIENCE_SECONDS)
        assert "goes on" in reader.types(story.next("bats resume"))
        reader.types(story.next("bats allow"), 0, 2)  # it may wait for its turn
        reader.types(story.next("bats cancel"), 0, 2, 4)  # it may be paused anew, or begin
        assert "It is open" in reader.types(story.next("bats submit --open"))
        assert "tasks 0 to 1 now" in reader.types(story.next("bats add"))
        assert "gets no more tasks" in reader.types(story.next("bats close"))
        until(lambda: "2 of 2 done" in reader.types("bats status last"), PATIENCE_SECONDS)
        reader.write("nap", "0")
        reader.write("client.py", python)
        assert len(reader.types("python client.py").splitlines()) == 33
    demo = subprocess.run(
        [ROOT / story.next("scripts/demo")], capture_output=True, text=True, check=True, timeout=120
    )
    assert "160 of 160 tasks done" in demo.stdout
    assert story.rest == []


def test_the_page_of_the_clouds_file(reader: Reader) -> None:
    page = "master/clouds/README.md"
    story = Story(page)
    for expected in ("bats clouds init", "bats clouds check", "bats run", "bats results"):
        reader.types(story.next(expected))
    example, pool = (block.text for block in blocks(page) if block.kind == "toml")
    reader.write("bats-clouds.toml", pool)
    assert "node" in reader.types("bats clouds show")
    reader.write("bats-clouds.toml", example)
    reader.types(story.next("bats machines --stop-orphans"))
    reader.types(story.next("bats machines --adopt-orphans"), 4)  # only a master can
    shown = reader.types("bats clouds show")
    assert all(name in shown for name in ("m1.small", "cluster", "desk"))
    assert story.rest == []


def test_the_page_of_operations(reader: Reader) -> None:
    story = Story("master/service/README.md")
    port = free_port()
    with reader.meanwhile(story.next("bats master").replace("8000", port), "Web page"):
        reader.types("bats submit -q -- true")
        reader.types("bats watch -q", 0)  # so that the copy has nothing left to run
        assert "access.json" in reader.types(story.next("bats access"))
        reader.types(story.next("bats access list"))
        reader.types(story.next("bats access revoke"), 2)  # no worker was started by hand here
        assert "bats_store_trouble 0" in reader.types(story.next("curl").replace("8000", port))
        while story.rest:
            reader.types(story.rest.pop(0))
    restored = reader.home / "restored"
    shutil.copytree(reader.home / "backup", restored)
    restored.chmod(0o700)
    with reader.meanwhile(f"bats master --restore --state {restored}", "master listens"):
        status = json.loads(reader.types(f"bats status last --json --state {restored}"))
    assert status["total"] == 1


def test_every_metric_of_the_page_is_one() -> None:
    named = set(re.findall(r"`bats_(\w+)[{`]", (ROOT / "master/service/README.md").read_text()))
    assert len(named) > 10
    source = (ROOT / "master/web/metrics.py").read_text()
    assert {name for name in named if f'"{name}"' not in source} == set()


def test_the_page_of_cost_and_safety(reader: Reader) -> None:
    story = Story("master/service/cost-and-safety.md")
    with reader.meanwhile("bats master", "master listens"):
        reader.types("bats submit -q -- true")
        while story.rest:
            reader.types(story.rest.pop(0))


def test_the_page_of_caps_and_users(reader: Reader) -> None:
    story = Story("master/service/money/README.md")
    with reader.meanwhile("bats master", "master listens"):
        reader.types(story.next("bats cap set 5"))
        reader.types(story.next("bats cap set 100"))
        told = reader.types(story.next("bats cap"))
        assert ["$5.00" in line for line in told.splitlines()[1:]] == [True, False]
        assert "access-ann.json" in reader.types(story.next("bats access add ann"))
        assert "Users: ann." in reader.types(story.next("bats access list"))
        hers = f"--access {reader.state / 'access-ann.json'}"
        reader.types(f"bats submit -q {hers} -- true")
        assert "ann" in reader.types(f"bats status {hers} --json")
        assert json.loads(reader.types("bats cap --json"))["caps"][0]["amount"] == "5"
        reader.types("bats access revoke ann")
    assert story.rest == []


def test_the_page_of_the_store(reader: Reader) -> None:
    story = Story("master/store/README.md")
    reader.types("bats run -q -- true")
    while story.rest:
        command = story.rest.pop(0)
        reader.types(command.replace("NEW_FOLDER", "new").replace("FOLDER", str(reader.state), 1))
    [query] = [b.text for b in blocks("master/store/README.md") if b.kind == "sql"]
    with sqlite3.connect(reader.state / "store.db") as db:
        assert db.execute(query).fetchall() == []
    db.close()


def test_the_page_of_the_worker(reader: Reader) -> None:
    story = Story("worker/README.md")
    with reader.meanwhile("bats master", "master listens"):
        shutil.copy(reader.state / "worker.json", reader.home)
        with reader.meanwhile(story.next("bats worker"), "joined"):
            pass
    assert story.rest == []


def test_the_page_of_the_examples(reader: Reader) -> None:
    story = Story("scripts/examples/README.md")
    shutil.copytree(ROOT / "scripts" / "examples", reader.home / "scripts" / "examples")
    while story.rest[0].startswith("bats run scripts/examples/"):
        command = story.rest.pop(0)
        said = json.loads(reader.types(f"{command} --json").splitlines()[-1])
        assert (said["state"], said["failed"]) == ("complete", 0)
    reader.write("sim.py", ARGPARSED)
    reader.write("nap", "0")
    reader.write("bin/sim", '#!/bin/sh\necho "$@"\n')
    reader.write("bin/convert", '#!/bin/sh\ncp "$1" "$2"\n')
    reader.write("photo.jpg", "a picture")
    reader.write("rows.csv", "name\nann\nbob\n")
    reader.write("one.dat", "1\n")
    reader.write("two.dat", "2\n")
    reader.write("commands.txt", "echo one\necho two\n")
    with reader.meanwhile("bats master", "master listens"):
        while story.rest[0].startswith(("bats submit", "ls ")):
            reader.types(story.rest.pop(0))
            assert reader.types("bats watch -q", 0) == ""
    reader.types(story.next("bats run -k"))
    assert story.rest == []
    assert (reader.home / "two.dat.gz").exists()
    assert (reader.home / "out-3.txt").read_text() == "3 6\n"
    assert (reader.home / "photo.png").read_text() == "a picture"
    assert (reader.home / "commands.gz").exists()


@pytest.mark.parametrize("name", ["shell", "python", "csv", "files", "array"])
def test_what_an_example_says_of_itself_is_true(reader: Reader, name: str) -> None:
    shutil.copytree(ROOT / "scripts" / "examples", reader.home / "scripts" / "examples")
    text = (ROOT / "scripts" / "examples" / f"{name}.toml").read_text()
    remarks = re.sub(r"\\\n# *", " ", text)
    commands = re.findall(r"^#.*?(bats run .*)$", remarks, re.MULTILINE)
    assert f"bats run scripts/examples/{name}.toml" in commands
    for command in commands[1:]:
        said = json.loads(reader.types(command.replace("bats run", "bats run --json", 1)))
        assert (said["state"], said["failed"]) == ("complete", 0)


def test_the_page_of_the_workloads(reader: Reader) -> None:
    story = Story("scripts/workloads/README.md")
    shutil.copytree(ROOT / "scripts" / "workloads", reader.home / "scripts" / "workloads")
    while story.rest:
        command = story.rest.pop(0)
        said = reader.types(command)
        assert "--out" in command or json.loads(said)
