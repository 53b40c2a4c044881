"""Studies and their common parts: options, worker processes with progress, chances."""

import pickle
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

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
    bags: int = 0  # of each cell; 0: as many as the study takes
    resume: bool = False
    data: Path | None = None  # real measurements

    def seeds(self, usual: int, quick: int) -> range:
        """The bags of each cell."""
        return range(self.seed, self.seed + (self.bags or (quick if self.quick else usual)))


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
    """The results in the order of the jobs; `work` must be a function of a module.

    Each is kept as soon as it is there. Who resumes runs only what is missing, so that a long study
    can be run in parts: by the same code, or the parts tell of different things.
    """
    kept = Results(options.out / f"{label}.results", resume=options.resume)
    missing = [job for job in jobs if repr(job) not in kept.known]
    progress = Progress(label, len(missing))
    if options.workers == 1:
        for job in missing:
            kept.add(job, work(job))
            progress.step()
    else:
        with ProcessPoolExecutor(options.workers) as pool:
            futures = {pool.submit(work, job): job for job in missing}
            try:
                for future in as_completed(futures):
                    kept.add(futures[future], future.result())
                    progress.step()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    progress.end()
    return [kept.known[repr(job)] for job in jobs]


class Results(Generic[Result]):
    """Results by the words for their jobs, in a file that grows."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.known: dict[str, Result] = {}
        self._path = path
        if not resume:
            path.unlink(missing_ok=True)
        elif path.exists():
            for line in path.read_text().splitlines():
                job, _, result = line.rpartition("\t")
                self.known[job] = pickle.loads(b64decode(result))

    def add(self, job: object, result: Result) -> None:
        self.known[repr(job)] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(f"{job!r}\t{b64encode(pickle.dumps(result)).decode()}\n")


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
