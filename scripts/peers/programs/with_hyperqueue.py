"""usage: with_hyperqueue.py TASKS COMMAND [files]     files: outputs are kept, as is usual

The client is a process of its own, forked before any thread exists: the embedded worker forks
for each task, and pays for the memory of its process each time. The client asks once a second
whether all is done: the last tasks leave a mark instead, whose time counts.
"""

import json
import os
import sys
import time
from pathlib import Path

from hyperqueue.client import Client
from hyperqueue.cluster import LocalCluster, WorkerConfig
from hyperqueue.job import Job

MARKED = 3  # two at a time: the last to end is one of these
tasks, command = int(sys.argv[1]), sys.argv[2]
outputs = {} if "files" in sys.argv[3:] else {"stdout": None, "stderr": None}
folder = str(Path.cwd())


def client() -> None:
    job = Job(default_workdir=folder)
    for i in range(tasks):
        mark = f"; : > mark{i}" if i >= tasks - MARKED else ""
        job.program(["/bin/sh", "-c", f"{command}{mark}"], **outputs)
    asked = Client(folder + "/hq")
    ready = time.time()
    submitted = asked.submit(job)
    fine = asked.wait_for_jobs([submitted])
    done = max(path.stat().st_mtime for path in Path().glob("mark*"))
    print(json.dumps({"ready": ready, "done": done, "failed": int(not fine)}), flush=True)


begins, tell = os.pipe()
if not (child := os.fork()):
    os.read(begins, 1)
    client()
    os._exit(0)
cluster = LocalCluster(server_dir=folder + "/hq", worker_config=WorkerConfig(cores=2))
os.write(tell, b"x")
_, code = os.waitpid(child, 0)
os._exit(os.waitstatus_to_exitcode(code))
