"""Runs a real program, and rests until a machine so many times slower would have been done with it.

usage: slowly.py TIMES PROGRAM [ARGUMENT…]

What counts is the processor time of the program: other programs beside it do not lengthen a task.
"""

import resource
import subprocess
import sys
import time


def main() -> int:
    times, *program = sys.argv[1:]
    began = time.monotonic()
    done = subprocess.run(program, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    rest = began + float(times) * (used.ru_utime + used.ru_stime) - time.monotonic()
    time.sleep(max(0.0, rest))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
