"""The soonest end that the money covers, with every machine's own paid time.

The knapsack (section 4) buys a mix for the same whole ATUs from one moment on. While a bag runs,
machines have begun at different times, and money may buy some an ATU more than others. So for an
end F (the bag is empty, all tasks have begun) each machine is looked at by itself: what it still
does if it leaves when its paid time ends, or at the last boundary before F, or stays through F.
The cheapest of these steps are taken until all tasks are covered; F is the soonest for which the
money suffices. The last machine of the cheapest kind leaves when the work is done; a dearer one
stays, and its time is room for error.

A slot that is free after `ready` has begun (F - ready)/T + w tasks by F, w = (1 + c²)/2, c being
spread over mean (Cox 1962); one that must leave at L loses w tasks' work. What still runs at F may
outlast the paid time: that is paid for too, by the chance of it, with room for its deviation.
"""

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import Final

from bats.common.money import NOTHING, Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.arrays import np

STRIDE: Final = 1.3
STEP: Final = 1.02
"""Strides in which an end that can be paid is looked for; the soonest then is, in steps."""

HALVINGS: Final = 10

UNCOUNTED: Final = Money(10**18)
"""Stands for a budget that nobody counts."""

FINEST: Final = 16
"""ATUs much shorter than a task are looked at several at a time, a task lasting so many."""

SMOOTH: Final = 4
"""The ATUs per task from which half of one is added for rounding instead of looking at each."""


MANY: Final = 10
"""The number of steps that can be summed one by one in the time of all at once."""


@dataclass(frozen=True, slots=True)
class Group:
    """Machines of one cluster whose paid time ends together. Times are seconds from now."""

    cluster: int
    offering: Offering
    count: int
    mean_seconds: float  # T
    ready: float  # when a slot is free for the next task
    paid: float  # until when they work as paid; with k ATUs more, for k ATUs longer
    first_atus: int = 1  # what must be bought at once
    fresh: bool = False  # still to be asked for
    unfit: float = 0.0  # tasks' worth of work per machine that will not end in paid time
    last: float = 0.0  # when the last of their running tasks should end
    owed: Money = NOTHING  # per machine, for what is paid until then but not reserved yet


@dataclass(frozen=True, slots=True)
class Stay:
    """The first so many machines of a group are paid on, each for so many ATUs or what follows."""

    group: Group
    count: int
    atus: int


@dataclass(frozen=True, slots=True)
class Timetable:
    end: float  # F, from now
    cost: Money  # of the ATUs bought, without what the tail may take
    stays: tuple[Stay, ...]
    needed: Money = NOTHING  # with what the tail may take


class Residual:
    """The time that what runs at some moment will still run: P(R > x) = E(X - x)⁺/E(X)."""

    def __init__(self, sample: Sequence[float]) -> None:
        self._sorted = sorted(sample)
        self._known = np.array(self._sorted)
        self._beyond = _from_the_end(self._sorted)
        self._squares = _from_the_end([x * x for x in self._sorted])
        self._cubes = _from_the_end([x * x * x for x in self._sorted])
        self.mean = self._beyond[0] / len(self._sorted)
        self._whole = self.excess(1e-300)

    @property
    def longest(self) -> float:
        return self._sorted[-1]

    def remaining(self, tau: float) -> float:
        """The time that a task of age τ should still take: the mean of those known to be longer.

        Beyond all that is known as long again as the mean: such a tail has no memory.
        """
        at = bisect.bisect_right(self._sorted, tau)
        longer = len(self._sorted) - at
        return self._beyond[at] / longer - tau if longer else self.mean

    def lasts(self, tau: float) -> float:
        """The time that a task which takes longer than τ should take in all."""
        return tau + self.remaining(tau)

    def exceeds(self, x: float) -> float:
        if x <= 0:
            return 1.0
        at = bisect.bisect_right(self._sorted, x)
        return (self._beyond[at] - x * (len(self._sorted) - at)) / self._beyond[0]

    def excess(self, x: float) -> tuple[float, float]:
        """E(R - x)⁺ and its mean square, E(X - x)⁺²/2E(X) and E(X - x)⁺³/3E(X)."""
        if x <= 0:
            mean, square = self._whole
            return mean - x, square - 2 * x * mean + x * x
        at = bisect.bisect_right(self._sorted, x)
        n = len(self._sorted) - at
        one, two, three = self._beyond[at], self._squares[at], self._cubes[at]
        mean = (two - 2 * x * one + n * x * x) / (2 * self._beyond[0])
        square = (three - 3 * x * two + 3 * x * x * one - n * x**3) / (3 * self._beyond[0])
        return max(0.0, mean), max(0.0, square)

    def steps_begun(self, x: float, step: float) -> tuple[float, float]:
        """The steps begun at x, x + step, ...: how many R reaches, and its mean square.

        The sum of P(R > x + k·step) over all k, and of (2k + 1) times it: for each runtime the
        terms are those of a polynomial in k.
        """
        sure = math.floor(-x / step) + 1 if x <= 0 else 0
        first = x + sure * step
        at = bisect.bisect_right(self._sorted, first)
        y = (self._known[at:] - first) / step
        m = np.floor(y)
        pairs = m * (m + 1) / 2
        once = (m + 1) * y - pairs
        twice = pairs * (y - (2 * m + 1) / 3)
        each = step / self._beyond[0]
        reached = float(once.sum()) * each
        square = (2 * sure + 1) * reached + 2 * float(twice.sum()) * each
        return sure + reached, sure * sure + square


def _from_the_end(values: Sequence[float]) -> list[float]:
    """The sums of all values from each place on."""
    sums = list(accumulate(reversed(values), initial=0.0))
    sums.reverse()
    return sums


@dataclass(frozen=True, slots=True)
class Errand:
    """Work to be done: N tasks, of which the runtimes in `residual` are known."""

    tasks: float  # N
    waste: float  # w
    residual: Residual
    deviations: float = 0.0  # room for the tail, in standard deviations of what it costs

    def with_room(self, noise: float, z: float) -> "Errand":
        """The errand with room for z deviations of the tasks' mean and of the tail's cost."""
        return replace(self, tasks=self.tasks * (1 + z * noise), deviations=max(0.0, z))


def soonest(groups: Sequence[Group], errand: Errand, money: Money) -> Timetable | None:
    """The soonest end; None when the money does not suffice."""
    cheap = cheapest_kinds(groups)
    yards = [_Yard(g, errand.waste, cheap) for g in groups]

    def by(end: float) -> Timetable | None:
        return _by(end, yards, errand, money)

    begin = _everything(groups, errand)
    if math.isinf(begin):
        return None
    latest = _latest(groups, errand)
    last = short = begin
    while by(last) is None:
        if last >= latest:
            return None
        short, last = last, min(last * STRIDE, latest)
    # Where ATUs end between two steps, a sooner end may be affordable though a later one is not.
    before = end = begin if _longest_atu(groups) > (STEP - 1) * short else short
    while (found := by(end)) is None:
        before, end = end, min(end * STEP, last)
    for _ in range(HALVINGS):
        middle = (before + end) / 2
        better = by(middle)
        if better is None:
            before = middle
        else:
            end, found = middle, better
    return found


def cheapest_kinds(groups: Sequence[Group], alike: float = 0.0) -> frozenset[int]:
    """The clusters whose machines do a task for the least, or for little more than that."""
    prices: dict[int, float] = {}
    for g in groups:
        if g.count and not g.offering.free:
            per_second = g.offering.price / g.offering.atu_seconds
            prices[g.cluster] = g.mean_seconds / g.offering.slots * per_second
    least = min(prices.values(), default=0.0) * (1 + alike)
    return frozenset(cluster for cluster, price in prices.items() if price <= least)


def _longest_atu(groups: Sequence[Group]) -> float:
    priced = (g.offering.atu_seconds for g in groups if g.count and not g.offering.free)
    return max(priced, default=0.0)


def _latest(groups: Sequence[Group], errand: Errand) -> float:
    """The last end that is looked at: one ATU after that of all machines of the cheapest kind.

    Rounding to whole ATUs costs no machine more than one; whatever ends later only seems cheaper.
    """
    priced = [g for g in groups if g.count and not g.offering.free]
    if not priced:
        return _everything(groups, errand)
    kinds = cheapest_kinds(groups)
    cheap = [g for g in groups if g.cluster in kinds or g.offering.free]
    standing = [g for g in cheap if not g.fresh and g.count]
    # A new machine costs its start: it may be cheaper to wait for those that are there, or for one.
    few = standing or [replace(g, count=1) for g in cheap if g.count]
    return max(_everything(cheap, errand) + _longest_atu(groups), _everything(few, errand))


def _everything(groups: Sequence[Group], errand: Errand) -> float:
    """The time when the bag is empty with every machine there is."""
    yards = [(g.count, g.offering.slots, g.ready, g.mean_seconds) for g in groups]

    def done(end: float) -> float:
        """Tasks that machines begin until the end: one on each slot as soon as it is ready."""
        tasks: float = 0
        for count, slots, ready, mean in yards:
            if end > ready:
                tasks += count * (slots * max(1.0, (end - ready) / mean + errand.waste))
        return tasks

    if not any(g.count for g in groups):
        return math.inf
    high = min(g.ready + g.mean_seconds for g in groups)
    while done(high) < errand.tasks:
        high *= 2
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if done(middle) < errand.tasks else (low, middle)
    return high


def _until(g: Group, leaves: float, waste: float) -> float:
    """Tasks' worth of work that one machine ends before it leaves.

    A machine leaves when a task ends, so that it loses no more than half of a short ATU.
    """
    return g.offering.slots * max(0.0, (leaves - g.ready) / g.mean_seconds - _lost(g, waste))


def _lost(g: Group, waste: float) -> float:
    """Tasks' worth of time that a slot loses when its machine leaves."""
    return min(waste, g.offering.atu_seconds / (2 * g.mean_seconds))


def _as_paid(g: Group, waste: float) -> float:
    """Tasks' worth of work that one machine ends if nothing more is bought for it."""
    return 0.0 if g.fresh else _until(g, g.paid, waste) - g.unfit


def _enough(g: Group, tasks: float, waste: float) -> int:
    """The fewest ATUs more in which a machine ends so many tasks more than without them."""
    each = (_as_paid(g, waste) + tasks) / g.offering.slots
    leaves = g.ready + (each + _lost(g, waste)) * g.mean_seconds
    return max(g.first_atus, math.ceil((leaves - g.paid) / g.offering.atu_seconds))


class _Yard:
    """A group with all of it that depends on no end that is looked at: ends are many."""

    __slots__ = (
        "as_paid",
        "atu",
        "before_first",
        "cheap",
        "count",
        "first",
        "free",
        "fresh",
        "group",
        "lost",
        "mean",
        "owed",
        "paid",
        "price",
        "ready",
        "slots",
    )

    def __init__(self, g: Group, waste: float, cheap: frozenset[int]) -> None:
        self.group, self.count, self.slots = g, g.count, g.offering.slots
        self.free, self.fresh, self.first = g.offering.free, g.fresh, g.first_atus
        self.atu, self.price = g.offering.atu_seconds, int(g.offering.price)
        self.mean, self.ready, self.paid = g.mean_seconds, g.ready, g.paid
        self.owed = g.count * g.owed
        self.lost, self.as_paid = _lost(g, waste), _as_paid(g, waste)
        self.before_first = (1 - waste) * g.mean_seconds
        self.cheap = g.cluster in cheap


def _by(end: float, yards: Sequence[_Yard], errand: Errand, money: Money) -> Timetable | None:
    """The cheapest way to empty the bag by `end`, if the money suffices for it."""
    waste, residual = errand.waste, errand.residual
    left = errand.tasks
    expected = variance = 0.0  # of what the last tasks take beyond paid time
    cost = 0
    steps: list[tuple[float, int, float, int, _Yard, int, float, float]] = []
    for g in yards:
        cost += g.owed
        to_do = end - g.ready
        # Tasks that one machine begins: one on each slot as soon as it is ready.
        through = g.slots * max(1.0, to_do / g.mean + waste) if to_do > 0 else 0.0
        if g.free:
            left -= g.count * through
            continue
        if not g.fresh and g.paid >= end:
            left -= g.count * through
            mean, square = _beyond(g, end, g.paid, residual)
            expected += g.count * mean * g.price
            variance += g.count * max(0.0, square - mean * mean) * g.price**2
            continue
        if through <= 0:
            continue
        without = g.as_paid
        left -= g.count * without
        full = math.floor((end - g.paid) / g.atu)
        bought = 0
        worth = math.inf
        if full >= g.first:
            leaves = g.paid + full * g.atu
            gain = g.slots * max(0.0, (leaves - g.ready) / g.mean - g.lost) - without
            if gain > 0:
                bought = full
                worth = gain / (full * g.price)
                steps.append((-worth, 0, gain, full * g.price, g, full, 0.0, 0.0))
                without += gain
        more = max(full + 1, g.first) - bought
        gain = through - without
        if gain > 0:
            mean, square = _beyond(g, end, g.paid + (bought + more) * g.atu, residual)
            worth = min(worth, gain / ((more + mean) * g.price))
            spread = max(0.0, square - mean * mean) * g.price**2
            steps.append(
                (-worth, 1, gain, more * g.price, g, bought + more, mean * g.price, spread)
            )
    steps.sort(key=_WORTH)
    paid: list[tuple[Group, int, int]] = []
    for _, through_the_end, gain, each, g, atus, tail, spread in steps:
        if left <= 0:
            break
        count = min(g.count, math.ceil(left / gain))
        if not through_the_end and g.cheap and count * gain > left:
            count -= 1
            few = min(atus, _enough(g.group, left - count * gain, waste))
            paid.append((g.group, count + 1, few))
            cost += few * g.price
            left = count * gain
        left -= count * gain
        cost += count * each
        expected += count * tail
        variance += count * spread
        if cost > money:
            return None
        paid.append((g.group, count, atus))
    needed = cost + expected + errand.deviations * math.sqrt(variance)
    if left > 1e-9 or needed > money:
        return None
    stays = tuple(Stay(*stay) for stay in paid)
    return Timetable(end, Money(cost), stays, Money(math.ceil(needed)))


_WORTH: Final = itemgetter(0, 1)


def _beyond(g: _Yard, end: float, paid: float, residual: Residual) -> tuple[float, float]:
    """Mean and mean square of the ATUs that a machine needs beyond its paid time for the tail."""
    atu = g.atu
    scale = residual.mean / g.mean
    # A slot that has just begun its first task has all of it before it.
    early = max(0.0, g.before_first - max(0.0, end - g.ready))
    spare = paid - end - early
    if g.slots == 1 and atu * SMOOTH < g.mean:
        mean, square = residual.excess(spare * scale)
        mean, square = mean / (scale * atu), square / (scale * atu) ** 2
        return mean + residual.exceeds(spare * scale) / 2, square
    few = max(1, math.ceil(g.mean / (FINEST * atu)))
    if g.slots == 1 and residual.longest > (spare + MANY * few * atu) * scale:
        mean, square = residual.steps_begun(spare * scale, few * atu * scale)
        return few * mean, few * few * square
    mean = square = 0.0
    for k in itertools.count():
        beyond = spare + k * few * atu
        chance = min(1.0, g.slots * residual.exceeds(beyond * scale))
        if chance <= 0:
            break
        mean += few * chance
        square += few * few * (2 * k + 1) * chance
    return mean, square
