"""The offerings of a clouds file, for those who need not read one."""

from dataclasses import dataclass

from bats.common.offering import Offering


@dataclass(frozen=True, slots=True)
class Clouds:
    """The offerings of one file; `path` is "" when there is none."""

    offerings: tuple[Offering, ...]
    currency: str = "$"
    path: str = ""
