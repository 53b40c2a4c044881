"""The program `bats` from its first instant: `bats run` begins its other process before all else.

That loads modules on a second core, while this one has its own to load.
"""

import sys
from collections.abc import Sequence
from typing import Final

_WITH_A_VALUE: Final = frozenset({"--state"})
_RUNS_NOTHING: Final = frozenset({"--help", "-h", "--dry-run"})


def main() -> int:
    if not runs(sys.argv[1:]):
        return _command_line()
    from bats.deploy import spare_keeper

    spare_keeper.begin((sys.executable, "-m", "bats.worker"))
    try:
        return _command_line()
    finally:
        spare_keeper.end_unused()


def runs(words: Sequence[str]) -> bool:
    """True if these words of a command line begin tasks, as far as can be seen at a glance."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in _WITH_A_VALUE else 1
    return words[place : place + 1] == ["run"] and _RUNS_NOTHING.isdisjoint(words)


def _command_line() -> int:
    from bats.master.cli.main import main

    return main()
