"""Promises live: what was told of price and time by offers and budgets, and what came of them.

Naps of many lengths on two kinds of emulated machines. Every other bag is chosen by a rule, the
others have a budget. A machine that was charged and ran nothing was bought for no task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from studies.study import Progress

from bats.common.money import Money, as_decimal, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.events import Ended
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.told.promises import ToldView
from bats.master.simulate.workloads import WORKLOADS, Runtimes

from . import lab
from .options import Options
from .table2_1 import naps
from .told import Table, Told

TASKS: Final = 24
MEAN_SECONDS: Final = 3.0
ATU_SECONDS: Final = 5.0
KINDS: Final = ("normal", "log-normal", "bimodal", "weibull")
RULES: Final = ("cheapest", "fastest-20%", "fastest")
BUDGETS: Final = (1.5, 2.0)  # times what the work costs on the cheapest kind
RUNS: Final = 20
PRICES: Final = (("small", "0.01", 1.0), ("large", "0.03", 2.0))


@dataclass(frozen=True, slots=True)
class Run:
    kind: str
    chosen: str
    live: lab.Live

    @property
    def told(self) -> ToldView | None:
        return self.live.account.view.told

    @property
    def idle(self) -> int:
        """Machines that were charged and ended no task."""
        ran = {event.machine for _, event in self.live.journal if isinstance(event, Ended)}
        rented = (one for one in self.live.account.machines if one.since is not None)
        return sum(one.id not in ran for one in rented)


def experiment(options: Options) -> Told:
    told = Told.of("promises", "What was told of price and time, and what came of it")
    runs = []
    count = 2 if options.quick else RUNS
    progress = Progress("promises", count)
    for number in range(count):
        runs.append(one(number, options.seed))
        progress.step()
    progress.end()
    words = f"{count} bags of {TASKS} naps of {MEAN_SECONDS:g} s on average."
    told.parts += [words + lab.again(run.live for run in runs), _table(runs)]
    _judge(told, runs)
    return told


def one(number: int, seed: int) -> Run:
    kind = KINDS[number % len(KINDS)]
    seconds = WORKLOADS[kind].draw(TASKS, np.random.default_rng([seed, number]))
    seconds *= MEAN_SECONDS / 900.0
    offerings = tuple(
        Offering(
            ClusterName(name), money(price), ATU_SECONDS, 3,
            boundary_seconds=0.5, settings={"speed": speed},
        )
        for name, price, speed in PRICES
    )  # fmt: skip
    if number % 2:
        factor = BUDGETS[number // 2 % len(BUDGETS)]
        budget, rule = _budget(seconds, offerings, factor), "fastest"
        chosen = f"{factor:g} × the least"
    else:
        budget, rule = None, RULES[number // 2 % len(RULES)]
        chosen = rule
    sweep = naps([round(1000 * t) for t in np.maximum(seconds, 0.05)])
    settings = Settings(TASKS, offerings, budget, rule=rule, seed=seed + number)
    return Run(kind, chosen, lab.run(sweep, settings))


def _budget(seconds: Runtimes, offerings: Sequence[Offering], factor: float) -> Money:
    work = min(
        float(seconds.sum()) / speed * offering.price / offering.atu_seconds
        for offering, (_, _, speed) in zip(offerings, PRICES, strict=True)
    )
    return Money(int(factor * work))


def _table(runs: Sequence[Run]) -> Table:
    heads = ("kind", "chosen", "told s", "90 %", "took", "told $", "90 %", "cost", "ran nothing")
    rows = []
    for run in runs:
        view, told = run.live.account.view, run.told
        seconds = (None, None) if told is None else (told.seconds, told.seconds_bound)
        price = (None, None) if told is None else (told.cost, told.cost_bound)
        rows.append(
            (
                run.kind,
                run.chosen,
                *(None if one is None else round(one, 1) for one in seconds),
                round(run.live.seconds, 1) if run.live.complete else f"{view.done} done",
                *(None if one is None else float(as_decimal(one)) for one in price),
                float(as_decimal(view.spent)),
                run.idle,
            )
        )
    return Table(heads, rows, "Live, from the beginning of each bag")


def _judge(told: Told, runs: Sequence[Run]) -> None:
    idle = sum(run.idle for run in runs)
    told.report.bar("machines bought that ran nothing", 0, idle, idle == 0)
    within = sum(run.live.dollars <= float(as_decimal(_most(run))) + 1e-9 for run in runs)
    told.report.bar("runs within their budget or told price", len(runs), within,
                    within == len(runs))  # fmt: skip
    done = [(run, run.told) for run in runs if run.live.complete and run.told]
    held = sum(run.live.seconds <= promise.seconds_bound for run, promise in done)
    told.report.figure("90 % bound on time held", None, held, f"of {len(done)} done")


def _most(run: Run) -> Money:
    """The budget, else the price that was told to do."""
    budget = run.live.settings.budget
    if budget is not None:
        return budget
    return Money(10**18) if run.told is None else run.told.cost_bound
