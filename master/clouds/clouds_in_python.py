"""The offerings of a clouds file, for those who need not read one."""

from bats.common.offering import Offering
from bats.common.records import dataclass


@dataclass(frozen=True, slots=True)
class Clouds:
    """The offerings of one file; `path` is "" when there is none."""

    offerings: tuple[Offering, ...]
    currency: str = "$"
    path: str = ""
