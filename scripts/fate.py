#!/usr/bin/env python3
"""The whole system in one thread of fate: virtual time, one seed, all that can go wrong.

usage: scripts/fate.py [--seeds N] [--from SEED] [--replay SEED] [--undone FIX] [--json] [--quick]

Real master, runners, fleet, store and worker sessions; links, disks, machines, provider and tasks
are made up. A checker with an account of its own judges files, results, lives of machines, money.
`--replay SEED` tells one story line by line; it goes the same way each time. `--undone FIX` runs
without one of the fixes, to show that it is missed: all of them by turns with `--undone all`.
Exit code 1 on any violation.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

if os.environ.get("PYTHONHASHSEED") != "0":  # sets of texts must be gone through in one order
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, *sys.argv])

from fate.undone import FIXES
from fate.verdict import Verdict, run_seed

QUICK = 40
MOST_UNDONE = 500


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300, help="how many stories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first of them")
    parser.add_argument("--replay", type=int, help="one story, told")
    parser.add_argument("--undone", choices=[*FIXES, "all"], help="without one of the fixes")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} stories")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    given = parser.parse_args(arguments)
    if given.replay is not None:
        verdict = run_seed(given.replay, given.undone or "", told=True)
        print(_line(verdict))
        return 1 if verdict.violations else 0
    if given.undone:
        names = list(FIXES) if given.undone == "all" else [given.undone]
        found = {name: _until_found(name, given.first) for name in names}
        if given.json:
            print(json.dumps(found))
        return 1 if None in found.values() else 0
    count = QUICK if given.quick else given.seeds
    started = time.process_time()
    gc.freeze()  # what is loaded by now is garbage after no story
    wrong = []
    loans: Counter[str] = Counter()
    for seed in range(given.first, given.first + count):
        verdict = run_seed(seed)
        loans.update(verdict.loans)
        loans["stories"] += verdict.loans["borrowed"] > 0
        if verdict.violations:
            wrong.append(verdict)
            print(_line(verdict), flush=True)
    seconds = time.process_time() - started
    if given.json:
        print(json.dumps({"seeds": count, "violated": [one.seed for one in wrong],
                          "loans": loans, "seconds": round(seconds, 1)}))  # fmt: skip
    else:
        print(f"machines lent {loans['lent']} times, borrowed {loans['borrowed']} and taken back "
              f"{loans['taken back']} times, in {loans['stories']} stories")  # fmt: skip
        print(f"{count} stories, {len(wrong)} with violations, {seconds:.0f} s of processor")
    return 1 if wrong else 0


def _until_found(name: str, first: int) -> int | None:
    """The number of stories until one shows that a fix is missing."""
    for count, seed in enumerate(range(first, first + MOST_UNDONE), 1):
        verdict = run_seed(seed, name)
        if verdict.violations:
            print(f"without {name}: found after {count}: {_line(verdict)}", flush=True)
            return count
    print(f"without {name}: not found in {MOST_UNDONE}", flush=True)
    return None


def _line(verdict: Verdict) -> str:
    said = "; ".join(verdict.violations[:3]) or "nothing is wrong"
    return f"seed {verdict.seed}: {said}"


sys.path.insert(0, str(Path(__file__).parent))
if __name__ == "__main__":
    sys.exit(main())
