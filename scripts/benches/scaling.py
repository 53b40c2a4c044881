"""Scalers in virtual time: seconds of a call with many tasks present, and tasks a second.

And live, at so many slots as a large pool has: how long one waits for its next task.
"""

import asyncio
import time
from functools import partial
from typing import Final

import numpy as np
from figures import Report

from bats.common.money import money
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.placement.pool import Arrived
from bats.master.brain.scaling.elastic_pool import Booted, ElasticPool, Hire, Look, Rules
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import Kind
from bats.master.brain.scaling.scalers import SCALERS, WITH_BUDGET, placing, scaler
from bats.master.simulate.workflows.elastic_run import Coming, run_elastic
from bats.master.simulate.workflows.scientific import montage
from benches.world import finish, numbered, world

WORKFLOWS, TASKS = 100, 1000
MACHINES: Final = 50
INTERVAL: Final = 30.0
MOST_SECONDS: Final = 0.05
LEAST_RATE: Final = 10_000.0
SLOTS: Final = 1000
TASK_SECONDS: Final = 5.0
JOINED_SECONDS: Final = 120.0


def run(report: Report, *, quick: bool) -> None:
    rng = np.random.default_rng(1)
    drawn = [montage(TASKS, rng) for _ in range(10 if quick else WORKFLOWS)]
    workflows = [Workflow(neighbours(one.graph), one.seconds) for one in drawn]
    tasks = sum(len(one.near) for one in workflows)
    for name in SCALERS:
        first, again = calls(name, workflows)
        report.figure(f"{name}: first call with {tasks:,} tasks present", None, first * 1000, "ms")
        report.bar(f"{name}: a call with {tasks:,} unfinished tasks, ms", MOST_SECONDS * 1000,
                   again * 1000, again < MOST_SECONDS)  # fmt: skip
    coming = [Coming(0.0, one, (one.estimates,)) for one in workflows]
    began = time.perf_counter()
    run_elastic(coming, [pool_of("react")], partial(float, 9.0))
    rate = tasks / (time.perf_counter() - began)
    report.bar("react: tasks a second in virtual time", f"≥ {LEAST_RATE:,.0f}", rate,
               rate >= LEAST_RATE)  # fmt: skip
    slots = 50 if quick else SLOTS
    waits = sorted(next_tasks(slots, 3 * slots))
    middle, slow = (1000 * waits[len(waits) * share // 100] for share in (50, 99))
    name = f"{slots:,} slots: from a result to the next task, ms"
    report.bar(name, MOST_SECONDS * 1000, middle, middle < MOST_SECONDS * 1000)
    report.figure(f"{name}, slowest of a hundred", None, slow, "ms")


def next_tasks(slots: int, tasks: int) -> list[float]:
    """Seconds from each result to the next order for its machine, of a master with real sockets."""

    async def measure() -> list[float]:
        with world() as here:
            file = here.folder / "waits"
            async with here.client() as client:
                here.start_helper("slots_worker", str(slots), str(TASK_SECONDS), str(file))
                here.wait_for_workers(slots, JOINED_SECONDS)
                await asyncio.sleep(5)  # until all have been greeted
                await finish(client, numbered("true", tasks))
            return [float(line) for line in file.read_text().splitlines()]

    return asyncio.run(measure())


def pool_of(name: str) -> ElasticPool:
    budget = money(1000) if name in WITH_BUDGET else None
    rules = Rules([Kind("VM", MACHINES, money(1))], INTERVAL, release("idle", 60.0), budget=budget)
    own = scaler(name)
    return ElasticPool(rules, own, placing(own, "breadth-first"))


def calls(name: str, workflows: list[Workflow]) -> tuple[float, float]:
    """Processor seconds of the first call, and of the quickest of five when machines run."""
    pool, own = pool_of(name), scaler(name)
    for number, one in enumerate(workflows):
        pool.elastic(Arrived(number, one), 0.0)
    began = time.process_time()
    own.want(pool)
    first = time.process_time() - began
    for command in pool.elastic(Look([MACHINES]), 0.0):
        if isinstance(command, Hire):
            pool.elastic(Booted(command.place), 0.0)
    taken = []
    for _ in range(5):
        began = time.process_time()
        own.want(pool)
        taken.append(time.process_time() - began)
    return first, min(taken)
