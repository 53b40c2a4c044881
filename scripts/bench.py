#!/usr/bin/env python3
"""Speed of the service: real masters and workers in processes of their own, peers beside them.

usage: scripts/bench.py NAME… [--quick] [--json]
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Final, Protocol

from benches import (
    adding,
    beds,
    codec,
    crowd,
    dispatch,
    efficiency,
    hostile,
    latency,
    recovery,
    scaling,
    spawn,
    workflow,
    workloads,
)
from figures import Report, end


class Bench(Protocol):
    def __call__(self, report: Report, *, quick: bool) -> None: ...


BENCHES: Final[Mapping[str, Bench]] = {
    "spawn": spawn.run,
    "dispatch": dispatch.run,
    "ten-million": dispatch.run_ten_million,
    "adding": adding.run,
    "codec": codec.run,
    "efficiency": efficiency.run,
    "latency": latency.run,
    "scaling": scaling.run,
    "workers": crowd.run,
    "hostile": hostile.run,
    "recovery": recovery.run,
    "workloads": workloads.run,
    "workflow": workflow.run,
    "beds": beds.run,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Measure the service; exit code 1 when a bar falls short."
    )
    parser.add_argument("name", nargs="+", choices=[*BENCHES, "all"], metavar="NAME",
                        help=", ".join([*BENCHES, "all"]))  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="smaller sizes, no peers")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    chosen = parser.parse_args(arguments)
    names = list(BENCHES) if "all" in chosen.name else chosen.name
    told = []
    for name in names:
        report = Report(name)
        BENCHES[name](report, quick=chosen.quick)
        if not chosen.json:
            report.table()
        told.append(report)
    return end(told, json_wanted=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
