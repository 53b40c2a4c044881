"""Plans for workflows: which group of tasks goes to how many machines of which kind.

The makespan is to be least with a chance that the budget holds, or the cost with a chance that the
deadline does (PROB section 3). A machine runs many tasks and is paid by ATUs, which no sum over
tasks tells: the search (`assignment`) counts money roughly (`group_choices`) and finds plans worth
a close look. What they come to is seen by running them through rented machines.

Three who judge: PROB sees distributions. Average sees means, Worst-case the 99th percentile, each
as if it were certain.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.probability.assignment import Choice, Found, a_star
from bats.master.brain.probability.group_choices import (
    NOWHERE,
    Assigned,
    OfGroups,
    OfStage,
    Rough,
    numbers,
)
from bats.master.brain.probability.histogram import Floats, Histogram, constant, from_samples
from bats.master.brain.probability.rented_machines import On, Outcomes, Rented, World
from bats.master.brain.probability.stages import Order, Stage, stages

Runtimes = Sequence[Sequence[Histogram]]

LIMITS: Final = 8  # from the least to what the best needs
SHARES: Final = (0.6, 0.7, 0.8, 0.87, 0.94, 1.0)  # of the limit that is to be kept
LOOKS: Final = 8  # plans that are run through
DRAWN: Final = 400_000  # runtimes for one look
FEWEST_RUNS, MOST_RUNS = 24, 200


@dataclass(frozen=True, slots=True)
class WorkflowProblem:
    """A workflow to finish within the budget and by the deadline, on machines of these clusters."""

    order: Order
    clusters: tuple[Cluster, ...]
    runtimes: Runtimes  # of each step on each cluster
    budget: Money
    deadline_seconds: float = math.inf
    chance: float = 0.95  # that the budget, or the deadline, holds
    there: Sequence[Rented] = ()
    running: Sequence[tuple[int, float]] = ()  # tasks that run there, and their rest
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class WorkflowPlan:
    """Machines for each group, and what whoever made the plan believes that it comes to."""

    stages: tuple[Stage, ...]
    on: Assigned  # of each group of each stage
    seconds: Histogram
    cost: Histogram
    within: float  # the chance that the budget and the deadline hold
    compared: int  # plans that it is the best of

    def of_steps(self) -> dict[int, On]:
        """The machines for each step, by the stage in which it comes first; none for barriers."""
        found: dict[int, On] = {}
        for stage, chosen in zip(self.stages, self.on, strict=True):
            for group, on in zip(stage, chosen, strict=True):
                if on != NOWHERE:
                    found.setdefault(group.step, on)
        return found


@dataclass(frozen=True, slots=True)
class Judge:
    """The way in which whoever makes a plan sees runtimes."""

    sees: Callable[[Histogram], Histogram]
    certain: bool = False  # one run tells all
    runs: int = 0  # of each plan that is looked at; 0: as many as time allows


PROB: Final = Judge(lambda seconds: seconds)
AVERAGE: Final = Judge(lambda seconds: constant(seconds.mean), certain=True)
WORST_CASE: Final = Judge(lambda seconds: constant(seconds.quantile(0.99)), certain=True)

JUDGES: Final = {"PROB": PROB, "AVERAGE": AVERAGE, "WORST_CASE": WORST_CASE}

Search = Callable[[Sequence[Sequence[Choice[OfStage]]], float], Found[OfStage] | None]


def fastest(
    problem: WorkflowProblem, judge: Judge = PROB, search: Search = a_star, looks: int = LOOKS
) -> WorkflowPlan | None:
    """The plan of the least expected makespan that keeps the budget with the chance asked for."""
    return _Planning.of(problem, judge).best(search, looks, problem.budget, by_cost=False)


def cheapest(
    problem: WorkflowProblem, judge: Judge = PROB, search: Search = a_star, looks: int = LOOKS
) -> WorkflowPlan | None:
    """The plan of the least expected cost that keeps the deadline with the chance asked for."""
    return _Planning.of(problem, judge).best(search, looks, problem.deadline_seconds, by_cost=True)


@dataclass(slots=True)
class _Planning:
    problem: WorkflowProblem
    judge: Judge
    stages: tuple[Stage, ...]
    world: World

    @classmethod
    def of(cls, problem: WorkflowProblem, judge: Judge) -> "_Planning":
        seen: dict[int, Histogram] = {}  # the same histogram is often that of many steps
        runtimes = [
            [seen.setdefault(id(one), judge.sees(one)) for one in of_step]
            for of_step in problem.runtimes
        ]
        by_stage = stages(problem.order)
        runs = judge.runs or int(
            np.clip(DRAWN // max(1, len(problem.order)), FEWEST_RUNS, MOST_RUNS)
        )
        world = World(
            problem.order, by_stage, problem.clusters, runtimes, problem.there, problem.running,
            1 if judge.certain else runs, problem.seed,
        )  # fmt: skip
        return cls(problem, judge, by_stage, world)

    def best(
        self, search: Search, looks: int, limit: float, *, by_cost: bool
    ) -> WorkflowPlan | None:
        """The least time within money, or the least money within time."""

        def counted(rough: Rough) -> tuple[float, float]:
            return (rough.cost, rough.seconds) if by_cost else (rough.seconds, rough.cost)

        def seen(out: Outcomes) -> tuple[Floats, Floats]:
            return (out.cost, out.seconds) if by_cost else (out.seconds, out.cost)

        found = self.candidates(search, limit, by_cost=by_cost)
        return self.nearest(looks, found, float(limit), counted, seen)

    def candidates(self, search: Search, limit: float, *, by_cost: bool) -> list[Rough]:
        """Plans worth a close look: the best of the search within rows of limits.

        Where ATUs are long money goes by machines and not by their work, so that the search is
        repeated with fewer machines of each kind, whose number then costs nothing.
        """
        found: dict[Assigned, Rough] = {}
        widest = max((len(group) for stage in self.stages for group in stage), default=1)
        of_groups = OfGroups(self.problem.clusters, self.world.runtimes)
        for most in (None, *numbers(min(widest, max(c.limit for c in self.problem.clusters)))):
            choices = [of_groups.of_stage(stage, most) for stage in self.stages]
            if by_cost:
                choices = [[Choice(c.weight, c.value, c.means) for c in of] for of in choices]
            least = math.fsum(min(one.weight for one in of) for of in choices)
            enough = math.fsum(min(of, key=lambda one: one.value).weight for of in choices)
            row = np.geomspace(max(least, 1e-9), max(enough, least, 1e-9), LIMITS)
            for part in (*row.tolist(), *(share * limit for share in SHARES)):
                best = search(choices, part)
                if best is not None:
                    on = tuple(one.means for one in best)
                    if on not in found:
                        found[on] = of_groups.rough(self.stages, on)
        return list(found.values())

    def nearest(
        self,
        looks: int,
        found: Sequence[Rough],
        limit: float,
        counted: Callable[[Rough], tuple[float, float]],
        seen: Callable[[Outcomes], tuple[Floats, Floats]],
    ) -> WorkflowPlan | None:
        """The best plan that keeps the limit when it is run through; None if none was found.

        The best by rough figures of what is wanted and what is limited is looked at closely, and
        what is limited is counted from then on as it was seen to be.
        """
        left = sorted(found, key=lambda one: counted(one)[0])
        best: tuple[float, WorkflowPlan] | None = None
        longer, more = 1.0, 1.0
        for look in range(looks):
            able = [one for one in left if counted(one)[1] * more <= limit]
            if not able and best is None and left:
                able = [min(left, key=lambda one: counted(one)[1])]
            if not able or (best is not None and counted(able[0])[0] * longer >= best[0]):
                break
            one = able[0]
            left.remove(one)
            outcomes = self.world.outcomes(lambda stage, place, on=one.on: on[stage][place])  # type: ignore[misc]
            value, needs = self._seen(*seen(outcomes))
            wanted, limited = counted(one)
            longer = value / wanted if wanted else 1.0
            ratio = needs / limited if limited else 1.0
            more = ratio if not look else math.sqrt(more * ratio)
            if needs <= limit * (1 + 1e-9) and (best is None or value < best[0]):
                best = value, self._plan(one.on, outcomes, len(found))
        return best[1] if best else None

    def _seen(self, wanted: Floats, limited: Floats) -> tuple[float, float]:
        """The mean of what is wanted, and what is enough of the other with the chance asked for.

        By the runs, or as a bell of their spread, if that is more.
        """
        mean, spread = float(limited.mean()), float(limited.std())
        if not spread:
            return float(wanted.mean()), mean
        chance = self.problem.chance
        at = float(np.quantile(limited, chance, method="higher"))
        return float(wanted.mean()), max(at, mean + NormalDist().inv_cdf(chance) * spread)

    def _plan(self, on: Assigned, outcomes: Outcomes, compared: int) -> WorkflowPlan:
        kept = (outcomes.cost <= float(self.problem.budget) * (1 + 1e-9)) & (
            outcomes.seconds <= self.problem.deadline_seconds * (1 + 1e-9)
        )
        return WorkflowPlan(
            self.stages, on, from_samples(outcomes.seconds), from_samples(outcomes.cost),
            float(kept.mean()), compared,
        )  # fmt: skip
