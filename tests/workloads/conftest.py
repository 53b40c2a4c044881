"""The programs are no package, they stand in a folder of their own."""

import sys

from helpers.workload import WORKLOADS

sys.path.insert(0, str(WORKLOADS))
