"""usage: with_parsl.py TASKS COMMAND [ahead]     as it is documented, or as fast as it goes"""

import json
import os
import sys
import time
from pathlib import Path

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

tasks, command = int(sys.argv[1]), sys.argv[2]
ahead = "ahead" in sys.argv[3:]
executor = HighThroughputExecutor(
    label="two", address="127.0.0.1", max_workers_per_node=2, cores_per_worker=1, encrypted=False,
    provider=LocalProvider(init_blocks=1, min_blocks=0, max_blocks=1),
    **({"prefetch_capacity": 32} if ahead else {}),
)  # fmt: skip
quieter = {"initialize_logging": False, "strategy": "none"} if ahead else {}
parsl.load(Config(executors=[executor], run_dir=str(Path("runs").absolute()), **quieter))


def in_python(line: str) -> int:
    import subprocess

    return subprocess.run(line, shell=True, check=False).returncode


def in_shell(line: str) -> str:
    return line


one = parsl.python_app(in_python, cache=False) if ahead else parsl.bash_app(in_shell, cache=False)
while not executor.connected_managers():
    time.sleep(0.01)
ready = time.time()
codes = [future.result() for future in [one(command) for _ in range(tasks)]]
print(
    json.dumps({"ready": ready, "done": time.time(), "failed": sum(map(bool, codes))}), flush=True
)
parsl.dfk().cleanup()
os._exit(0)
