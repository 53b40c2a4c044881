"""Policies of other packages: the modules that their entry points name put them into registries."""

from functools import cache
from importlib.metadata import entry_points
from typing import Final

from bats.common.errors import UsageError

GROUP: Final = "bats.policies"


@cache
def import_policies() -> None:
    """Once in a process, before a policy is looked up by its name."""
    for found in entry_points(group=GROUP):
        try:
            found.load()
        except Exception as error:
            raise UsageError(
                f"The policies of `{found.name}` cannot be imported from {found.value} "
                f"({type(error).__name__}: {error}): mend or remove its package."
            ) from error
