#!/usr/bin/env python3
"""A newcomer's first hour: types the README as printed, in an empty home, and shows every screen.

usage: scripts/tour.py [--quick] [--json]

The package is installed first, into an environment of its own, with whatever Python runs this: it
needs nothing else, not even what the other scripts need. `--quick` takes the installation that is
there and fewer tasks.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests"), str(Path(__file__).parent)]

from figures import Report  # noqa: E402

from helpers.pages import ROOT, Block, blocks  # isort: skip # noqa: E402

FILES = {"python": ["sim.py", "client.py"], "toml": ["sweep.toml", "bats-clouds.toml", "flow.toml"]}
"""The names of the README's blocks, in the order in which they stand there."""
ELSEWHERE = ("scripts/",)  # what needs the checkout
GOES_ON = ("bats master", "bats watch")  # in shells of their own
MOST_SECONDS = 300.0
PATIENCE_SECONDS = 290.0  # for one command: an installation may take long
TOLD = {  # exit codes other than 0 that a newcomer meets on this way, and why
    "bats run sweep.toml": {2: "machines cost money, and nobody is there to choose"},
    "bats retry --failed": {2: "nothing has failed"},
    "bats resume": {2: "nothing stands still"},
    "bats allow --budget 6": {2: "nothing waits for money"},
    "bats cancel": {2: "the bag has ended"},
}


class Newcomer:
    """Somebody in an empty folder, who types."""

    def __init__(self, home: Path, programs: Path | None) -> None:
        self.home = home
        hidden = ("BATS_", "XDG_", "PYTHON", "VIRTUAL_ENV", "NO_COLOR")
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        self._environment |= {"HOME": str(home), "COLUMNS": "100"}
        if programs is not None:
            self._environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        self._others: list[subprocess.Popen[bytes]] = []
        self.said: dict[str, str] = {}

    def types(self, command: str) -> int:
        """The exit code; the command and its screen are shown."""
        print(f"\n$ {command}", flush=True)
        if command.startswith(". "):  # what it changes is kept for all that follows
            self._environment["PATH"] = f"{self.home}/bats/bin:{self._environment['PATH']}"
            return 0
        done = self._run(command.replace("./path/to/this/folder", f"'{ROOT}'"))
        print(done.stdout, end="", flush=True)
        self.said[command] = done.stdout
        return done.returncode

    def begins(self, command: str, says: str) -> None:
        """Type it in another shell, and wait until it says so."""
        print(f"\n$ {command}     (in another shell)", flush=True)
        other = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=self.home, env=self._environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._others.append(other)
        assert other.stdout
        for line in other.stdout:
            print(line.decode(), end="", flush=True)
            if says in line.decode():
                return
        raise SystemExit(f"{command} ended before it said {says!r}")

    def waits(self, command: str, wanted: str) -> None:
        """Do nothing until the command's answer holds this, or somebody has waited too long."""
        until = time.monotonic() + PATIENCE_SECONDS
        while wanted not in self._run(command).stdout:
            if time.monotonic() > until:
                raise SystemExit(f"{command} does not say {wanted!r}")
            time.sleep(0.5)

    def leaves(self) -> None:
        for other in reversed(self._others):
            other.send_signal(signal.SIGINT)
            assert other.stdout
            for line in other.stdout:  # until it ends
                print(line.decode(), end="", flush=True)
            other.wait(PATIENCE_SECONDS)

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command], cwd=self.home, env=self._environment, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="no installation, fewer tasks")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    given = parser.parse_args()
    report = Report("tour")
    with tempfile.TemporaryDirectory(prefix="bats-tour-") as folder:
        programs = Path(sys.executable).parent if given.quick else None
        newcomer = Newcomer(Path(folder), programs)
        try:
            tour(newcomer, report, quick=given.quick)
        finally:
            newcomer.leaves()
    return report.finish(given.json)


def tour(newcomer: Newcomer, report: Report, *, quick: bool) -> None:
    began = time.monotonic()
    names = {kind: iter(known) for kind, known in FILES.items()}
    page = blocks("README.md")
    client = max(k for k, block in enumerate(page) if block.kind == "python")
    failed = []
    for k, block in enumerate(page):
        if block.kind in names:
            write(newcomer, block, next(names[block.kind]), quick=quick)
        if k == client:
            command = "python client.py"
            if code := newcomer.types(command):
                failed.append(f"{command}: {code}")
        for command in typed(block, quick=quick):
            if command.startswith("bats master"):
                newcomer.begins(command.replace("8000", "0"), "Web page")
            elif command.startswith("bats watch"):
                newcomer.waits("bats status last", "choosing")
            elif code := newcomer.types(command):
                why = TOLD.get(command, {}).get(code)
                print(f"(exit code {code}{f': {why}' if why else ''})", flush=True)
                if why is None:
                    failed.append(f"{command}: {code}")
            if command.startswith("bats choose"):
                newcomer.types("bats watch")
    seconds = time.monotonic() - began
    priced = newcomer.said["bats run sweep.toml --budget 0.50"]
    cost, budget = re.findall(r"^cost +\$([\d.]+) of \$([\d.]+)$", priced, re.MULTILINE)[0]
    report.figure("the first sweep with a price", None, float(cost), f"$ of ${budget}")
    report.bar("commands that ended otherwise than told", 0, len(failed), not failed)
    report.bar("seconds for all of it", MOST_SECONDS, round(seconds, 1), seconds <= MOST_SECONDS)
    for one in failed:
        print(one, file=sys.stderr)


def write(newcomer: Newcomer, block: Block, name: str, *, quick: bool) -> None:
    text = block.text
    if quick and name == "sweep.toml":
        text = text.replace('"1:10"', '"1:3"')
    (newcomer.home / name).write_text(text)
    print(f"\n--- {name}\n{text}", end="", flush=True)


def typed(block: Block, *, quick: bool) -> Iterator[str]:
    """The commands of a block that a newcomer types."""
    for command in block.commands():
        installs = command.startswith(("python3 -m venv", ". "))
        if not command.startswith(ELSEWHERE) and not (quick and installs):
            yield command


if __name__ == "__main__":
    sys.exit(main())
