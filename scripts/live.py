#!/usr/bin/env python3
"""Runs the published experiments with real worker processes in compressed time, and tells how they
went beside what was published and what is simulated: tables here, with plots on one HTML page.

usage: scripts/live.py EXPERIMENT|all [--scale F] [--quick] [--json] [--out DIR] [--seed N]
"""

import argparse
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from experiments import (
    autoscaled,
    chapter6,
    comparison,
    kept_live,
    one_elastic,
    page,
    planned_workflows,
    programs,
    reality,
    reality_cases,
    recorded_workflows,
    spot,
    table2_1,
    three_jobs,
)
from experiments.options import Options
from experiments.told import Told
from figures import end

EXPERIMENTS: Final[dict[str, tuple[str, Callable[[Options], Told]]]] = {
    "table2.1": ("BaTS against round robin in five scenarios", table2_1.experiment),
    "chapter6": ("Kohonen maps and SARSA: promises and outcomes", chapter6.experiment),
    "comparison": ("a sweep cost-blind, and with BaTS for as much and less", comparison.experiment),
    "reality": ("any ATU, any task, any bag: done for its money?", reality.experiment),
    "workflows": ("recorded workflows, emulated under a budget", recorded_workflows.experiment),
    "spot": ("emulated loss: what was told of a strategy, and what came", spot.experiment),
    "pool": ("three jobs on a pool, and who pays what", three_jobs.experiment),
    "elastic": ("a pool of eight machines, and its bill", one_elastic.experiment),
    "pools": ("three autoscalers, beside their simulated twins", autoscaled.experiment),
    "prob": ("workflows planned with distributions, told and come", planned_workflows.experiment),
    "promises": ("offers and budgets: told and come, price and time", kept_live.experiment),
    "programs": ("real programs whose runtime follows a parameter", programs.experiment),
    "reality-cases": ("where version 0.1.0 failed, as it was", reality_cases.experiment),
}
WORDS: Final = (
    "Experiments with real worker processes on one computer in compressed time. Machines, their "
    "speeds and prices are emulated; master, workers, tasks, leases and bills are what they are."
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Run experiments live; exit code 1 when a bar falls short.",
        epilog="\n".join(f"  {name:12} {about}" for name, (about, _) in EXPERIMENTS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "experiment", nargs="+", choices=[*EXPERIMENTS, "all"], metavar="EXPERIMENT"
    )
    parser.add_argument(
        "--scale",
        type=_scale,
        metavar="F",
        help="how many seconds a model minute lasts; shorter ones are less exact "
        "[0.5 for table 2.1; for the others as fits the processors]",
    )
    parser.add_argument("--quick", action="store_true", help="a small part")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="for page and figures [out]"
    )
    parser.add_argument(
        "--files",
        type=Path,
        metavar="DIR",
        help="for `workflows`: a folder of WfFormat files with runtimes [generated ones]",
    )
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    options = Options(chosen.scale, chosen.seed, chosen.quick, chosen.files)
    names = list(EXPERIMENTS) if "all" in chosen.experiment else chosen.experiment
    told = []
    for name in names:
        _, experiment = EXPERIMENTS[name]
        told.append(experiment(options))
        if not chosen.json:
            told[-1].print()
        _write(chosen.out, told)  # what has been measured is not lost with what follows
    return end([one.report for one in told], json_wanted=chosen.json)


def _write(out: Path, told: list[Told]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    written = out / "live.html"
    written.write_text(page.html(told, WORDS), encoding="utf-8")
    for one in told:
        text = json.dumps(one.as_dict(), indent=1, ensure_ascii=False, default=float)
        (out / f"live-{one.name}.json").write_text(text)
    print(f"tables and figures are in {written.resolve()}", file=sys.stderr)


def _scale(text: str) -> float:
    value = float(text)
    if not 0.02 <= value <= 60:
        raise argparse.ArgumentTypeError(f"{text} is not from 0.02 to 60 seconds")
    return value


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt  # so that workers are ended on the way out


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
