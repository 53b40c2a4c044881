"""`python -m bats.worker`: the same as `bats worker`."""

import os
import sys

from bats.worker.command_line import main

if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # An interpreter's orderly end takes 25 ms, most of them to copy pages that a keeper's workers
    # share. When an ATU ends many of them end at once, each on the bill until it is gone.
    os._exit(code)
