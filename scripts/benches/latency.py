"""From `bats run` to the end of the first task, and the time of a small question, from nothing."""

import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Report

from benches.world import BATS, BY_HAND, World, cpu_seconds, numbered, world

FIRST_TASK_SECONDS = 0.25
QUESTION_SECONDS = 0.12
BAGS = 1_000
OF_MANY_SECONDS = 0.3


def first_task() -> float:
    """Seconds to the first task's end; with compiled modules, as a user has them."""
    with tempfile.TemporaryDirectory(prefix="bats bench.") as folder:
        mark = Path(folder, "mark")
        began = time.time()
        subprocess.run(
            [BATS, "--state", Path(folder, "state"), "run", "-q", "-p", "i=1", "--",
             "sh", "-c", f": {{i}} > '{mark}'"],
            cwd=folder, env={**_environment(), "HOME": folder}, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return mark.stat().st_mtime - began


def questions(tries: int) -> dict[str, float]:
    """Seconds until each is answered, by a master that is there; the median."""

    async def measure() -> dict[str, float]:
        with world() as here:
            async with here.client():
                return {
                    word: statistics.median(_seconds(word, here.state) for _ in range(tries))
                    for word in ("status", "--help")
                }

    return asyncio.run(measure())


def of_many(bags: int) -> float:
    """Processor seconds of `bats status` and of its master, one after the other; the median."""

    async def measure() -> float:
        with world() as here:
            async with here.client() as client:
                work = numbered("true", 20)
                for _ in range(bags):
                    await client.submit(work, offerings=[BY_HAND], rule="fastest")
                return statistics.median(_processor_seconds("status", here) for _ in range(7))

    return asyncio.run(measure())


def _processor_seconds(word: str, here: World) -> float:
    before = cpu_seconds(here.master.pid) + _of_children()
    _seconds(word, here.state)
    return cpu_seconds(here.master.pid) + _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(word: str, state: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [BATS, "--state", state, word], env=_environment(), check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def run(report: Report, *, quick: bool) -> None:
    first_task()  # which may compile them
    tries = 3 if quick else 7
    seconds = [first_task() for _ in range(tries)]
    report.figure("slowest", None, max(seconds), "s")
    middle, most = statistics.median(seconds), FIRST_TASK_SECONDS
    report.bar("from `bats run` to its first task's end, s", most, middle, middle <= most)
    for word, took in questions(tries).items():
        said = f"`bats {word}`, s"
        report.bar(said, QUESTION_SECONDS, took, took <= QUESTION_SECONDS)
    bags = 100 if quick else BAGS
    took, most = of_many(bags), OF_MANY_SECONDS
    report.bar(f"`bats status` of {bags:,} bags, s of processors", most, took, took <= most)
