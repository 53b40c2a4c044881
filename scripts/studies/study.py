"""Studies and their common parts: options, worker processes with progress, chances."""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from figures import Report
from numpy.random import Generator

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Options:
    quick: bool
    workers: int
    out: Path
    seed: int


@dataclass(frozen=True, slots=True)
class Study:
    name: str
    about: str
    run: Callable[[Report, Options], None]


def chance(*key: int) -> Generator:
    """The same chances for the same key, in whichever process and order."""
    return np.random.default_rng(key)


def run_all(
    work: Callable[[Job], Result], jobs: Sequence[Job], options: Options, label: str
) -> list[Result]:
    """The results in the order of the jobs; `work` must be a function of a module."""
    progress = Progress(label, len(jobs))
    if options.workers == 1:
        results = []
        for job in jobs:
            results.append(work(job))
            progress.step()
        progress.end()
        return results
    with ProcessPoolExecutor(options.workers) as pool:
        futures = [pool.submit(work, job) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
                progress.step()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    progress.end()
    return [future.result() for future in futures]


class Progress:
    """A bar on standard error, when a person is watching."""

    WIDTH = 40

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._done = label, total, 0
        self._began = time.monotonic()
        self._watched = sys.stderr.isatty()

    def step(self) -> None:
        self._done += 1
        if not self._watched:
            return
        spent = time.monotonic() - self._began
        left = spent / self._done * (self._total - self._done)
        full = self.WIDTH * self._done // self._total
        drawn = "█" * full + "·" * (self.WIDTH - full)
        sys.stderr.write(f"\r{self._label} {drawn} {self._done}/{self._total}, {left:.0f} s left ")
        sys.stderr.flush()

    def end(self) -> None:
        spent = time.monotonic() - self._began
        wipe = "\r\033[K" if self._watched else ""
        sys.stderr.write(f"{wipe}{self._label}: {self._total} jobs in {spent:.1f} s\n")
