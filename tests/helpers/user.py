"""`bats` as a user runs it: the console script, other processes, an own state folder."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.waiting import interrupt, until
from helpers.workers import workers_in

BATS = Path(sys.executable).with_name("bats")
PATIENCE_SECONDS = 120.0


class User:
    """Somebody in a folder of their own, with a state folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        hidden = {"NO_COLOR", "BATS_CLOUDS", "XDG_STATE_HOME", "XDG_CONFIG_HOME"}
        self.environment = {
            **{name: text for name, text in os.environ.items() if name not in hidden},
            "BATS_STATE": str(self.state),
            "HOME": str(folder),
        }

    def bats(
        self, *words: str, exit_code: int | None = 0, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [BATS, *words],
            cwd=self.folder,
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert exit_code is None or done.returncode == exit_code, (words, done)
        assert "Traceback" not in done.stderr
        return done

    def facts(self, *words: str, exit_code: int = 0) -> dict[str, Any]:
        found = json.loads(self.bats(*words, "--json", exit_code=exit_code).stdout)
        assert found["bats"] == 1
        return dict(found)

    def machines_told(self) -> list[dict[str, Any]]:
        """Those that the master tells of; none while it does not answer."""
        answer = self.bats("machines", "--json", exit_code=None)
        return list(json.loads(answer.stdout)["machines"]) if answer.returncode == 0 else []

    def machine(self, number: object) -> dict[str, Any]:
        return next(one for one in self.facts("machines")["machines"] if one["id"] == number)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A program that goes on; ended in order, killed if it does not end."""
        process = subprocess.Popen(
            [BATS, *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            interrupt(process, 20)

    @contextmanager
    def master(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        with self.started("master", *words) as process:
            assert process.stdout
            said = process.stdout.readline()
            assert "master listens" in said, said
            yield process

    def begun(self, run: subprocess.Popen[str]) -> None:
        """Wait until `bats run` can be asked; one that has ended says why."""
        access = self.state / "access.json"
        until(lambda: access.exists() or run.poll() is not None, 120)
        assert run.poll() is None, run.communicate()

    def machines(self) -> dict[int, int]:
        """Process ids of living workers, by machine."""
        return workers_in(self.state)


@pytest.fixture
def user(tmp_path: Path) -> User:
    home = tmp_path / "a user"  # with a blank, as homes have
    home.mkdir()
    return User(home)
