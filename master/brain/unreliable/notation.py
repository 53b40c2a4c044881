"""Strategies as they are written: a static one's name, or `N=3 T=1x D=2x M_r=0.02`.

T and D are seconds, or with an x times T_ur, the mean of a task on an unreliable machine.
"""

import re
from typing import Final, NamedTuple

from bats.master.brain.unreliable.strategy import BUDGET, STATIC, Opening, Strategy

ALL: Final = 1e6
"""M_r of those that use all the reliable machines there are."""
_D: Final = 4.0
_PART: Final = re.compile(r"(N|T|D|M_r)=([0-9]*\.?[0-9]+|∞|inf)(x|s)?")


class Written(NamedTuple):
    strategy: Strategy
    relative: bool  # T and D are times of T_ur
    text: str


_NAMED: Final = {
    "AR": Strategy(None, _D, _D, ALL, Opening.RELIABLE, tail=False),
    "TRR": Strategy(0, 0.0, _D, ALL),
    "TR": Strategy(0, _D, _D, ALL),
    "AUR": Strategy(None, _D, _D, 0.0),
    "CN∞": Strategy(None, _D, _D, ALL, Opening.BOTH, tail=False),
    "CN1T0": Strategy(1, 0.0, _D, ALL, Opening.BOTH, both_at_once=True),
}
_ALSO: Final = {"CNinf": "CN∞"}  # where no key writes it


def write(strategy: Strategy) -> str:
    """The strategy as `read` takes it, its times in seconds."""
    if strategy.opening is Opening.RELIABLE:
        return "AR"
    N = "∞" if strategy.N is None else strategy.N
    return f"N={N} T={strategy.T:.6g} D={strategy.D:.6g} M_r={strategy.M_r:.3g}"


def read(text: str) -> Written:
    """ValueError says what is wrong."""
    name = _ALSO.get(text, text)
    if name in _NAMED:
        return Written(_NAMED[name], True, text)
    if budget := re.fullmatch(rf"{BUDGET}=([0-9]*\.?[0-9]+)", text):
        return Written(Strategy(0, 0.0, _D, ALL, affordable=float(budget[1])), True, text)
    parts = text.split()
    found = [_PART.fullmatch(part) for part in parts]
    values = {match[1]: match for match in found if match}
    if len(values) != 4 or len(parts) != 4:
        names = ", ".join(name if name != BUDGET else f"{BUDGET}=7.5" for name in STATIC)
        raise ValueError(
            f"`{text}` is no strategy; write for example `N=3 T=1x D=2x M_r=0.02` or one of {names}"
        )
    units = {values[key][3] for key in "TD"}
    if len(units) > 1:
        raise ValueError(f"`{text}`: T and D are both times of the mean (1x), or both seconds")
    N = values["N"][2]
    if values["N"][3] or values["M_r"][3] or not (N.isdigit() or N in ("∞", "inf")):
        raise ValueError(f"`{text}`: N is a whole number or ∞, M_r a share")
    T, D, M_r = (float(values[key][2].replace("∞", "inf")) for key in ("T", "D", "M_r"))
    if not 0 <= T <= D or float("inf") == D:
        raise ValueError(f"`{text}`: T is at most D, and D has an end")
    return Written(Strategy(int(N) if N.isdigit() else None, T, D, M_r), units == {"x"}, text)
