"""One run of a task runner: a folder of its own, a limit of time, and nothing left running."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

SYSTEM: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MOST_SECONDS: Final = 300.0
_MARK: Final = "PEER_RUN"  # in the environment of all that a run starts


class FailedError(Exception):
    """A run that did not do its tasks; says what it wrote."""


class Sitting:
    """The surroundings of one run: what it is started with and where it writes."""

    def __init__(self, folder: Path, found: Mapping[str, str], most_seconds: float) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self._until = time.monotonic() + most_seconds
        self._environment = {
            "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8", "SHELL": "/bin/sh",
            **found, "PATH": ":".join(filter(None, [found.get("PATH"), SYSTEM])), _MARK: self.mark,
        }  # fmt: skip

    def run(self, *words: str | Path, given: IO[str] | None = None, **variables: str) -> str:
        """What it prints; raises what it complains of."""
        with (self.folder / "log").open("ab") as log:
            child = subprocess.Popen(
                words, cwd=self.folder, env={**self._environment, **variables},
                stdin=given or subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        try:
            said, _ = child.communicate(timeout=max(0.1, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            child.stdout.close()  # what it started may hold the other end
            raise FailedError(f"{words[0]} was not done in time") from None
        if child.returncode:
            text = (self.folder / "log").read_text(errors="replace")[-500:]
            raise FailedError(f"{words[0]}: exit code {child.returncode}: {text}")
        return said.decode()

    def write(self, name: str, lines: Sequence[str]) -> Path:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def end(self) -> None:
        """End all that it started, known by the mark, wherever in the tree of processes it is."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            patience = time.monotonic() + 2
            while left := [pid for pid in _processes() if self._is_ours(pid)]:
                for pid in left:
                    _signal(pid, sign)
                if time.monotonic() > patience:
                    break
                time.sleep(0.05)

    def _is_ours(self, pid: int) -> bool:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # it has ended, or is not ours
            return False
        return f"{_MARK}={self.mark}".encode() in environment.split(b"\0")


@contextmanager
def sitting(found: Mapping[str, str], most_seconds: float = MOST_SECONDS) -> Iterator[Sitting]:
    folder = Path(tempfile.mkdtemp(prefix="peer-"))  # short: sockets stand in it
    made = Sitting(folder, found, most_seconds)
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _signal(pid: int, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, sign)
