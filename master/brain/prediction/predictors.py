"""Predictors by name: what a schedule will take and cost, with a probability.

`theory` is the interval of T ch. 4: quick, and blind to the tail. `resampling` draws what the
bag's runtimes may be, given the sample, and runs the bag through the mix for each: with whole
tasks, start delays, the tail and its copies, and money that counts in whole ATUs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Final

from bats.common.billing import ROUNDING
from bats.common.errors import UsageError
from bats.common.money import NOTHING, Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.learning.intervals import budget_bound, makespan_bound, moments
from bats.master.brain.learning.regression import SAME, Line, fit
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.room_for_error import Means
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.prediction.busy_middle import skip
from bats.master.brain.prediction.distributions import possible
from bats.master.brain.prediction.rollout import (
    NO_COPIES,
    SOONER_OR_CHANCE,
    Copying,
    Floats,
    Lines,
    MeanBeyond,
    Slots,
    Tail,
    replicate,
    run_bag,
)
from bats.master.brain.prediction.workflow_rollout import Hired, OrderLeft, Place, rollouts

NO_BOUND: Final = Money(10**18)
"""Stands where a sample bounds nothing, as one runtime does in `theory`."""

RUNS: Final = 400
FEWEST_RUNS: Final = 60
SLOT_RUNS: Final = 40_000  # runs times slots: what is stepped through at once
MOST_SLOTS: Final = 600  # of a larger mix, a proportional part stands for the whole
WHOLE_BAG: Final = 2000  # a larger bag is skipped through to its last tasks


@dataclass(frozen=True, slots=True)
class Standing:
    """A machine of the mix that is there already."""

    cluster: int
    busy_seconds: tuple[float, ...]  # of each slot, with the task it runs now
    uptime_seconds: float  # charged so far
    atus: int  # paid or reserved


@dataclass(frozen=True, slots=True)
class Question:
    """A question: the time of this mix for N more tasks, and its cost from now on.

    Each cluster of the mix has a sample of runtimes, in seconds: its own, or that of another
    cluster converted. N leaves out what standing machines run now.
    """

    clusters: tuple[Cluster, ...]
    samples: tuple[Sequence[float], ...]
    tasks: int  # N
    mix: Mix
    budget: Money | None = None
    deadline_seconds: float | None = None
    copying: Copying = SOONER_OR_CHANCE  # what idle machines do in the tail
    confidence: float = 0.9
    seed: int = 0
    standing: tuple[Standing, ...] = ()
    means: Means | None = None  # what the budget makes of it; None: nothing is known of that
    order: OrderLeft | None = None  # which tasks wait for which; None: none does
    quick: bool = False  # of a workflow: by few runs, for the scheduler's own use


Predictor = Callable[[Question], Bounds]


def predict(question: Question, predictor: str = "resampling") -> Bounds:
    """Ask the predictor of that name."""
    try:
        chosen = PREDICTORS[predictor]
    except KeyError:
        raise UsageError(
            f"no predictor is called {predictor!r}; there are {', '.join(PREDICTORS)}"
        ) from None
    bought = [i for i, a in enumerate(question.mix) if a > 0]
    left = question.tasks if question.order is None else len(question.order.step)
    if left == 0 or not bought:
        done = 0.0 if left == 0 else math.inf
        chance = 1.0 if left == 0 else 0.0
        return Bounds(question.confidence, done, NOTHING, chance, chance, done, NOTHING)
    without = [question.clusters[i].offering.name for i in bought if not question.samples[i]]
    if without:
        raise ValueError(f"no runtimes are known of {', '.join(without)}, which the mix uses")
    return chosen(question)


def theory(question: Question) -> Bounds:
    """T ch. 4, each of p_M, p_µ and p_σ such that they promise the confidence together."""
    offerings = [cluster.offering for cluster in question.clusters]
    bought = [i for i, a in enumerate(question.mix) if a > 0]
    a = [question.mix[i] * offerings[i].slots for i in bought]
    known = [moments(question.samples[i]) for i in bought]
    delay = max(question.clusters[i].start_seconds for i in bought)

    def within(confidence: float) -> tuple[float, Money]:
        p = (2 + confidence) / 3
        makespan = delay + makespan_bound(question.tasks, a, known, p, p, p)
        return makespan, _paid_through(question, makespan)

    def chance(fits: Callable[[float, Money], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(*within(middle)) else (low, middle)
        return low

    estimate = delay + question.tasks / math.fsum(
        a_k / k.mu for a_k, k in zip(a, known, strict=True)
    )
    makespan, cost = within(question.confidence)
    budget, deadline = question.budget, question.deadline_seconds
    return Bounds(
        question.confidence,
        makespan,
        cost,
        1.0 if budget is None else chance(lambda _, cost: cost <= budget),
        1.0 if deadline is None else chance(lambda makespan, _: makespan <= deadline),
        estimate,
        _paid_through(question, estimate),
    )


def resampling(question: Question) -> Bounds:
    """Run the bag through the mix for many distributions that the sample may stem from."""
    if question.order is not None:
        return _in_order(question, question.order)
    rng = np.random.default_rng(question.seed)
    whole = sum(
        a * cluster.offering.slots
        for a, cluster in zip(question.mix, question.clusters, strict=True)
    )
    part = min(1.0, MOST_SLOTS / whole)
    mix = tuple(math.ceil(a * part) for a in question.mix)
    tasks = max(1, round(question.tasks * part))
    machines = [i for i, a in enumerate(mix) for _ in range(a)]
    slots_each = np.array([question.clusters[i].offering.slots for i in machines])
    kind = np.repeat(machines, slots_each)
    ready = np.array([cluster.start_seconds for cluster in question.clusters])[kind]
    first = np.cumsum(slots_each) - slots_each
    there = _places(question, machines)
    for place, machine in there.items():
        ready[first[place] : first[place] + slots_each[place]] = machine.busy_seconds
    runs = int(np.clip(SLOT_RUNS // kind.size, FEWEST_RUNS, RUNS))

    base = max(range(len(mix)), key=lambda i: len(question.samples[i]) if mix[i] else -1)
    lines = Lines([_line(question.samples[base], sample) for sample in question.samples])
    draws = possible(np.asarray(question.samples[base], dtype=float), runs, rng)
    exactly = min(tasks, max(WHOLE_BAG, 2 * kind.size))
    if tasks > exactly:
        slots = skip(tasks - exactly, draws, kind, ready, lines, rng)
    else:
        slots = Slots.fresh(np.tile(kind, (runs, 1)), np.tile(ready, (runs, 1)))
    bag = draws.tasks(exactly, rng)
    run_bag(slots, bag, lines)
    if question.copying != NO_COPIES:
        known = MeanBeyond(bag[:, ::8].reshape(-1))
        tail = replicate(slots, lines, known, rng, question.copying)
    else:
        tail = Tail(slots.makespans(), slots.end)

    busy = np.maximum.reduceat(tail.used, first, axis=1)
    costs = _costs(question, machines, busy, there, sum(question.mix) / len(machines))
    budget, deadline = question.budget, question.deadline_seconds
    makespans = np.sort(tail.makespan)
    costs.sort()
    delay, longest, chance = 1.0, 1.0, 1.0
    if budget is not None:
        delay, longest, chance = _limited(question, budget, costs)
        costs = [min(cost, budget) for cost in costs]
    at = min(runs - 1, math.ceil(question.confidence * (runs + 1)) - 1)
    return Bounds(
        question.confidence,
        float(makespans[at]) * longest,
        costs[at],
        chance,
        1.0 if deadline is None else float(np.mean(makespans * delay <= deadline)),
        float(np.median(makespans)) * delay,
        costs[(runs - 1) // 2],
    )


def _in_order(question: Question, order: OrderLeft) -> Bounds:
    """A workflow's bounds: its order holds machines up that a bag would keep busy.

    They are as far out as lets so many runs keep both: who runs out of money is late as well.
    """
    machines = [i for i, a in enumerate(question.mix) for _ in range(a)]
    there = _places(question, machines)
    places, hired = [], []
    for number, i in enumerate(machines):
        cluster, standing = question.clusters[i], there.get(number)
        paid = 0.0
        if standing is not None:
            paid = standing.atus * cluster.offering.atu_seconds - standing.uptime_seconds
        hired.append(
            Hired(
                cluster.offering,
                standing is not None,
                max(0.0, paid),
                cluster.start_seconds,
                cluster.boot_seconds,
            )
        )
        rests = (0.0,) * cluster.offering.slots if standing is None else standing.busy_seconds
        places += [Place(number, i, order.factors[i], busy=rest > 0) for rest in rests]
    makespans, costs = rollouts(order, places, hired, question.seed, quick=question.quick)
    runs, budget, deadline = len(makespans), question.budget, question.deadline_seconds
    both = sorted(map(max, _ranks(makespans), _ranks(costs)))
    at = both[min(runs - 1, math.ceil(question.confidence * (runs + 1)) - 1)]
    makespans.sort()
    costs.sort()
    capped = costs if budget is None else [min(cost, budget) for cost in costs]
    return Bounds(
        question.confidence,
        makespans[at],
        capped[at],
        1.0 if budget is None else sum(cost <= budget for cost in costs) / runs,
        1.0 if deadline is None else sum(one <= deadline for one in makespans) / runs,
        makespans[(runs - 1) // 2],
        capped[(runs - 1) // 2],
    )


def _ranks(values: Sequence[float]) -> list[int]:
    """The place of each among all, rising."""
    ranks = [0] * len(values)
    for rank, k in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        ranks[k] = rank
    return ranks


PREDICTORS: Final[dict[str, Predictor]] = {"theory": theory, "resampling": resampling}
"""Every predictor by its name; one of your own is one more entry."""


def atus_to_work(offering: Offering, seconds: Floats) -> Floats:
    """`billing.atus_to_work` of each."""
    billed = np.maximum(seconds + offering.boundary_seconds, offering.minimum_seconds)
    return np.maximum(1.0, np.ceil(billed / offering.atu_seconds * (1 - ROUNDING)))


def _paid_through(question: Question, makespan_seconds: float) -> Money:
    offerings = [cluster.offering for cluster in question.clusters]
    if math.isfinite(makespan_seconds):
        return budget_bound(question.mix, offerings, makespan_seconds)
    paid = any(a > 0 and not o.free for a, o in zip(question.mix, offerings, strict=True))
    return NO_BOUND if paid else NOTHING


def _places(question: Question, machines: list[int]) -> dict[int, Standing]:
    """The machines of the mix that are there already."""
    left = {i: [m for m in question.standing if m.cluster == i] for i in set(machines)}
    return {place: left[cluster].pop(0) for place, cluster in enumerate(machines) if left[cluster]}


def _costs(
    question: Question,
    machines: list[int],
    busy: Floats,
    there: Mapping[int, Standing],
    scale: float,
) -> list[Money]:
    """The cost of each run; `scale` is how many machines each column stands for."""
    totals = [0] * busy.shape[0]
    for i in set(machines):
        offering = question.clusters[i].offering
        columns = [column for column, machine in enumerate(machines) if machine == i]
        before = np.array([there[c].uptime_seconds if c in there else 0.0 for c in columns])
        paid = np.array([there[c].atus if c in there else 0 for c in columns])
        bought = np.maximum(atus_to_work(offering, before + busy[:, columns]) - paid, 0.0).sum(
            axis=1
        )
        totals = [
            total + round(scale * count) * offering.price
            for total, count in zip(totals, bought.tolist(), strict=True)
        ]
    return [Money(total) for total in totals]


def _limited(
    question: Question, budget: Money, costs: Sequence[Money]
) -> tuple[float, float, float]:
    """Factors by which the budget delays the median run, that needs half of the room that is kept,
    and one that needs all of it; the chance that the budget suffices.
    """
    means = question.means
    if means is None:
        return 1.0, 1.0, sum(cost <= budget for cost in costs) / len(costs)
    spare = means.spare()
    most = min(max(0.0, spare), means.room)
    half, whole = (means.delay(question.mix, z) for z in (most / 2, most))
    return half, max(half, whole), NormalDist().cdf(spare)


def _line(base: Sequence[float], sample: Sequence[float]) -> Line:
    """The line from the base's runtimes to another cluster's, quantile by quantile."""
    if sample is base or not sample:
        return SAME
    n = min(len(base), len(sample))
    at = (np.arange(n) + 0.5) / n
    return fit(np.quantile(base, at).tolist(), np.quantile(sample, at).tolist())
