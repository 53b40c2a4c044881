"""Foresight: what schedules come to, by running copies of the engine ahead in virtual time.

What is told of a schedule is what the engine itself does with it: start delays, minimum charges,
boundaries, whole tasks, copies in the tail, and the room that it keeps for error. Each run draws a
bag that the sample may stem from (`distributions`), and speeds that the common tasks may stem from.
The runs are a stratified sample: of many distributions, ordered by their means, every few-th is
taken. A run that is short of money is given more, so that every run tells a price.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from bats.common.billing import ROUNDING
from bats.common.messages import TaskId
from bats.common.money import NOTHING, Money
from bats.master.brain.arrays import np
from bats.master.brain.engine import Engine
from bats.master.brain.learning.experience import runtimes_with_earlier
from bats.master.brain.learning.regression import Line
from bats.master.brain.planning.believable import NOISE, believable
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.prediction.distributions import Draws, possible
from bats.master.brain.prediction.families import Seen, families
from bats.master.brain.prediction.predictors import predict
from bats.master.brain.protocol.commands import Foretell
from bats.master.brain.protocol.events import Foretold
from bats.master.brain.views.forecast import Known, foretold
from bats.master.simulate import bundles
from bats.master.simulate.bundles import run_in_bundles
from bats.master.simulate.running_ahead import End, Floats, run_ahead, run_with_enough

if TYPE_CHECKING:
    from numpy.random import Generator

CONFIDENCE: Final = 0.9
MOST_TASKS: Final = 1000  # of a larger bag running engines ahead would take too long
RUNS: Final = 9  # the dearest of nine is a bound that holds in nine of ten cases
STRATUM: Final = 5  # distributions of which each run has one
OF_EACH: Final = 3  # distributions of each family that is drawn
SPEED: Final = 0.3  # the largest error of a kind's speed that is drawn, one σ
CLOSELY: Final = 100  # tasks up to which a plan is looked at as often as in earnest
SELDOM: Final = 3.0  # else so much less often
SPARE: Final = 1.01  # of a price, against what looking seldom leaves out
_UNKNOWN_TAIL: Final = 0.5  # of a mean: what a task beyond all that is known takes yet, on average


def foretell(engine: Engine, asked: Foretell) -> Foretold:
    """Run each of the schedules ahead; none are told if nothing is known of the bag.

    Not those of a workflow: of steps that are not known runs differ by more than an engine's
    decisions do, and hundreds of rollouts tell that better than nine runs of an engine.

    A first look, with the money that each was planned with, tells a price that should do and which
    of them can be believed; the second is with that price for a limit, as it will be.
    """
    known = engine.foreknown()
    if not known.runtimes:
        return Foretold(())
    if known.workflow:
        tell = _at_a_glance if known.decided else _by_rollouts
        return Foretold(tell(engine, asked.schedules))
    bundled = None
    if known.unfinished > MOST_TASKS:
        bundled = bundles.number(engine, known, asked.schedules)
        if bundled is None:
            return Foretold(_at_a_glance(engine, asked.schedules))
    rng = np.random.default_rng(known.seed)
    bags = list(_bags(known, rng))
    seldom = SELDOM if len(bags) > 1 and known.unfinished > CLOSELY else 1.0

    def look(schedule: Schedule, few: slice) -> list[End]:
        def ahead(one: Schedule) -> Engine:
            return engine.ahead((one,), seldom)

        if bundled is not None:
            run = partial(run_in_bundles, engine, known, schedule, count=bundled, rng=rng)
            return [run(*bag) for bag in bags[few]]
        if schedule.bounds is None and not known.decided:
            return [run_with_enough(ahead, known, schedule, *bag) for bag in bags[few]]
        return [run_ahead(ahead(schedule), known, schedule, *bag) for bag in bags[few]]

    if known.decided and not known.choosing:
        plan, *less = asked.schedules
        ends = look(plan, slice(None))
        if any(end.waits for end in ends):
            return Foretold(())  # when others give machines back, nobody knows
        return Foretold((_told(plan, known, ends), *_for_less(less, known, look)))
    first = [_told(one, known, look(one, slice(None, None, 2))) for one in asked.schedules]
    limited = [_limited(one) for one in believable(first)]
    return Foretold(tuple(_told(one, known, look(one, slice(None))) for one in limited))


def _for_less(
    schedules: Sequence[Schedule], known: Known, look: Callable[[Schedule, slice], list[End]]
) -> Iterator[Schedule]:
    """Cheaper schedules than the plan that goes on: a user's budget is there if one does not do.

    So what they come to is what their runs cost, be it more than the price that was their limit.
    """
    first = [_told(one, known, look(one, slice(None, None, 2))) for one in schedules]
    for one in believable(first):
        yield _told(replace(one, bounds=None), known, look(_limited(one), slice(None)))


def _at_a_glance(engine: Engine, schedules: Sequence[Schedule]) -> tuple[Schedule, ...]:
    """By the rollout of the mixes alone: of many tasks it leaves out next to nothing."""
    asked = [replace(question, means=None) for question in engine.questions(schedules)]
    told = foretold(schedules, [predict(question) for question in asked])
    return tuple(_with_its_room(one) for one in told)


def _by_rollouts(engine: Engine, schedules: Sequence[Schedule]) -> tuple[Schedule, ...]:
    """With what they cost if nothing limits it: that becomes their limit, and mostly suffices."""
    asked = [replace(q, means=None, budget=None) for q in engine.questions(schedules)]
    bounds = [replace(predict(one), chance_in_budget=one.confidence) for one in asked]
    return tuple(map(_with_its_room, foretold(schedules, bounds)))


def _with_its_room(schedule: Schedule) -> Schedule:
    """At most what it was planned with: of that a run keeps room for error."""
    if schedule.bounds is None:
        return schedule
    most = max(schedule.bounds.cost, schedule.budget)
    return replace(schedule, budget=most, bounds=replace(schedule.bounds, cost=most))


def _limited(schedule: Schedule) -> Schedule:
    """With a little more than the price that was told for its limit."""
    if schedule.bounds is None:
        return schedule
    return replace(schedule, bounds=replace(schedule.bounds, cost=_more(schedule.bounds.cost)))


def _more(amount: Money) -> Money:
    return Money(math.ceil(amount * SPARE))


def _told(schedule: Schedule, known: Known, ends: Sequence[End]) -> Schedule:
    """The schedule with what its runs came to; its machines are those of a typical run.

    A limit that sufficed in so many runs is the bound of its price. A run whose money ended before
    its tasks takes so long at least: who just gets by ends then, not with those that had it easy.
    """
    times = sorted(end.seconds for end in ends)
    costs = sorted(end.cost for end in ends)
    cost = costs[_place(costs)]
    if (limit := schedule.bounds) and sum(end.sufficed for end in ends) > _place(ends):
        cost = limit.cost
    left = math.inf if known.due_at is None else known.due_at - known.now
    bounds = Bounds(
        CONFIDENCE,
        max(_bound(times), median(times) * (1 + NOISE)),
        cost,
        _chance([end.sufficed for end in ends]),
        1.0 if known.due_at is None else _chance([e.done and e.seconds <= left for e in ends]),
        median(times),
        costs[(len(costs) - 1) // 2],
    )
    typical = sorted(ends, key=lambda end: end.seconds)[(len(ends) - 1) // 2]
    return replace(
        schedule,
        budget=bounds.cost,
        mix=typical.most,
        makespan_seconds=bounds.median_seconds,
        cost=bounds.median_cost,
        delta_n=0,
        cushion=NOTHING,
        raised=NOTHING,
        bounds=bounds,
    )


def _bound(rising: Sequence[float]) -> float:
    """The time within which a run ends with confidence.

    A run of each stratum stands for the middle of its stratum: the last of nine for 94 %. Between
    two of them times grow by factors.
    """
    place = min(len(rising) - 1.0, CONFIDENCE * len(rising) - 0.5)
    below = int(place)
    above = min(len(rising) - 1, below + 1)
    if rising[below] <= 0 or math.isinf(rising[above]):
        return rising[above]
    by = rising[above] / rising[below]
    return rising[below] * math.pow(by, place - below)


def _place(rising: Sequence[object]) -> int:
    """The place of the bound among so many: as many lie below it as the confidence says."""
    return min(len(rising) - 1, math.ceil(CONFIDENCE * (len(rising) + 1)) - 1)


def _chance(seen: Sequence[bool]) -> float:
    """The chance of what was seen in some of the runs; a single run is all that can be."""
    return sum(seen) / len(seen) if len(seen) == 1 else (sum(seen) + 0.5) / (len(seen) + 1)


# --- the bags that are drawn ----------------------------------------------------------------------


def _bags(known: Known, rng: Generator) -> Iterator[tuple[Floats, tuple[Line, ...]]]:
    """Canonical runtimes of all tasks, and lines to the clusters, for each run."""
    expected = np.asarray(known.expected or [1.0] * known.tasks, dtype=np.float64)
    sample, varies = _sample(known)
    draws, slower = _possible(known, sample, rng, varies=varies)
    work = (draws.values * draws.weights).sum(axis=1) * np.exp(slower.mean(axis=1))
    order = np.argsort(work, kind="stable")
    kinds = _kinds(known)
    for place in order[STRATUM // 2 :: STRATUM] if varies else order[:1]:
        row = Draws(draws.values[place : place + 1], draws.upto[place : place + 1])
        factors = np.exp(slower[place]).tolist()
        bag = expected * row.tasks(known.tasks, rng)[:, 0]
        for task, tau in known.longer_than.items():
            least = tau / factors[kinds[task]] / expected[task]
            bag[task] = expected[task] * _longer_than(least, row, rng)
        yield bag, tuple(map(_slower, known.lines, factors))


def _sample(known: Known) -> tuple[Floats, bool]:
    """The sample that bags stem from, and whether they vary at all: constants are to be exact.

    A task that has run for as long as the others took, but for rounding, is one that ends now.
    """
    done = known.ratios or runtimes_with_earlier(sorted(known.done), *known.earlier)
    alike = np.ptp(done) <= 2 * ROUNDING * np.mean(done)
    if known.ratios:
        return np.asarray(done, dtype=np.float64), not alike
    longest = max(known.done) * (1 + 2 * ROUNDING)
    if alike and all(tau <= longest for tau in known.longer_than.values()):
        return np.asarray(done, dtype=np.float64), False
    return np.asarray(known.experienced, dtype=np.float64), True


def _possible(
    known: Known, sample: Floats, rng: Generator, *, varies: bool
) -> tuple[Draws, Floats]:
    """Distributions that the bag may have; by how much slower than its line each kind is, then.

    That is ln of a factor, for each of them a row. How what still runs ends differs from one family
    to the next, and so does how fast kinds are by it.
    """
    if known.ratios or not varies:
        draws = possible(sample, STRATUM * RUNS, rng)
        errors = [min(SPEED, one.error) if math.isfinite(one.error) else 0.0 for one in known.lines]
        off = rng.standard_normal((STRATUM * RUNS, len(errors))) * errors
        return draws, off if varies else np.zeros_like(off)
    kinds = _kinds(known)
    running: list[list[float]] = [[] for _ in known.lines]
    for task, tau in known.longer_than.items():
        running[kinds[task]].append(tau)
    seen = [
        Seen(done, runs, doubt)
        for done, runs, doubt in zip(known.own, running, known.doubts, strict=True)
    ]
    found = families(seen, STRATUM * RUNS // OF_EACH, rng)
    parts = []
    for one in found:
        done = [one.canonical(seconds, k) for k, seconds in enumerate(known.own)]
        ends = [one.ends(taus, [k] * len(taus), rng) for k, taus in enumerate(running)]
        completed = np.sort(np.concatenate([*done, *ends])).tolist()
        sample = np.array(runtimes_with_earlier(completed, *known.earlier), dtype=np.float64)
        parts.append(possible(sample, OF_EACH, rng))
    atoms = max(part.values.shape[1] for part in parts)
    draws = Draws(
        np.concatenate([_wide(part.values, atoms) for part in parts]),
        np.concatenate([_wide(part.upto, atoms) for part in parts]),
    )
    return draws, np.repeat([one.delta for one in found], OF_EACH, axis=0)


def _kinds(known: Known) -> Mapping[TaskId, int]:
    """The kind of machine that each task has run on for so long as is known."""
    base = known.doubts.index(None)
    kinds = dict.fromkeys(known.longer_than, base)
    for machine in known.machines:
        for task, _, since in machine.active:
            tau = known.lines[machine.cluster].back(known.now - since)
            if tau >= known.longer_than.get(task, math.inf):
                kinds[task] = machine.cluster
    return kinds


def _wide(columns: Floats, atoms: int) -> Floats:
    """With the last column repeated: atoms without weight."""
    return np.pad(columns, ((0, 0), (0, atoms - columns.shape[1])), mode="edge")


def _longer_than(tau: float, row: Draws, rng: Generator) -> float:
    """A task that has run for as long as the longest known ends with it."""
    values, weights = row.values[0], row.weights[0]
    longer = np.flatnonzero((values > tau * (1 - ROUNDING)) & (weights > 0))
    if longer.size:
        chances = weights[longer] / weights[longer].sum()
        return float(values[rng.choice(longer, p=chances)])
    mean = float((values * weights).sum())
    return tau + _UNKNOWN_TAIL * mean * float(rng.exponential())


def _slower(line: Line, factor: float) -> Line:
    return replace(line, beta0=line.beta0 * factor, beta1=line.beta1 * factor)
