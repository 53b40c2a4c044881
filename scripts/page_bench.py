"""A master with its web page and a browser to open it in, for scripts that look at the page."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
BATS: Final = ROOT / ".venv" / "bin" / "bats"

sys.path.append(str(ROOT / "tests"))  # helpers.browser, which drives a tab


@contextmanager
def chromium(folder: Path) -> Iterator[str]:
    """The address of its DevTools."""
    bed = ROOT / "scripts" / "testbeds" / "chromium"
    environment = {**os.environ, "OWNER": str(os.getpid())}
    said = subprocess.run([bed, "up", folder], env=environment, check=True, capture_output=True)
    words = dict(w.split("=", 1) for w in shlex.split(said.stdout.decode()) if "=" in w)
    try:
        yield words["BATS_DEVTOOLS"]
    finally:
        subprocess.run([bed, "down", folder], check=True)


@contextmanager
def master(state: Path, *words: str | Path) -> Iterator[dict[str, Any]]:
    """The facts that a master tells as it begins, the page's link, and its process id as `pid`."""
    command = [BATS, "master", "--state", state, "--web", "0", "--json", "-q", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        facts = json.loads(process.stdout.readline())
        link = Path(facts["web_link"]).read_text().strip()
        yield {**facts, "web_link": link, "pid": process.pid}
    finally:
        process.terminate()
        process.communicate(timeout=30)


def bats(state: Path, *words: str | Path) -> str:
    """The words that a command prints, of the master in this state folder."""
    command = [BATS, words[0], "--state", state, *words[1:]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
