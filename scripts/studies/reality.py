"""Any billing, any length of task, any bag: does it finish within its money?

Each cell of the matrix (`cells`) is run once by the engine as it is delivered, with a budget that
is some times L⁺ (`least_money`). What came of it is counted by the world (`world_account`).

finished        every task has a result.
spent           the sum of what every machine's own uptime costs; never above the budget.
stopped         time of attempts that were cut short and had to be run again, as a share of the
                time paid for. Copies that were stopped because another attempt had ended, or ran
                on, do not count.
learning        money for what was done only to learn, as a share of what it may be: a fifth of the
                budget, or one task on each kind if that is more (`Account.learning`).
computing       seconds of processor time for the whole simulated run. A run that computes for more
                than 20 s is broken off, as is one that lasts 50 times as long as one machine of
                the slowest kind would take: it has not finished.
hard            one task is more than half of the bag's work: shown, without a bar.

Makespans are held against those of version 0.1.0, of the same cells with the same seed, where both
finish (`reality-0.1.0.csv`): the geometric mean of the ratios.
"""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from math import exp, log
from pathlib import Path
from statistics import median

from figures import Report

from bats.common.money import Money

from . import reality_cases
from .cells import VALUES, Cell, full, quick
from .reality_runs import Result, result_of
from .study import Options, Study, run_all

BASELINE = Path(__file__).with_name("reality-0.1.0.csv")
STEADY = ("constant", "normal")
COMPUTING_SECONDS = 2.0
LONGER = 1.1
STOPPED = 0.10


def reality(report: Report, options: Options) -> None:
    cells = quick(options.seed) if options.quick else full(options.seed)
    results = run_all(partial(result_of, options.seed), cells, options, "reality")
    tell(report, results, full=not options.quick)
    reality_cases.tell(report)
    (options.out / "reality-runs.json").write_text(
        json.dumps([asdict(one) for one in results], indent=0), encoding="utf-8"
    )


def tell(report: Report, results: Sequence[Result], *, full: bool) -> None:
    for budget in VALUES["budget"]:
        for atu in VALUES["atu"]:
            _finished(report, results, atu, budget)
    _tables(report, results)
    _finish_bars(report, results, full=full)
    finished = [one for one in results if one.finished]
    beyond = sum(one.spent > one.budget for one in results)
    report.bar("runs that spent more than their budget", 0, beyond, beyond == 0)
    if finished:
        _beyond(report, "work stopped, above 10 %", [one.stopped > STOPPED for one in finished])
        _beyond(report, "learning, above what it may cost", [one.learning > 1 for one in finished])
        _bar(report, "work stopped, median", 0.02, median(one.stopped for one in finished))
        _bar(report, "work stopped, at most", STOPPED, max(one.stopped for one in finished))
        _bar(report, "learning over what it may cost", 1.0, max(one.learning for one in finished))
    slow = [one.computing > COMPUTING_SECONDS for one in results]
    _beyond(report, f"computing, above {COMPUTING_SECONDS:g} s", slow)
    _bar(report, "computing, at most, s", COMPUTING_SECONDS, max(one.computing for one in results))
    for why in sorted({one.broke_off for one in results if one.broke_off}):
        _beyond(report, f"broken off: {why}", [one.broke_off == why for one in results])
    _makespans(report, results, full=full)


def _bar(report: Report, text: str, limit: float, value: float) -> None:
    report.bar(text, limit, round(value, 3), value <= limit)


def _beyond(report: Report, what: str, runs: Sequence[bool]) -> None:
    report.figure(what, None, sum(runs), f"of {len(runs)}")


def share(results: Sequence[Result]) -> float:
    return sum(one.finished for one in results) / len(results)


def _finished(report: Report, results: Sequence[Result], atu: str, budget: str) -> None:
    """A row: the share that finishes, by length of task."""
    mine = [one for one in results if (one.cell.atu, one.cell.budget) == (atu, budget)]
    if not mine:
        return
    by = []
    for task in VALUES["task"]:
        some = [one for one in mine if one.cell.task == task]
        by.append(f"{task} {share(some):.2f}" if some else f"{task} –")
    what = f"finished, ATU {atu}, {budget} L⁺ ({', '.join(by)})"
    report.figure(what, None, round(share(mine), 3), f"of {len(mine)}")


def _tables(report: Report, results: Sequence[Result]) -> None:
    """Tables for every value of the matrix: who does not finish, who computes."""
    usual = [one for one in results if one.cell.budget == "1.5"] or list(results)
    for key, values in VALUES.items():
        if key in ("atu", "budget"):
            continue
        for value in values:
            mine = [one for one in usual if getattr(one.cell, key) == value]
            if mine:
                worst = max(one.computing for one in mine)
                what = f"finished, {key} {value} (computing ≤ {worst:.1f} s)"
                report.figure(what, None, round(share(mine), 3), f"of {len(mine)}")
    hard = [one for one in usual if one.hard]
    if hard:
        report.figure("finished, one task above half of it", None, share(hard), f"of {len(hard)}")


def _finish_bars(report: Report, results: Sequence[Result], *, full: bool) -> None:
    """At 1.5 × L⁺, by ATU where there are enough runs of each; a quick form has them together."""
    pools: list[tuple[str, Callable[[Result], bool]]] = [("", lambda _: True)]
    if full:
        pools = [(f", ATU {a}", lambda one, a=a: one.cell.atu == a) for a in VALUES["atu"]]  # type: ignore[misc]
    bars = (("N ≥ 100", False, True, 0.99), ("N ≥ 100", False, False, 0.95),
            ("N = 10", True, True, 0.95), ("N = 10", True, False, 0.90))  # fmt: skip
    for where, within in pools:
        for size, small, steady, limit in bars:
            mine = [
                one
                for one in results
                if within(one)
                and not one.hard
                and (one.cell.budget == "1.5" or (not full and one.cell.budget != "1.25"))
                and (one.cell.N == "10") is small
                and (one.cell.runtimes in STEADY) is steady
            ]
            if mine:
                kinds = "constant, normal" if steady else "others"
                text = f"finished, {size}, {kinds}{where}, of {len(mine)}"
                report.bar(text, limit, round(share(mine), 3), share(mine) >= limit)


def before() -> dict[tuple[str, Money], float | None]:
    """Of 0.1.0: the makespan of each cell, None where it did not finish.

    The budget is in the key: with another seed, or drawn otherwise, it is not the same cell.
    """
    if not BASELINE.exists():
        return {}
    with BASELINE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        (Cell(*(row[key] for key in VALUES)).name, Money(int(row["money"]))): (
            float(row["seconds"]) if row["seconds"] else None
        )
        for row in rows
    }


def _makespans(report: Report, results: Sequence[Result], *, full: bool) -> None:
    """Only pairs tell: what 0.1.0 finishes are its easy cells, not those of a usual bag."""
    known = before()
    for atus in [(atu,) for atu in VALUES["atu"]] if full else [VALUES["atu"]]:
        theirs = {
            one: seconds
            for one in results
            if one.cell.atu in atus and (seconds := known.get((one.name, one.budget)))
        }
        ratios = [one.seconds / seconds for one, seconds in theirs.items() if one.finished]
        if not ratios:
            continue
        what = f"ATU {atus[0]}, " if full else ""
        what += f"of {len(theirs)} that 0.1.0 finishes"
        report.figure(f"{what}: finished", None, len(ratios))
        longer = sum(ratio > LONGER for ratio in ratios) / len(ratios)
        report.figure(f"{what}: makespan more than {LONGER} × its", None, round(longer, 3))
        report.figure(f"{what}: longest makespan", None, round(max(ratios), 3), "× its")
        mean = exp(sum(log(ratio) for ratio in ratios) / len(ratios))
        _bar(report, f"{what}: makespan over its, geometric mean", LONGER, mean)


STUDIES = (Study("reality", "any ATU, any task, any bag: finished within its money?", reality),)
