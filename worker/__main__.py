"""`python -m bats.worker`: the same as `bats worker`."""

import sys

from bats.worker.main import main

if __name__ == "__main__":
    sys.exit(main())
