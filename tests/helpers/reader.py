"""Somebody who types what our pages say, in an empty home folder, with `bats` installed."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.waiting import interrupt

PROGRAMS = Path(sys.executable).parent
PATIENCE_SECONDS = 120.0


class Reader:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / ".local" / "state" / "bats"
        hidden = ("BATS_", "XDG_", "NO_COLOR", "SLURM_", "SGE_", "AWS_")
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(hidden)},
            "HOME": str(home),
            "PATH": f"{home}/bin:{PROGRAMS}:{os.environ['PATH']}",
        }

    def write(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if path.parent.name == "bin":
            path.chmod(0o755)

    def types(self, command: str, *exit_codes: int) -> str:
        """The output of a command that ends with one of these exit codes, or with 0."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode in (exit_codes or (0,)), (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        return done.stdout

    @contextmanager
    def meanwhile(self, command: str, says: str) -> Iterator[subprocess.Popen[str]]:
        """A program in another shell, once it has said so; ended as with Ctrl-C."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert process.stdout
            heard = ""
            while says not in heard:
                line = process.stdout.readline()
                assert line, (command, heard)
                heard += line
            yield process
        finally:
            interrupt(process, 30)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
