"""React (§4.4.1; Chieu et al. 2009): the present load and a pad, of two machines as published.

m = L - cap. At m ≥ 0 machines are short, at m < -pad more than the pad are under-used: both times
the target is L + pad. Else what is there stays.
"""

from typing import Final

from bats.master.brain.scaling.scaler import OfLoad

PAD: Final = 2


class React(OfLoad):
    def __init__(self, rate: float = 1.0, pad: int = PAD) -> None:
        super().__init__(rate)
        self.pad = pad

    def target(self, load: int, cap: int) -> int:
        m = load - cap
        return load + self.pad if m >= 0 or m < -self.pad else cap
