#!/usr/bin/env python3
"""Freezes a release as test data: what its master leaves on disk, and what it says on the wire.

usage: scripts/freeze.py VERSION     into tests/frozen/VERSION, just before that release is tagged

Later releases are tested with it: they must read, go on with and understand all of it. What is
frozen is never made anew; `bench.json` is added by hand: scripts/bench.py NAME... --json.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import structlog
from freezing import bags, wire

from bats.common.release import release

FROZEN: Final = Path(__file__).resolve().parents[1] / "tests" / "frozen"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the test data of this release.")
    parser.add_argument("version", help="of the installed package, to be sure it is meant")
    parser.add_argument("--into", type=Path, default=FROZEN, help="the folder [tests/frozen]")
    chosen = parser.parse_args(arguments)
    target: Path = chosen.into / chosen.version
    if chosen.version != release():
        parser.error(f"what is installed here is release {release()}, not {chosen.version}.")
    if target.exists():
        parser.error(f"{target} is there already: what is frozen stays as it is.")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))  # errors
    with tempfile.TemporaryDirectory(prefix="bats-freeze.") as name:
        work, made = Path(name), Path(name) / "made"
        made.mkdir()
        for bag in bags.BAGS:
            print(f"freezing a bag: {bag}", file=sys.stderr)
            bags.freeze(bag, work, made / bag)
        print("freezing what is said", file=sys.stderr)
        wire.freeze(work / "wire", made / "wire.msgpack")
        shutil.copytree(made, target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target}: {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
