"""A user's comparison: the same sweep cost-blind, and with BaTS for as much money and less.

Cost-blind means every machine from the start, first come first served, until nothing is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

from studies.study import Progress

from bats.common.money import Money, as_decimal
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.report.renting import CALLED, Shares
from bats.master.report.timeline import timeline

from . import drawings, lab
from .apps import KOHONEN, SARSA, Bag, bag
from .options import Options
from .told import Cell, Picture, Table, Told

SHARES: Final = (1.0, 0.85, 0.75)
"""Of what the cost-blind run cost. The cheapest way of all needs two thirds of it."""


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    budget: Money | None
    live: lab.Live

    @property
    def results(self) -> float:
        """The share of the money that gave tasks their results; those of the sample count too."""
        return self.share("useful") + self.share("sampling")

    def share(self, part: str) -> float:
        """Of the money, what went into this."""
        money = self.live.account.money
        whole = sum(getattr(money, one.name) for one in fields(Shares))
        return getattr(money, part) / whole if whole else 0.0


def experiment(options: Options) -> Told:
    told = Told.of("comparison", "The same sweep, cost-blind and within budgets")
    fitted = bag(SARSA if options.quick else KOHONEN, options.minute_seconds)
    shares = SHARES[:1] if options.quick else SHARES
    progress = Progress("comparison", 1 + len(shares))
    runs = [one("cost-blind", fitted, None, options.seed)]
    progress.step()
    whole = runs[0].live.account.view.spent
    for share in shares:
        budget = Money(int(whole * share))
        runs.append(one(f"BaTS, {100 * share:.0f} % of it", fitted, budget, options.seed))
        progress.step()
    progress.end()
    told.parts += [_words(fitted, runs), _table(fitted, runs), *_pictures(fitted, runs)]
    bats = runs[1:]
    within = sum(run.live.account.view.spent <= (run.budget or 0) for run in bats)
    done = sum(run.live.complete for run in runs)
    bar = told.report.bar
    bar("BaTS runs within their budget", len(bats), within, within == len(bats))
    bar("runs that do all tasks", len(runs), done, done == len(runs))
    return told


def one(name: str, fitted: Bag, budget: Money | None, seed: int) -> Run:
    settings = Settings(
        fitted.sweep.count,
        fitted.offerings,
        budget,
        sampling=Sampling.NONE if budget is None else Sampling.REGRESSION,
        tail="none" if budget is None else "stochastic+random",
        monitor_seconds=fitted.atu_seconds / 12,
        seed=seed,
    )
    return Run(name, budget, lab.run(fitted.sweep, settings))


def _words(fitted: Bag, runs: Sequence[Run]) -> str:
    return (
        f"{fitted.sweep.count} real tasks of {fitted.app.name} on up to 30 machines of three "
        f"kinds; an ATU lasts {fitted.atu_seconds:.0f} s and is told as an hour. Cost-blind, every "
        "machine works from the start and is released when an ATU of it ends and nothing waits. "
        "The budgets are shares of what that cost. What was not spent on results was wasted, as "
        "the last columns say."
        f"{lab.again(run.live for run in runs)}"
    )


def _table(fitted: Bag, runs: Sequence[Run]) -> Table:
    blind = runs[0].live
    parts = [part.name for part in fields(Shares) if part.name not in {"useful", "sampling"}]
    rows: list[tuple[Cell, ...]] = [
        (
            run.name,
            None if run.budget is None else _dollars(run.budget),
            round(run.live.dollars, 2),
            f"{100 * (run.live.dollars / blind.dollars - 1):+.0f} %",
            round(fitted.minutes(run.live.seconds)),
            f"{100 * (run.live.seconds / blind.seconds - 1):+.0f} %",
            f"{run.live.account.view.done} of {run.live.account.view.total}",
            f"{100 * run.results:.1f} %",
            *(f"{100 * run.share(part):.1f} %" for part in parts),
        )
        for run in runs
    ]
    heads = ("run", "budget $", "cost $", "", "minutes", "", "tasks done", "spent on results",
             *(CALLED[part] for part in parts))  # fmt: skip
    return Table(heads, rows, "Money, time and waste")


def _dollars(amount: Money) -> float:
    return float(round(as_decimal(amount), 2))


def _pictures(fitted: Bag, runs: Sequence[Run]) -> list[Picture]:
    names = [run.name.replace(", ", "\n") for run in runs]
    minutes = [fitted.minutes(run.live.seconds) for run in runs]
    pictures = [
        drawings.bars("Cost", names, {"cost": [run.live.dollars for run in runs]}, "$"),
        drawings.bars("Time", names, {"time": minutes}, "min"),
        drawings.curves(
            "Dollars spent",
            {run.name: _spent(fitted, run) for run in runs},
            "minutes",
            "$",
        ),
    ]
    for run in runs:
        told = run.live.account
        pictures.append(
            timeline(told.machines, told.chronicle, (), told.view.now, drawings.WIDTH, "$")
        )
    return [Picture(svg) for svg in pictures]


def _spent(fitted: Bag, run: Run) -> list[tuple[float, float]]:
    points, last = [(0.0, 0.0)], 0.0
    for at, amount in run.live.account.spending:
        now = float(as_decimal(amount))
        points += [(fitted.minutes(at), last), (fitted.minutes(at), now)]
        last = now
    return [*points, (fitted.minutes(run.live.seconds), last)]
