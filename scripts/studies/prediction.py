"""Do the predictors' bounds hold? For bags of the paper and others, under six budgets each.

Each experiment samples 30 tasks of a new bag, plans, predicts the plan, and runs the rest of the
bag through it, with whole tasks, copies in the tail, and billing in whole ATUs. The budget shows in
the mix alone: all machines stay to the end.
"""

from dataclasses import dataclass

import numpy as np
from figures import Report

from bats.common.money import Money
from bats.master.brain.planning.problem import all_machines
from bats.master.brain.planning.schedules import lowest_budget, schedule
from bats.master.brain.prediction.predictors import PREDICTORS, Question, predict
from bats.master.brain.prediction.rollout import MeanBeyond, replicate, run_bag
from bats.master.simulate.workloads import bimodal, log_normal, weibull
from studies import plot
from studies.chapter4 import BUDGETS
from studies.study import Options, Study, chance, run_all
from studies.three_clouds import (
    BAGS,
    LINES,
    SAMPLE,
    TASKS,
    clusters,
    cost,
    dollars,
    samples,
    slots,
)

CONFIDENCE = 0.9
HOLD = (0.85, 0.97)
WIDTH = {"NDB": 1.25, "LTB": 1.35, "MDB": 1.35}  # median bound over the actual makespan, at most

OTHERS = {
    "log-normal, σ=0.5": log_normal(sigma=0.5),
    "log-normal, σ=1": log_normal(sigma=1.0),
    "Weibull": weibull(),
    "bimodal": bimodal(),
}
"""Shown beside the paper's bags: nothing is fitted to any of them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    predictor: str
    budget: str
    makespan_held: bool
    cost_held: bool
    width: float  # the makespan's bound over the actual one


def one_bag(job: tuple[str, int, int]) -> list[Outcome]:
    name, bag, seed = job
    rng = chance(seed, bag, *name.encode())
    tasks = {**BAGS, **OTHERS}[name].draw(TASKS, rng)
    sample, rest = tasks[:SAMPLE], tasks[SAMPLE:]
    bought = clusters(float(sample.mean()))
    left = len(rest)
    highest = all_machines(bought, left).cost
    lowest = min(lowest_budget(bought, left), highest)
    found = []
    for budget, (fast, percent) in BUDGETS.items():
        paid = max(lowest, Money((highest if fast else lowest) * percent // 100))
        mix = schedule(budget, bought, left, paid).mix
        state = slots([mix])
        run_bag(state, rest[:, None], LINES)
        actual = replicate(state, LINES, MeanBeyond(tasks), rng)
        makespan, price = float(actual.makespan[0]), float(cost(state.kind, actual.used)[0])
        asked = Question(bought, samples(sample), left, mix, confidence=CONFIDENCE, seed=bag)
        for predictor in PREDICTORS:
            bounds = predict(asked, predictor)
            found.append(
                Outcome(
                    predictor,
                    budget,
                    makespan <= bounds.makespan_seconds,
                    price <= dollars(bounds.cost),
                    bounds.makespan_seconds / makespan,
                )
            )
    return found


def noise(share: float, experiments: int) -> float:
    """σ of a share that is measured in so many experiments."""
    return float(np.sqrt(share * (1 - share) / experiments))


def run(report: Report, options: Options) -> None:
    bags = 12 if options.quick else 300
    low, high = (held + side * noise(held, bags) for held, side in zip(HOLD, (-2, 2), strict=True))
    names = [*BAGS] if options.quick else [*BAGS, *OTHERS]
    jobs = [
        (name, bag, options.seed)
        for name in names
        for bag in range(bags if name in BAGS else bags // 5)
    ]
    results = run_all(one_bag, jobs, options, "prediction")
    shown: dict[str, list[float]] = {predictor: [] for predictor in PREDICTORS}
    for name in names:
        of_bag = [
            o for job, found in zip(jobs, results, strict=True) if job[0] == name for o in found
        ]
        for predictor in PREDICTORS:
            for budget in BUDGETS:
                chosen = [o for o in of_bag if (o.predictor, o.budget) == (predictor, budget)]
                held = float(np.mean([o.makespan_held for o in chosen]))
                what = f"{name} {budget}, {predictor}"
                report.figure(f"{what}: makespan bound holds", None, held, "share")
                paid = float(np.mean([o.cost_held for o in chosen]))
                report.figure(f"{what}: cost bound holds", None, paid, "share")
                width = float(np.median([o.width for o in chosen]))
                report.figure(f"{what}: bound over actual makespan", None, width, "median")
                shown[predictor].append(held)
                if predictor == "resampling" and name in BAGS:
                    limit = f"{HOLD[0]} to {HOLD[1]}, within the noise {low:.3f} to {high:.3f}"
                    report.bar(
                        f"{name} {budget}: makespan bound holds", limit, held, low <= held <= high
                    )
        widths = [o.width for o in of_bag if o.predictor == "resampling"]
        width = float(np.median(widths))
        report.figure(f"{name}, resampling: bound over actual makespan", None, width, "median")
        if name in WIDTH:
            text = f"{name}: median bound over the actual makespan"
            top = WIDTH[name] + 2 * 1.25 * float(np.std(widths)) / bags**0.5  # σ of a median
            limit = f"{WIDTH[name]}, within the noise {top:.3f}"
            report.bar(text, limit, width, width <= top)
    plot.bars(
        options.out / "prediction.svg",
        f"Experiments whose makespan stays within its {CONFIDENCE:.0%} bound",
        [f"{name.split(',')[0]}\n{b + 1}" for name in names for b in range(len(BUDGETS))],
        shown,
        lines=[CONFIDENCE],
        top=1.0,
    )


STUDIES = (Study("prediction", "do the predictors' bounds hold, and how wide are they?", run),)
