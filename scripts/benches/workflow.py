"""A large workflow read, checked, offered and worked off; many small ones in one pool.

Processor time of this process, in virtual time: nothing sleeps. The bag beside the workflow has as
many tasks of the same runtimes, and none that waits.
"""

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from experiments.recorded_workflows import wfformat_of
from figures import Report
from numpy.random import Generator, default_rng

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.household.placements import PLACEMENTS, USUAL
from bats.master.brain.protocol.commands import Command, Foretell, Offer
from bats.master.brain.protocol.events import Event, Foretold
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.pool_run import poisson, run_pool
from bats.master.simulate.workflows.scientific import montage
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation

TASKS: Final = 10_567  # Montage of 8 degrees, as Pegasus has it
SPEEDS: Final = (1.0, 2.0)
OFFERINGS: Final = (
    Offering(ClusterName("slow"), money("0.02"), 60.0, 20, backend="local"),
    Offering(ClusterName("fast"), money("0.05"), 60.0, 20, backend="local"),
)
PRESENT: Final = 100
PLACES: Final = 100


def run(report: Report, *, quick: bool) -> None:
    tasks = 1_000 if quick else TASKS
    made = montage(tasks, default_rng(1))
    read, graph, seconds = _read(made)
    offered, each = _worked_off(graph, seconds, ahead=True)
    _, plain = _worked_off(graph, seconds)
    _, bag = _worked_off(None, seconds)
    report.figure("read and checked", None, read, "s")
    report.figure("offered, schedules run ahead", None, offered, "s")
    report.figure("a task, schedules run ahead", None, 1e6 * each, "µs")
    report.figure("a task of the workflow", None, 1e6 * plain, "µs")
    report.figure("a task of a bag", None, 1e6 * bag, "µs")
    both = round(read + offered, 2)
    report.bar(
        f"Montage of {graph.tasks:,} tasks read, checked and offered", "5 s", both, both <= 5
    )
    times = round(plain / bag, 2)
    report.bar("a task of it, to one of a bag", 2, times, times <= 2)
    for name in PLACEMENTS:
        if name != USUAL:
            rate = round(_rate(name))
            report.bar(f"{PRESENT} workflows, {name}", "10,000 tasks/s", rate, rate >= 10_000)


def _read(made: Generated) -> tuple[float, Graph, Sequence[float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "montage.json")
        path.write_text(json.dumps(wfformat_of("montage", made.graph, made.seconds)))
        began = time.process_time()
        work = foreign_workflow(path, Emulation())
        assert work is not None
        graph = work.graph
        return time.process_time() - began, graph, work.seconds


def _worked_off(
    graph: Graph | None, seconds: Sequence[float], *, ahead: bool = False
) -> tuple[float, float]:
    """The seconds for the first offer, and for each task."""
    settings = Settings(len(seconds), OFFERINGS, money("1000"), graph=graph, foresight=ahead)
    spent: list[float] = []  # on the first offer: working schedules out, running them ahead

    def asked(engine: Engine, question: Foretell) -> Foretold:
        began = time.process_time()
        answer = foretell(engine, question)
        spent.append(time.process_time() - began)
        return answer

    simulation = Simulation(
        settings,
        lambda task, cluster: seconds[task] / SPEEDS[cluster],
        Conditions(lambda _rng, _cluster: 30.0),
        1,
        foretell=asked,
    )
    handle = simulation.engine.handle

    def handled(event: Event, now: float) -> list[Command]:
        began = time.process_time()
        out = handle(event, now)
        if any(isinstance(one, Offer) for one in out):
            offers.append(time.process_time() - began)
        return out

    offers: list[float] = []
    simulation.engine.handle = handled  # type: ignore[method-assign]
    began = time.process_time()
    history = simulation.run()
    took = time.process_time() - began
    assert len(history.records) == len(seconds)
    return sum(offers[:1]) + sum(spent[:1]), took / len(seconds)


def _rate(placement: str) -> float:
    """Tasks per second, with all workflows there from the start."""

    def drawn(rng: Generator) -> Generated:
        return montage(100, rng)

    arriving = poisson(default_rng(1), PRESENT, 0.0, drawn, lambda of, _: of.seconds)
    began = time.process_time()
    run_pool(arriving, (1.0,) * PLACES, placement, 1)
    took = time.process_time() - began
    return sum(len(one.seconds) for one in arriving) / took
