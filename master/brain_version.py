"""The version of the brain that decides here: its release, and a digest of its code."""

import functools
import hashlib
import os
from importlib.util import find_spec
from typing import Final

from bats.common.release import release

_CHARACTERS: Final = 12


@functools.cache
def brain_version() -> str:
    """Two that are alike decide alike; it takes some milliseconds the first time."""
    found = hashlib.sha256()
    brain = find_spec("bats.master.brain")
    for folder in (brain and brain.submodule_search_locations) or ():
        _read(folder, found)
    return f"{release()}+{found.hexdigest()[:_CHARACTERS]}"


def _read(folder: str, into: "hashlib._Hash") -> None:
    with os.scandir(folder) as listed:
        inside = sorted(listed, key=lambda one: one.name)
    for one in inside:
        if one.is_dir():
            _read(one.path, into)
        elif one.name.endswith(".py"):
            with open(one.path, "rb") as file:  # noqa: PTH123, for there are 150 of them
                into.update(one.name.encode() + b"\0" + file.read())
