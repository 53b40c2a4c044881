"""Processor time of a task of `scripts/workloads`, and what the task learns with that."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterable
from typing import Any, Final

from experiments.apps import PROGRAMS, cpu_seconds
from figures import Report

from bats.master.client import sweep
from bats.master.sweep.sweep import Sweep

STEPS: Final = {"kohonen": ("iteration", 2_000, 20_000), "sarsa": ("epoch", 20, 200)}
"""The unit of a task's size, and two sizes to measure at."""

LEARNED: Final = 0.9
"""Of the flowers are told after training; so much of the nearest call's waiting is left."""


def run(report: Report, *, quick: bool) -> None:
    tries = 2 if quick else 10
    for name, (step, small, large) in STEPS.items():
        few, many = (cpu_seconds(words(name, f"--{step}s", size), tries) for size in (small, large))
        each = (many - few) / (large - small)
        start = few - small * each
        report.figure(f"{name}.py before the first {step}", None, start, "s")
        report.figure(f"{name}.py, each {step}", None, 1e6 * each, "µs")
        tasks = sweep(PROGRAMS / f"{name}.toml")
        mean = statistics.fmean(float(size) for size in sizes(tasks, f"{step}s"))
        report.figure(f"{name}.toml, a task at scale 1", None, mean * each, "s")
        report.figure(f"{name}.toml, a task at scale 0.01", None, start + 0.01 * mean * each, "s")
    nap = words("sleeper", "--index", 1, "--dry-run")
    report.figure("sleeper.py", None, cpu_seconds(nap, tries), "s")
    light = cpu_seconds([nap[0], "-S", *nap[1:]], tries)
    report.figure("sleeper.py with python -S", None, light, "s")
    seeds = range(2 if quick else 20)
    for iterations in (100, 1_000, 10_000):
        maps = [told("kohonen", "--iterations", iterations, "--seed", seed) for seed in seeds]
        purity = statistics.fmean(one["fresh_purity"] for one in maps)
        report.figure(f"flowers told after {iterations:,} iterations", None, purity)
    report.bar("flowers told after training", LEARNED, purity, purity >= LEARNED)
    for epochs in (30, 100, 300, 1_000):
        days = [told("sarsa", "--epochs", epochs, "--seed", seed) for seed in seeds]
        ratio = sum(day["total_waiting_time"] for day in days) / sum(
            day["baseline"]["nearest_call"] for day in days
        )
        report.figure(f"waiting after {epochs:,} epochs, to the nearest call's", None, ratio)
    report.bar("waiting after learning, to the nearest call's", LEARNED, ratio, ratio <= LEARNED)


def words(program: str, *arguments: object) -> list[str]:
    return [sys.executable, str(PROGRAMS / f"{program}.py"), *map(str, arguments)]


def told(program: str, *arguments: object) -> dict[str, Any]:
    ended = subprocess.run(words(program, *arguments), capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def sizes(tasks: Sweep, name: str) -> Iterable[str]:
    return (tasks.parameters(index)[name] for index in range(tasks.count))
