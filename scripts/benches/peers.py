"""Other task runners, as `../shared/peers` sets them up and drives them; none where it is not."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDER: Final = Path(
    os.environ.get("BATS_PEERS") or Path(__file__).resolve().parents[3] / "shared/peers"
)


def rates(names: Iterable[str], tasks: int) -> dict[str, float]:
    """Tasks per second at 10,000 tasks, of those that are installed (setup.sh installs them)."""
    program = FOLDER / "bench.py"
    if not program.exists():
        print(f"no peers: there is no {program}", file=sys.stderr)
        return {}
    rows = _run(program, names, "thr")
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.get("n") == tasks and "s" in row:
            found.setdefault(row["peer"], []).append(tasks / row["s"])
    return {name: statistics.median(seen) for name, seen in found.items()}


def _run(program: Path, names: Iterable[str], what: str) -> list[dict[str, object]]:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as out:
        for name in names:  # its --only separates by commas, which some names have
            only = name.split(",")[0]
            subprocess.run(
                [sys.executable, program, "--reps", "1", "--only", only, "--what", what,
                 "--out", out.name],
                check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return [json.loads(line) for line in Path(out.name).read_text().splitlines()]
