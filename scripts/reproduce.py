#!/usr/bin/env python3
"""Reproduces what the papers published, and studies of our own: theirs and ours side by side.

usage: scripts/reproduce.py STUDY… [--quick] [--json] [--workers N] [--out DIR]
       [--bags N] [--resume]
"""

import argparse
import importlib
import json
import os
import pkgutil
import sys
from pathlib import Path

import studies
from figures import Report, end
from studies.study import Options, Study


def all_studies() -> dict[str, Study]:
    """Every module in scripts/studies may list some in STUDIES."""
    found: dict[str, Study] = {}
    for module in pkgutil.iter_modules(studies.__path__):
        for study in getattr(importlib.import_module(f"studies.{module.name}"), "STUDIES", ()):
            found[study.name] = study
    return dict(sorted(found.items()))


def main(arguments: list[str] | None = None) -> int:
    known = all_studies()
    parser = argparse.ArgumentParser(
        description="Reproduce published figures; exit code 1 when a bar falls short.",
        epilog="\n".join(f"  {study.name:12} {study.about}" for study in known.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", nargs="+", choices=[*known, "all"], metavar="STUDY")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, in seconds")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="for plots and figures [out]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--bags", type=int, default=0, metavar="N", help="of each cell of a study that has cells"
    )
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="real measurements, for a study that takes some"
    )
    parser.add_argument(
        "--resume", action="store_true", help="run only what is not in DIR yet, by the same code"
    )
    chosen = parser.parse_args(arguments)
    if chosen.workers < 1:
        parser.error(f"--workers is at least 1, not {chosen.workers}")
    if chosen.bags < 0:
        parser.error(f"--bags is at least 1, not {chosen.bags}")
    options = Options(
        chosen.quick,
        chosen.workers,
        chosen.out,
        chosen.seed,
        chosen.bags,
        chosen.resume,
        chosen.data,
    )
    names = list(known) if "all" in chosen.study else chosen.study
    told = []
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        report = Report(name)
        known[name].run(report, options)
        written = chosen.out / f"{name}.json"
        written.write_text(
            json.dumps(report.as_dict(), indent=1, ensure_ascii=False, default=float)
        )
        print(f"figures and plots are in {chosen.out.resolve()}", file=sys.stderr)
        if not chosen.json:
            report.table()
        told.append(report)
    return end(told, json_wanted=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
