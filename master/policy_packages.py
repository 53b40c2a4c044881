"""Policies of other packages: the modules that their entry points name put them into registries."""

import sys
from functools import cache
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError

GROUP: Final = "bats.policies"


@cache
def import_policies() -> None:
    """Once in a process, before a policy is looked up by its name."""
    if not _any_named():
        return
    from importlib.metadata import entry_points

    for found in entry_points(group=GROUP):
        try:
            found.load()
        except Exception as error:
            raise UsageError(
                f"The policies of `{found.name}` cannot be imported from {found.value} "
                f"({type(error).__name__}: {error}): mend or remove its package."
            ) from error


def _any_named() -> bool:
    """True if a package names some: to load what reads packages' metadata takes far longer."""
    return any(
        GROUP in named.read_text(encoding="utf-8", errors="replace")
        for folder in map(Path, sys.path)
        for named in folder.glob("*-info/entry_points.txt")
    )
