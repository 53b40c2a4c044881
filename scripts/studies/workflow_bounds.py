"""Bounds of workflows with unknown runtimes: how often what was told of the fastest offer holds.

With --data FOLDER those of the recorded workflows there, too: a tenth as many runs of each.
"""

from functools import lru_cache
from math import sqrt
from statistics import median
from typing import Final, NamedTuple

from figures import Report
from numpy.random import Generator

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.events import Chosen, Event
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell
from bats.master.simulate.workflows import layered
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.mixtures import hyper_gamma
from bats.master.simulate.workflows.scientific import SCIENTIFIC
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation
from studies.study import Options, Study, chance, run_all


def mixture(size: int, rng: Generator) -> Generated:
    """One of any family."""
    every = [*SCIENTIFIC.values(), layered.drawn]
    return every[int(rng.integers(len(every)))](size, rng)


@lru_cache(maxsize=1)
def recorded(file: str) -> Generated:
    work = foreign_workflow(file, Emulation())
    assert work is not None
    return Generated(work.graph, tuple(max(SHORTEST_SECONDS, one) for one in work.seconds))


SHORTEST_SECONDS: Final = 1e-3
MOST_TASKS: Final = 600  # of a recorded one: larger ones take their time
FAMILIES: Final = {**SCIENTIFIC, "layered": layered.drawn, "mixture": mixture}
FOUR: Final = ("montage", "ligo", "sipht", "layered")
OFFERINGS: Final = (
    Offering(ClusterName("slow"), money("0.02"), 60.0, max_machines=5, backend="local"),
    Offering(ClusterName("fast"), money("0.05"), 60.0, max_machines=5, backend="local"),
)
SPEED: Final = (1.0, 2.0)


class Held(NamedTuple):
    """Of one workflow what was told, and what came of it."""

    done: bool
    in_time: bool
    in_price: bool
    part: float  # its time, of the bound


def run_one(job: tuple[str, int, int]) -> Held | None:
    """None if it was done before anything could be told."""
    name, number, seed = job
    rng = chance(seed, 41, number)
    size = 2 * int(rng.integers(15, 40))
    work = (FAMILIES[name](size, rng) if name in FAMILIES else recorded(name)).scaled(
        hyper_gamma(rng)
    )
    told: list[tuple[float, int, Schedule]] = []

    def answers(offered: tuple[Schedule, ...], now: float) -> tuple[float, Event] | None:
        if told or not offered or offered[-1].bounds is None:
            return None
        told.append((now, simulation.engine.view(now).spent, offered[-1]))
        return now, Chosen(offered[-1].name)

    settings = Settings(
        work.graph.tasks, OFFERINGS, rule=ASK, graph=work.graph, foresight=True, seed=number
    )
    simulation = Simulation(
        settings,
        lambda task, cluster: work.seconds[task] / SPEED[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: 30.0, answers=answers),
        number,
        foretell=foretell,
    )
    history = simulation.run(until=1e7)
    view = simulation.engine.view()
    if not told:
        return None
    if history.ended_at is None:
        return Held(done=False, in_time=False, in_price=False, part=float("inf"))
    at, spent, schedule = told[0]
    assert schedule.bounds is not None
    took = history.ended_at - at
    done = view.done == view.total
    return Held(
        done,
        done and took <= schedule.bounds.makespan_seconds,
        done and view.spent - spent <= schedule.bounds.cost,
        took / max(schedule.bounds.makespan_seconds, 1e-9),
    )


def run(report: Report, options: Options) -> None:
    each = options.bags or (20 if options.quick else 200)
    groups = {name: [(name, k, options.seed) for k in range(each)] for name in FAMILIES}
    if options.data is not None:
        files = [str(path) for path in sorted(options.data.glob("*.json*"))]
        groups["recorded"] = [
            (file, k, options.seed)
            for file in files
            if recorded(file).graph.tasks <= MOST_TASKS
            for k in range(-(-each // 10))
        ]
    for name, jobs in groups.items():
        every = run_all(run_one, jobs, options, f"wf-bounds {name}")
        found = [one for one in every if one is not None]
        report.figure(f"{name}: done before anything was told", None, len(every) - len(found))
        if not found:
            continue
        done, times, prices = (sum(one[k] for one in found) / len(found) for k in range(3))
        report.figure(f"{name}: done with the money that was told", None, done, "share")
        report.figure(f"{name}: time within its 90 % bound", 0.9, times, "share")
        report.figure(f"{name}: price within its 90 % bound", 0.9, prices, "share")
        report.figure(f"{name}: time to its bound", None, median(one.part for one in found))
        if name in FOUR and not options.quick:
            noise = sqrt(0.9 * 0.1 / len(found))
            report.bar(f"{name}: time bounds hold (± {noise:.3f})", "0.85..0.97", times,
                       0.85 <= times <= 0.97)  # fmt: skip


STUDIES = (Study("wf-bounds", "90 % bounds of workflows with unknown runtimes", run),)
