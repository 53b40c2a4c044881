"""The version of the brain that decides here: its release, and a digest of its code."""

import functools
import hashlib
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from typing import Final

_CHARACTERS: Final = 12


@functools.cache
def brain_version() -> str:
    """Two that are alike decide alike; it takes some milliseconds the first time."""
    found = hashlib.sha256()
    _read(resources.files("bats.master.brain"), found)
    return f"{version('bats-scheduler')}+{found.hexdigest()[:_CHARACTERS]}"


def _read(folder: Traversable, into: "hashlib._Hash") -> None:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            _read(one, into)
        elif one.name.endswith(".py"):
            into.update(one.name.encode() + b"\0" + one.read_bytes())
