"""usage: with_ray.py TASKS COMMAND"""

import json
import logging
import os
import subprocess
import sys
import time

import ray

tasks, command = int(sys.argv[1]), sys.argv[2]
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20,
         logging_level=logging.ERROR, _temp_dir=os.environ["TMPDIR"])  # fmt: skip


@ray.remote(num_cpus=1)
def one(_: int) -> int:
    return subprocess.run(command, shell=True, check=False).returncode


ready = time.time()
codes = ray.get([one.remote(i) for i in range(tasks)])
print(json.dumps({"ready": ready, "done": time.time(), "failed": sum(map(bool, codes))}))
ray.shutdown()
