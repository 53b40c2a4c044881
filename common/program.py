"""The `bats` program: a worker starts light, all else goes to the command line."""

import gc
import sys
from typing import Final

_YOUNG: Final = 100_000
"""Objects made before garbage is looked for among them, where Python by itself looks at each 700.

What modules leave while they load, and tasks while they wait, is no garbage: looking at it took a
tenth of a start, and as much of what a master does for a task.
"""


def main() -> int:
    gc.set_threshold(_YOUNG)
    if sys.argv[1:2] == ["worker"]:
        from bats.worker.command_line import main as worker

        return worker(sys.argv[2:])
    from bats.master.cli.beginning import main as command_line

    return command_line()
