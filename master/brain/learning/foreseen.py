"""Runtimes foreseen of each task, by the law that the parameters of a sweep follow, if they do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.learning.runtime_law import FEWEST, Law, design, law_of
from bats.master.brain.protocol.parameters import Parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANEW: Final = 1.25
"""The law is looked for again when so many times as many runtimes are known."""

Back = Callable[[int, float], float]
"""Seconds on the canonical cluster, of a cluster and the seconds there."""


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """All seconds are canonical."""

    law: Law
    seconds: NDArray[np.float64]  # of every task, on average
    _above: Sequence[float] = field(init=False)  # sums of the ratios from each place on

    def __post_init__(self) -> None:
        object.__setattr__(self, "_above", [*accumulate(reversed(self.law.ratios))][::-1])

    def __deepcopy__(self, _memo: object) -> Foreseen:
        return self  # nothing in it changes

    def lasts(self, task: int, tau: float) -> float:
        """The time that a task should take in all that has run for so long; τ beyond all known."""
        expected, ratios = float(self.seconds[task]), self.law.ratios
        place = bisect_right(ratios, tau / expected)
        if place == len(ratios):
            return tau
        return expected * self._above[place] / (len(ratios) - place)

    def share_within(self, task: int, seconds: float) -> float:
        """The chance that the task takes no longer."""
        ratios = self.law.ratios
        return bisect_right(ratios, seconds / float(self.seconds[task])) / len(ratios)

    def of(self, tasks: Sequence[bool]) -> tuple[float, float]:
        """The sum over these tasks, and its relative error (one σ).

        It is that of a level known from few, and of a sum of so many that differ by chance.
        """
        some = self.seconds[np.asarray(tasks, dtype=np.bool_)]
        whole = float(some.sum())
        if not whole:
            return 0.0, 0.0
        known = (1 + len(self.law.terms)) / self.law.runtimes
        return whole, self.law.error * float(known + (some**2).sum() / whole**2) ** 0.5


class LawSeeker:
    """Runtimes as they become known, and the law in them."""

    __slots__ = ("_design", "_seen", "_settled", "_wanted", "found")

    def __init__(self, parameters: Parameters) -> None:
        self.found: Foreseen | None = None  # None: no law holds
        self._design = cache(partial(design, parameters))  # made when first asked for
        self._seen: dict[int, tuple[int, float]] = {}  # by task: on which cluster, and how long
        self._wanted = FEWEST
        self._settled = False

    def see(self, task: int, cluster: int, seconds: float) -> None:
        self._seen.setdefault(task, (cluster, seconds))

    @property
    def due(self) -> bool:
        """True if so many more runtimes are known that the law is to be looked for again."""
        return len(self._seen) >= self._wanted and not self._settled

    def look(self, back: Back) -> None:
        """Look for the law in all that has been seen."""
        self._wanted = max(len(self._seen) + 1, int(ANEW * len(self._seen)))
        seconds = [back(*seen) for seen in self._seen.values()]
        found = law_of(self._design(), list(self._seen), seconds)
        self.found = None if found is None else Foreseen(*found)

    def settle(self) -> None:
        """Look no more: a copy that is run ahead goes on with what is known now."""
        self._settled = True
