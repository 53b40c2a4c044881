"""The programs are no package, they stand in a folder of their own."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts" / "workloads")]
