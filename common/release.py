"""The release, found without the tens of milliseconds that a package's metadata takes."""

import sys
from functools import cache
from pathlib import Path

NAME = "bats-scheduler"


@cache
def release() -> str:
    """The release that the installed package's folder has in its name; else in its metadata."""
    prefix, suffix = f"{NAME.replace('-', '_')}-", ".dist-info"
    for folder in map(Path, sys.path):
        for found in folder.glob(f"{prefix}*{suffix}"):
            return found.name.removeprefix(prefix).removesuffix(suffix)
    from importlib.metadata import version

    return version(NAME)
