"""`python -m bats.master.store`: look at a store no master can open, save what can be saved."""

import argparse
import sys
from pathlib import Path

from bats.common.errors import BatsError
from bats.master.store.repair.salvage import salvage
from bats.master.store.repair.soundness import inspect


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bats.master.store", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    check = verbs.add_parser("check", help="say whether a store is whole, and what it holds")
    check.add_argument("folder", type=Path)
    copy = verbs.add_parser("salvage", help="copy what can be read into a fresh folder")
    copy.add_argument("folder", type=Path)
    copy.add_argument("new_folder", type=Path)
    arguments = parser.parse_args()
    try:
        if arguments.verb == "check":
            findings = inspect(arguments.folder)
        else:
            findings = salvage(arguments.folder, arguments.new_folder)
    except BatsError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(findings)
    return 0 if findings.sound else 2


if __name__ == "__main__":
    sys.exit(main())
