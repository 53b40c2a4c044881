#!/usr/bin/env python3
"""Looks into single cells of the study `reality`: which of them fail, and why.

usage: scripts/reality.py [--where "atu=1s,1m task=5m N=100"] [--quick | --full] [--tell]
       scripts/reality.py --runs out/reality-runs.json [--where …]      those the study has run

Lists the cells, the worst first; with --tell also what was decided, and what became of every
machine, each with its reasons. Any checkout's engine can be looked at, by calling this with its
Python.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from studies.cells import full, matrix, quick, those
from studies.reality_runs import BREAK_OFF_SECONDS, Result, Run, result_of, run
from studies.study import Options, run_all
from studies.world_account import Fate, Uptime

from bats.common.money import as_decimal

ORDERS = {
    "finished": lambda result: (result.finished, result.done / result.cell.tasks),
    "stopped": lambda result: -result.stopped,
    "learning": lambda result: -result.learning,
    "computing": lambda result: -result.computing,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--where", default="", metavar="VALUES", help="only these cells")
    parser.add_argument("--number", type=int, metavar="N", help="only the Nth of those, from 0")
    parser.add_argument("--quick", action="store_true", help="of the study's quick form")
    parser.add_argument("--full", action="store_true", help="of all its cells [all at 1.5 × L⁺]")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth")
    parser.add_argument("--worst", choices=ORDERS, default="finished", help="which come first")
    parser.add_argument("--lines", type=int, default=40, metavar="N", help="how many to list")
    parser.add_argument("--tell", action="store_true", help="all that was decided and done")
    parser.add_argument("--runs", type=Path, metavar="FILE", help="list these, run nothing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, metavar="N")
    parser.add_argument("--longest", type=float, default=BREAK_OFF_SECONDS, metavar="SECONDS")
    chosen = parser.parse_args()
    budgets = ("1.25", "1.5", "2") if "budget=" in chosen.where else ("1.5",)
    cells = matrix(budgets)
    if chosen.quick or chosen.full:
        cells = quick(chosen.seed) if chosen.quick else full(chosen.seed)
    try:
        cells = list(those(cells, chosen.where))[:: chosen.every]
    except ValueError as error:
        parser.error(str(error))
    if chosen.number is not None:
        cells = cells[chosen.number : chosen.number + 1]
    if chosen.tell:
        for cell in cells:
            tell(run(cell, chosen.seed, longest=chosen.longest))
        return 0
    if chosen.runs:
        known = [Result(**one) for one in json.loads(chosen.runs.read_text(encoding="utf-8"))]
        wanted = {cell.name for cell in those((one.cell for one in known), chosen.where)}
        listed([one for one in known if one.name in wanted], chosen.worst, chosen.lines)
        return 0
    options = Options(chosen.quick, chosen.workers, Path("out"), chosen.seed)
    listed(
        run_all(partial(result_of, chosen.seed), cells, options, "cells"),
        chosen.worst,
        chosen.lines,
    )
    return 0


def listed(results: list[Result], worst: str, lines: int) -> None:
    finished = sum(result.finished for result in results)
    print(f"{finished} of {len(results)} finished")
    for result in sorted(results, key=ORDERS[worst])[:lines]:
        print(summary(result))


def summary(result: Result) -> str:
    mark = "ok  " if result.finished else "LEFT"
    hard = ", one task above half" if result.hard else ""
    how = result.broke_off or ("" if result.finished else result.words)
    return (
        f"{mark} {result.name}: {result.done} done in {result.seconds:.5g} s, "
        f"spent {result.spent / result.budget:.3f}, stopped {result.stopped:.3f}, "
        f"learning {result.learning:.2f}, computing {result.computing:.2f} s{hard}"
        + (f": {how}" if how else "")
    )


def tell(ran: Run) -> None:
    what, account = ran.drawn, ran.account
    print(summary(ran.result))
    for offering, speed, cluster in zip(what.offerings, what.speeds, range(9), strict=False):
        worth = what.worth(cluster) / what.worth(what.cheapest)
        print(
            f"  {offering.name}: {as_decimal(offering.price)} per {offering.atu_seconds:g} s, "
            f"speed {speed:.3f}, {worth:.3f} × the cheapest for the work"
        )
    times = sorted(what.runtimes)
    print(
        f"  runtimes at speed 1: {times[0]:.4g} to {times[-1]:.4g} s, all {sum(times):.5g} s; "
        f"L⁺ {as_decimal(ran.least)}, budget {as_decimal(ran.budget)}, "
        f"spent {as_decimal(account.spent)}, chosen at {ran.chosen_at:.5g} s"
    )
    paid = account.paid or 1.0
    parts = {fate.value: account.ran(fate) / paid for fate in Fate} | {
        "booting": account.booting / paid,
        "unused": 1 - (account.booting + account.ran(*Fate)) / paid,
    }
    shares = ", ".join(f"{name} {part:.1%}" for name, part in parts.items() if part)
    print(f"  of {paid:.5g} s paid: {shares}")
    happened = [(at, words) for at, words in ran.history.decisions]
    for machine in account.machines:
        happened.append((machine.asked, f"    machine {machine.machine} kind{machine.cluster}"))
        happened.append((machine.until, f"    {life(machine)}"))
    for at, words in sorted(happened, key=lambda pair: pair[0]):
        print(f"  {at:12.3f}  {words}")
    print()


def life(machine: Uptime) -> str:
    ends = {fate: [a for a in machine.attempts if a.fate is fate] for fate in Fate}
    said = [
        f"{len(attempts)} {fate.value} ({sum(a.ended - a.begun for a in attempts):.4g} s)"
        for fate, attempts in ends.items()
        if attempts
    ]
    up = 0.0 if machine.since is None else machine.until - machine.since
    return f"machine {machine.machine} gone after {up:.5g} s ({machine.why}): " + ", ".join(said)


if __name__ == "__main__":
    sys.exit(main())
