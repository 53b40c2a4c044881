"""Three bags run for real: one whose master is killed in the middle, one that ends, one cancelled.

Of each the state folder is kept, packed, and beside it what the release tells of it when no master
runs. Keys, logs and what workers kept for themselves stay behind; the store's write-ahead log is
folded in.
"""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from bats.deploy.host.roster import Roster

BATS: Final = Path(sys.executable).with_name("bats")
CLOUDS: Final = """\
[[offering]]
name = "slow"
backend = "local"
price = "0.04"
per = "20s"
atu = "20s"
boundary = "4s"
max = 2

[[offering]]
name = "fast"
backend = "local"
price = "0.10"
per = "20s"
atu = "20s"
boundary = "4s"
max = 2
[offering.local]
speed = 2
"""
# Task 5 fails until a file is there, task 9 the first time, task 60 takes much longer than others.
COMMAND: Final = """\
cat greeting; echo {n} at $BATS_INDEX
case {n} in ?) echo of {n} > made;; esac
if test {n} = 5 && ! test -e @/mended; then echo broken >&2; exit 3; fi
test {n} != 9 || test $BATS_ATTEMPT = 2 || exit 4
case {n}:$BATS_SPEED in 60:*) sleep 4;; *:2) sleep 0.2;; *) sleep 0.4;; esac
"""
SWEEP: Final = """\
name = "%s"
command = '''
%s'''
inputs = ["greeting"]
outputs = ["made"]
retries = 1
[grid]
n = "1:160"
"""
KEPT: Final = (
    "store.db",
    "mark",
    "blobs",
    "output",
    "local/*/*/process.json",
    "local/*/*/ended.json",
)
LOOKS: Final[Mapping[str, tuple[str, ...]]] = {
    "bags": ("status",),
    "status": ("status", "last"),
    "results": ("results", "last"),
    "machines": ("machines", "last"),
    "explain": ("explain", "last"),
    "task 4": ("explain", "last", "4"),
    "task 8": ("explain", "last", "8"),
}
PATIENCE_SECONDS: Final = 180.0


class Scene:
    """A user with a master of their own, in a folder of their own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.state = self.folder / "state"
        self.folder.mkdir(parents=True)
        command = COMMAND.replace("@", str(self.folder))
        (self.folder / "sweep.toml").write_text(SWEEP % (name, command))
        (self.folder / "clouds.toml").write_text(CLOUDS)
        (self.folder / "greeting").write_text("hello\n")
        self._environment = {**os.environ, "BATS_STATE": str(self.state)}

    def bats(self, *words: str) -> str:
        done = subprocess.run(
            [BATS, *words], cwd=self.folder, env=self._environment,
            check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        if done.returncode not in {0, 1, 130}:
            raise RuntimeError(f"bats {' '.join(words)}: {done.stderr}")
        return done.stdout

    def submit(self, *words: str) -> None:
        self.bats("submit", "sweep.toml", "--clouds", "clouds.toml", "--term", "20s", *words)

    def until(self, true: Callable[[dict[str, Any]], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true(status := json.loads(self.bats("status", "last", "--json"))):
            if time.monotonic() > deadline or status["over"]:
                raise RuntimeError(f"it does not come to that: {status}")
            time.sleep(0.1)

    @contextlib.contextmanager
    def master(self) -> Iterator["subprocess.Popen[str]"]:
        """Ended by a kill if it has not ended before."""
        with (self.folder / "log").open("w") as log:
            process = subprocess.Popen(
                [BATS, "master"], cwd=self.folder, env=self._environment,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        try:
            assert process.stdout
            if "master listens" not in (said := process.stdout.readline()):
                raise RuntimeError(f"{said}{(self.folder / 'log').read_text()}")
            yield process
        finally:
            process.kill()
            process.communicate()

    def rosters(self) -> list[Roster]:
        return [Roster(path) for path in (self.state / "local").glob("*")]

    def kill_a_worker(self) -> None:
        roster = next(one for one in self.rosters() if one.living())
        noted = json.loads((roster.of(roster.living()[0]) / "process.json").read_text())
        os.kill(noted["worker"][0], signal.SIGKILL)

    def end_workers(self) -> None:
        for roster in self.rosters():
            roster.stop(roster.living(), 5.0)
            for machine in roster.machines():
                roster.look(machine)  # notes an end that nobody saw

    def told(self) -> dict[str, Any]:
        """The words of this release on a bag when no master runs."""
        found = {name: self.bats(*words, "--json") for name, words in LOOKS.items()}
        return {
            name: [json.loads(one) for one in said.splitlines()] for name, said in found.items()
        }


def running(scene: Scene) -> None:
    """Its master and its machines are killed in the middle; one machine had died before."""
    with scene.master() as master:
        scene.submit("--budget", "4")
        scene.until(lambda status: status.get("phase") == "executing" and status["done"] >= 50)
        scene.kill_a_worker()
        scene.until(lambda status: status["failed"] and status["done"] >= 60)
        master.kill()
        master.wait()


def ended(scene: Scene) -> None:
    """Its user chose a schedule, and had a failed task tried again."""
    with scene.master() as master:
        scene.submit()
        scene.until(lambda status: status.get("phase") == "choosing")
        scene.bats("choose", "--budget", "4")
        scene.bats("watch", "-q")
        (scene.folder / "mended").touch()
        scene.bats("retry", "--failed")
        scene.bats("watch", "-q")
        _end(master)


def cancelled(scene: Scene) -> None:
    with scene.master() as master:
        scene.submit("--budget", "4")
        scene.until(lambda status: status.get("done", 0) >= 40)
        scene.bats("cancel")
        scene.bats("watch", "-q")
        _end(master)


BAGS: Final[Mapping[str, Callable[[Scene], None]]] = {
    "running": running,
    "ended": ended,
    "cancelled": cancelled,
}


def freeze(name: str, work: Path, target: Path) -> None:
    """Run the bag of that name; what is left of it becomes `target`.tar.xz and `target`.json."""
    scene = Scene(work, name)
    try:
        BAGS[name](scene)
    finally:
        if scene.state.exists():
            scene.end_workers()
    target.with_suffix(".json").write_text(json.dumps(scene.told(), ensure_ascii=False) + "\n")
    _fold(scene.state / "store.db")
    with tarfile.open(target.with_suffix(".tar.xz"), "w:xz") as archive:
        for pattern in KEPT:
            for path in sorted(scene.state.glob(pattern)):
                archive.add(path, path.relative_to(scene.state))


def _end(master: "subprocess.Popen[str]") -> None:
    master.send_signal(signal.SIGTERM)
    master.wait(PATIENCE_SECONDS)


def _fold(store: Path) -> None:
    """The write-ahead log goes into the file that it belongs to."""
    db = sqlite3.connect(store)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
