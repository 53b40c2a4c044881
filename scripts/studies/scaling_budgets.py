"""Chapter 5 of the thesis: two users with a budget for an interval and two kinds of machines.

32 Small for 1 and 32 Large for 5 per interval of 60 seconds, which is the ATU, too. The thesis has
no tables of results; what its text says stands beside ours.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Final, NamedTuple

from figures import Report

from bats.common.money import UNITS, Money, money
from bats.master.brain.elasticity.curves import Elasticity
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.ranks import upward
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.scaling.elastic_pool import ElasticPool, Rules
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import Kind
from bats.master.brain.scaling.scalers import placing, scaler
from bats.master.simulate.workflows.elastic_run import Coming, run_elastic
from bats.master.simulate.workflows.mixtures import raw
from studies.study import Options, Study, chance, run_all

INTERVAL: Final = 60.0
KINDS: Final = (Kind("Small", 32, money(1)), Kind("Large", 32, money(5)))
MACHINES: Final = 64
LOAD: Final = 0.2
WORKFLOWS: Final = 200
SHORTER: Final = 30.0
PRIORITIES: Final = 10
SETS: Final = 3
BOOT: Final = 0.0


class Case(NamedTuple):
    """One run of both users' pools."""

    scaler: str
    seed: int
    budgets: tuple[int, int]
    workload: int = 1
    knobs: tuple[tuple[str, float], ...] = ()
    workflows: int = WORKFLOWS


class Seen(NamedTuple):
    """What is kept of a run."""

    elasticity: Elasticity
    slowdowns: tuple[tuple[float, ...], tuple[float, ...]]  # of each user's workflows
    costs: tuple[tuple[Money, ...], tuple[Money, ...]]  # at each call


def drawn(case: Case) -> list[Coming]:
    """The same workflows, owners and priorities for all scalers and budgets."""
    rng = chance(case.seed, 52)
    kinds_rng = chance(case.seed, 53, case.workload)
    made = [raw(rng) for _ in range(case.workflows)]
    lengths = [[max(1.0, round(s / SHORTER)) for s in one.seconds] for one in made]
    between = fmean(map(sum, lengths)) / (MACHINES * LOAD)
    now, coming = 0.0, []
    for one, seconds in zip(made, lengths, strict=True):
        now += float(rng.exponential(between))
        spread = 0.5 if case.workload == 1 else 1.0
        others = [max(1.0, round(s * kinds_rng.uniform(1 - spread, 1 + spread))) for s in seconds]
        pairs = [
            (other, own) if case.workload == 1 and kinds_rng.random() < 0.5 else (own, other)
            for own, other in zip(seconds, others, strict=True)
        ]
        by_kind = tuple(zip(*pairs, strict=True))
        workflow = Workflow(
            neighbours(one.graph),
            [fmean(pair) for pair in pairs],
            by_kind,
            int(rng.integers(PRIORITIES)),
        )
        coming.append(Coming(now, workflow, by_kind, int(rng.integers(2))))
    return coming


def pool_of(case: Case, user: int) -> ElasticPool:
    own = scaler(case.scaler, **dict(case.knobs))
    rules = Rules(KINDS, INTERVAL, release("paid", INTERVAL), budget=money(case.budgets[user]))
    return ElasticPool(rules, own, placing(own, "priority"), case.seed + user)


def run_case(case: Case) -> Seen:
    coming = drawn(case)
    account = run_elastic(
        coming, [pool_of(case, user) for user in range(2)], partial(float, BOOT), case.seed
    )
    slow: tuple[list[float], list[float]] = ([], [])
    for one, stay in zip(coming, account.stays, strict=True):
        critical = max(upward(one.workflow.near, one.workflow.estimates))
        slow[one.user].append(stay.response / critical)
    return Seen(
        account.elasticity,
        (tuple(slow[0]), tuple(slow[1])),
        (tuple(account.costs[0]), tuple(account.costs[1])),
    )


def runs_of(options: Options, cases: list[Case]) -> dict[Case, list[Seen]]:
    """Of each case, over the sets of workflows."""
    sets = options.seeds(SETS, 1)
    jobs = [case._replace(seed=seed) for case in cases for seed in sets]
    found = iter(run_all(run_case, jobs, options, "scaling-ch5"))
    return {case: [next(found) for _ in sets] for case in cases}


def slowdown(runs: Sequence[Seen], user: int | None = None) -> float:
    users = (0, 1) if user is None else (user,)
    return fmean(one for run in runs for who in users for one in run.slowdowns[who])


def share(runs: Sequence[Seen], name: str) -> float:
    return 100 * fmean(getattr(run.elasticity, name) for run in runs)


def within(case: Case, runs: Sequence[Seen]) -> bool:
    return all(
        cost <= money(budget)
        for run in runs
        for budget, costs in zip(case.budgets, run.costs, strict=True)
        for cost in costs
    )


SCALERS: Final = ("plf", "scf", "pfa")
EQUAL: Final = (60, 100, 120)
KNOBS: Final[tuple[tuple[tuple[str, float], ...], ...]] = (
    (("m", 20),), (("m", 30),), (("alpha", 0.7),), (("alpha", 0.8),), (("alpha", 0.9),),
)  # fmt: skip


def study(report: Report, options: Options) -> None:
    equal = {(name, b): Case(name, 0, (b, b)) for name in SCALERS for b in EQUAL}
    knobs = {knob: Case("pfa", 0, (100, 100), knobs=knob) for knob in KNOBS}
    second = {name: Case(name, 0, (100, 100), workload=2) for name in SCALERS}
    swapped = {(name, b): Case(name, 0, b) for name in SCALERS for b in ((120, 80), (80, 120))}
    cases = [*equal.values(), *knobs.values(), *second.values(), *swapped.values()]
    runs = runs_of(options, cases)
    tell(report, {key: runs[case] for key, case in equal.items()})
    for ((knob, value),), case in knobs.items():
        report.figure(f"pfa, {knob} = {value:g}, 100 each: slowdown", None, slowdown(runs[case]))
    for name, case in second.items():
        report.figure(f"{name}, workload 2, 100 each: slowdown", None, slowdown(runs[case]))
    for name in SCALERS:
        for user in (0, 1):
            more, less = (runs[swapped[name, b]] for b in ((120, 80), (80, 120))[:: 1 - 2 * user])
            better, worse = slowdown(more, user), slowdown(less, user)
            report.figure(f"{name}, user {user + 1} with 120: slowdown", None, better)
            report.figure(f"{name}, user {user + 1} with 80: slowdown", None, worse)
            if name != "plf":
                report.bar(f"{name}, user {user + 1}: slowdown with 120 less than with 80",
                           f"< {worse:.3f}", better, better < worse)  # fmt: skip
    kept = sum(within(case, found) for case, found in runs.items())
    report.bar("configurations in which no call ever cost more than the budget", len(cases), kept,
               kept == len(cases))  # fmt: skip


PUBLISHED: Final = {
    ("scf", 100, "t_o"): 75, ("scf", 100, "a_o"): 18, ("scf", 100, "t_u"): 24,
    ("scf", 100, "a_u"): 5, ("plf", 100, "t_u"): 42, ("plf", 100, "a_u"): 11,
    ("scf", 60, "a_o"): 8.5,
}  # fmt: skip
"""Percents; PFA has the least a_O everywhere, and slowdowns up to 47 % less."""


def tell(report: Report, runs: Mapping[tuple[str, int], Sequence[Seen]]) -> None:
    for (name, b), found in runs.items():
        report.figure(f"{name}, {b} each: slowdown", None, slowdown(found))
        cost = fmean(float(c) for run in found for c in run.costs[0]) / UNITS
        report.figure(f"{name}, {b} each: cost of user 1 for an interval", None, cost)
        for column in ("a_u", "a_o", "t_u", "t_o"):
            theirs = PUBLISHED.get((name, b, column))
            report.figure(f"{name}, {b} each: {column}", theirs, share(found, column), "%")
    for b in EQUAL:
        slow = {name: slowdown(runs[name, b]) for name in SCALERS}
        told = ", ".join(f"{slow[name]:.2f}" for name in ("pfa", "scf", "plf"))
        report.bar(f"{b} each: slowdowns of pfa, scf, plf", "rising", told,
                   slow["pfa"] < slow["scf"] < slow["plf"])  # fmt: skip
        ratio = slow["pfa"] / slow["scf"]
        report.bar(f"{b} each: slowdown of pfa over that of scf", "≤ .80", ratio, ratio <= 0.8)
        over = {name: share(runs[name, b], "a_o") for name in SCALERS}
        both = {name: over[name] + share(runs[name, b], "a_u") for name in SCALERS}
        for text, of in (("a_O", over), ("a_U + a_O", both)):
            told = ", ".join(f"{of[name]:.1f}" for name in ("pfa", "scf", "plf"))
            report.bar(f"{b} each: {text} of pfa, scf, plf", "least: pfa", told,
                       min(of, key=of.__getitem__) == "pfa")  # fmt: skip
    for name, column, least, most in (("scf", "t_o", 65, 100), ("scf", "a_o", 12, 100),
                                      ("plf", "t_u", 30, 54), ("plf", "a_u", 6, 16)):  # fmt: skip
        value = share(runs[name, 100], column)
        report.bar(f"{name}, 100 each: {column}", f"{least}-{most}", value, least <= value <= most)


STUDIES = (Study("scaling-ch5", "scalers with budgets: plans and feedback", study),)
