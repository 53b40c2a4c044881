"""The offerings of a clouds file, for those who need not read one."""

from bats.common.capacity.pool_rules import Pool, as_common
from bats.common.offering import Offering
from bats.common.records import dataclass


@dataclass(frozen=True, slots=True)
class Clouds:
    """The offerings of one file, and the pools of some; `path` is "" when there is none."""

    offerings: tuple[Offering, ...]
    currency: str = "$"
    path: str = ""
    pools: tuple[Pool, ...] = ()

    @property
    def for_bags(self) -> tuple[Offering, ...]:
        """The offerings as bags find them: machines of pools cost them nothing."""
        pooled = {kind.name for pool in self.pools for kind in pool.kinds}
        return tuple(as_common(one) if one.name in pooled else one for one in self.offerings)
