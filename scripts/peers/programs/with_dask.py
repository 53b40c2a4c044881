"""usage: with_dask.py TASKS COMMAND [ahead]     a scheduler and one worker of two threads"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client

tasks, command = int(sys.argv[1]), sys.argv[2]
if "ahead" in sys.argv[3:]:
    os.environ["DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION"] = "inf"
WHERE = ("--scheduler-file", "scheduler.json", "--host", "127.0.0.1", "--no-dashboard")


def one(_: int) -> int:
    return subprocess.run(command, shell=True, check=False).returncode


def begins(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words, *WHERE],
        stdin=subprocess.DEVNULL, stdout=sys.stderr,
    )  # fmt: skip


scheduler = begins("scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0")
while not Path("scheduler.json").exists():
    time.sleep(0.01)
worker = begins("worker", "--nthreads", "2", "--no-nanny", "--local-directory", ".")
client = Client(scheduler_file="scheduler.json")
client.wait_for_workers(1)
ready = time.time()
codes = client.gather(client.map(one, range(tasks), pure=False))
print(
    json.dumps({"ready": ready, "done": time.time(), "failed": sum(map(bool, codes))}), flush=True
)
worker.terminate()
scheduler.terminate()
os._exit(0)  # its threads complain at length of what they lose
