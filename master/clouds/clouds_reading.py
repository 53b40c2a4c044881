"""Clouds files and the offerings they mean; without one, this computer for nothing.

Who has none does not wait for what checks such files.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from bats.common.capacity import resources
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.master.clouds.clouds_in_python import Clouds

HERE: Final = "bats-clouds.toml"
VARIABLE: Final = "BATS_CLOUDS"


def find_clouds(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The file meant when none is named: $BATS_CLOUDS, this folder's, the user's."""
    if named := environment.get(VARIABLE):
        return Path(named)
    configuration = environment.get("XDG_CONFIG_HOME") or "~/.config"
    for path in (Path(HERE), Path(configuration).expanduser() / "bats" / "clouds.toml"):
        if path.is_file():
            return path
    return None


def clouds(path: str | Path = "") -> Clouds:
    """The clouds of that file, or of the one found, or this computer. Raises UsageError.

    bag = master.submit("sweep.toml", offerings=clouds("mine.toml").offerings)
    """
    found = Path(path) if path else find_clouds()
    if found is None:
        return this_computer()
    from bats.master.clouds.clouds_file import load

    return load(found)


def this_computer() -> Clouds:
    """One machine, free, with what this process may use of the computer."""
    here = resources.this_computer()
    offering = Offering(ClusterName("here"), NOTHING, 3600.0, 1, here.cpus)
    return Clouds((replace(offering, memory_bytes=here.memory_bytes, gpus=here.gpus),))
