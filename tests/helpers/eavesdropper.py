"""Looks, while a run is under way, for its secrets where others could read them.

Secrets are the keys in the files that hold some, private as these are: those of master, client and
workers, tickets on their way, user data of instances. Places are command lines, logs, scripts that
were handed in, and the store.
"""

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

_LOOK_SECONDS = 0.25
_SECRET = re.compile(rb'"secret(?:_key)?": ?"([^"]{40})"')
_HOLD = ("keys/*.json", "access.json", "worker.json", "*/*/*/*.ticket", "i/*/user-data")
_HANDED_IN = (
    "ctld/hash.*/job.*/script",
    "spool/n*/job*/slurm_script",
    "spool/qmaster/job_scripts/*/*/*",
    "spool/execd/localhost/job_scripts/*",
    "i/*/console.log",
)
_TOLD = ("*.log", "log", "*.exit", "*.end", "*.db", "*.db-wal", "run.json", "ended.json")


class Eavesdropper:
    """Used as `with Eavesdropper(state, beds) as ear:`; then ask what was overheard."""

    def __init__(self, state: Path, beds: Iterable[Path]) -> None:
        self._state = state
        self._beds = list(beds)
        self.secrets: set[bytes] = set()
        self.command_lines: set[bytes] = set()
        self.scripts: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _listen(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            for command_line in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):  # ended meanwhile
                    self.command_lines.add(command_line.read_bytes())
            for folder in (self._state, *self._beds):
                for pattern in _HOLD:
                    for text in _texts(folder.glob(pattern)):
                        self.secrets.update(_SECRET.findall(text))
                for pattern in _HANDED_IN:
                    self.scripts.update(_texts(folder.glob(pattern)))

    def overheard(self) -> list[str]:
        """Places where a secret stands that should not. To be asked when the run is over."""
        places = {f"command line {line!r}": line for line in self.command_lines}
        places |= {f"script or console {text[:80]!r}": text for text in self.scripts}
        written = {str(file): text for file in self.told() for text in _texts([file])}
        found = [
            place
            for place, text in {**places, **written}.items()
            if any(secret in text for secret in self.secrets)
        ]
        return found + [place for place, text in written.items() if b"secret_key" in text]

    def told(self) -> list[Path]:
        """Logs, notes and the store: what may be read without being a secret's own file."""
        files = [file for file in self._state.rglob("*") if file.is_file()]
        return [file for file in files if any(file.match(pattern) for pattern in _TOLD)]


def _texts(files: Iterable[Path]) -> Iterable[bytes]:
    with suppress(OSError):  # folders come and go
        for file in files:
            with suppress(OSError):
                yield file.read_bytes()
