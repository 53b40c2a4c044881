#!/usr/bin/env python3
"""Whether a wheel holds what stands here: every module and what lies beside them, byte for byte.

usage: scripts/wheel_contents.py WHEEL
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

FOLDERS = ("common", "deploy", "master", "worker")
AT_THE_TOP = Path("master", "bats")  # what `import bats` gives
NOT_SHIPPED = {".md", ".pyc"}  # pages are read in the repository


def shipped(root: Path) -> Iterator[tuple[str, bytes]]:
    """What is to be in the wheel: its name there, and its content."""
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*")):
        if path.is_file() and path.suffix not in NOT_SHIPPED:
            inside = path.relative_to(root)
            if inside.is_relative_to(AT_THE_TOP):
                inside = inside.relative_to(AT_THE_TOP)
            yield f"bats/{inside}", path.read_bytes()


def differences(wheel: Path, root: Path) -> list[str]:
    """Sentences; none if it holds what stands there."""
    here = dict(shipped(root))
    with ZipFile(wheel) as packed:
        there = {name: packed.read(name) for name in packed.namelist() if name.startswith("bats/")}
    return [
        *(f"{name} is not in the wheel" for name in here.keys() - there.keys()),
        *(f"{name} is in the wheel and not in this folder" for name in there.keys() - here.keys()),
        *(f"{name} differs" for name in here.keys() & there.keys() if here[name] != there[name]),
    ]


def main() -> int:
    found = differences(Path(sys.argv[1]), Path(__file__).resolve().parents[1])
    for sentence in sorted(found):
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
