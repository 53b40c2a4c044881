"""`true` tasks through master and one worker with two slots: output captured, results durable."""

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Report
from peers import measuring

from bats.worker.tasks import capture
from bats.worker.tasks.slot import Slot
from benches.world import finish, numbered, world

COMMAND = "true"
PEERS = ("hyperqueue", "parsl-ahead", "dask-ahead", "ray", "parallel-u")  # each as fast as it goes


def ours(tasks: int) -> float:
    """Tasks per second, from submission until the client knows all results."""

    async def measure() -> float:
        with world() as here:
            async with here.client() as client:
                here.start_worker(slots=2)
                here.wait_for_workers(1)
                await finish(client, numbered(COMMAND, 20))
                _, _, seconds = await finish(client, numbered(COMMAND, tasks))
                return tasks / seconds

    return asyncio.run(measure())


def xargs(tasks: int, command: str = "true") -> float:
    """The same with `xargs -P2`, a shell each, output not kept."""
    with tempfile.TemporaryFile("w+") as lines:
        lines.writelines(f"{command} {i if command == 'true' else ''}\n" for i in range(tasks))
        lines.seek(0)
        began = time.monotonic()
        subprocess.run(
            ["xargs", "-P2", "-d", "\n", "-n1", "/bin/sh", "-c"], stdin=lines, check=True
        )
        return tasks / (time.monotonic() - began)


def value_seconds() -> float:
    """The time in which a worker finds the last line and the values in what a task wrote."""
    tries, pipe = 1_000, os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        slot = Slot(Path(folder), 0, 0, pipe[0], None)
        size = os.write(slot.stdout, b"epoch 100\nloss=0.25\n")
        began = time.process_time()
        for _ in range(tries):
            capture.last_words(slot, size, 0)
        took = time.process_time() - began
        slot.close()
    for end in pipe:
        os.close(end)
    return took / tries


def run(report: Report, *, quick: bool) -> None:
    tasks, tries = (2_000, 1) if quick else (10_000, 3)
    pairs = [(xargs(tasks), ours(tasks)) for _ in range(tries)]
    share = statistics.median(mine / theirs for theirs, mine in pairs)
    report.figure("xargs -P2", 2_500, statistics.median(x for x, _ in pairs), "tasks/s")
    rate = statistics.median(mine for _, mine in pairs)
    report.figure(f"BaTS, {tasks:,} tasks", None, rate, "tasks/s")
    report.bar("share of xargs -P2's rate", 0.9, share, share >= 0.9)
    values = value_seconds() * rate / 2
    report.bar("of a slot's time, the last line and its values", 0.03, values, values <= 0.03)
    found = {} if quick else measuring.rates(PEERS, tasks)
    for name, theirs in found.items():
        report.figure(name, None, theirs, "tasks/s")
    if found:
        times = rate / max(found.values())
        report.bar("times the fastest peer's rate", 2, times, times >= 2)
    few, many = (1_000, 10_000) if quick else (1_000, 100_000)
    small, large = 1 / ours(few), 1 / ours(many)
    report.figure(f"a task of {few:,}", None, 1e6 * small, "µs")
    report.figure(f"a task of {many:,}", None, 1e6 * large, "µs")
    report.bar(f"a task of {many:,} over one of {few:,}", 1.3, large / small, large <= 1.3 * small)
