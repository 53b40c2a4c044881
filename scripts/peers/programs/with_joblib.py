"""usage: with_joblib.py TASKS COMMAND"""

import json
import subprocess
import sys
import time

from joblib import Parallel, delayed

tasks, command = int(sys.argv[1]), sys.argv[2]


def one(_: int) -> int:
    return subprocess.run(command, shell=True, check=False).returncode


ready = time.time()
codes = Parallel(n_jobs=2)(delayed(one)(i) for i in range(tasks))
print(json.dumps({"ready": ready, "done": time.time(), "failed": sum(map(bool, codes))}))
