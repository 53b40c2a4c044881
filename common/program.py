"""The `bats` program: a worker starts light, all else goes to the command line."""

import sys


def main() -> int:
    if sys.argv[1:2] == ["worker"]:
        from bats.worker.main import main as worker

        return worker(sys.argv[2:])
    from bats.master.cli.main import main as command_line

    return command_line()
