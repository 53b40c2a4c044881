"""Twelve cells of the matrix of REALITY, each in compressed time and as a user would run it.

Together they have every value of the matrix: each ATU, length of task, size, start and kind of
runtimes, two and three kinds of machines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from figures import Report
from studies.cells import VALUES
from studies.cells import Cell as Place

from . import lab, pairs, user
from .compressed import BOUNDARY_SECONDS, LEASE_SECONDS, PROCESS_SECONDS, Compressed
from .options import Options
from .pairs import Asked, Pair, pair
from .told import Cell, Table, Told

CELLS: Final = (
    # ATU, task, N, start, runtimes, kinds; seconds that a mean task lasts here at speed 1
    (Place("1s", "0.1s", "1000", "0", "log-normal", "2"), 0.5),
    (Place("1s", "5m", "100", "90s", "levy", "3"), 10.0),
    (Place("1s", "6h", "10", "billed", "constant", "2"), 20.0),
    (Place("1s/60s", "2s", "1000", "0", "normal", "3"), 0.5),
    (Place("1s/60s", "30s", "100", "billed", "bimodal", "2"), 8.0),
    (Place("1m", "5m", "10", "0", "log-normal", "3"), 50.0),
    (Place("1m", "1h", "10", "90s", "normal", "2"), 20.0),
    (Place("10m", "30s", "100", "90s", "constant", "3"), 6.0),
    (Place("10m", "1h", "100", "billed", "levy", "2"), 15.0),
    (Place("1h", "2s", "100", "0", "bimodal", "3"), 6.0),
    (Place("1h", "6h", "100", "90s", "log-normal", "3"), 15.0),
    (Place("1h", "5m", "10", "billed", "normal", "2"), 20.0),
)
QUICK: Final = (0, 6)
RUNS: Final = 3  # of each cell
LONGEST_SECONDS: Final = 900.0  # what lasts longer is ended
AGAIN: Final = 3  # a cell in which the computer stood still


@dataclass(frozen=True, slots=True)
class Run:
    cell: Compressed
    pair: Pair

    @property
    def live(self) -> lab.Live:
        return self.pair.live

    @property
    def boot_seconds(self) -> float:
        """As emulated."""
        return self.cell.cell.boot_seconds * self.cell.factor


def experiment(options: Options) -> Told:
    told = Told.of("reality", "Any billing, any task, any bag: twelve cells live")
    wanted = [CELLS[k] for k in QUICK] if options.quick else CELLS
    cells = [Compressed(place, seconds, options.seed) for place, seconds in wanted]
    if not options.quick:
        cells = [cell for cell in cells for _ in range(RUNS)]
    runs = user.side_by_side(one, cells, "reality, live")
    told.parts += [_introduction(runs), *_tables(runs)]
    judge(told.report, runs)
    if not options.quick:
        missing = values_without(cells)
        told.report.bar("values of the matrix that no cell has", 0, missing, missing == 0)
    return told


def one(cell: Compressed) -> Run:
    asked = Asked(cell.words, cell.clouds_file, cell.budget, cell.seconds)
    return Run(cell, pair(asked, longest_seconds=LONGEST_SECONDS, again=AGAIN))


# --- judging --------------------------------------------------------------------------------------


def judge(report: Report, runs: Sequence[Run]) -> None:
    cells = dict.fromkeys(run.cell for run in runs)
    pairs.judge(report, [[run.pair for run in runs if run.cell == cell] for cell in cells])


def values_without(cells: Sequence[Compressed]) -> int:
    """The number of values of the matrix, budgets apart, that are those of none of these."""
    return sum(
        value not in {getattr(one.cell, key) for one in cells}
        for key, values in VALUES.items()
        if key != "budget"
        for value in values
    )


# --- telling --------------------------------------------------------------------------------------


def _introduction(runs: Sequence[Run]) -> str:
    booted = [run.pair.measured.boot_seconds - run.boot_seconds for run in runs]
    stops = [run.pair.measured.stop_seconds for run in runs]
    return (
        f"Real worker processes under `bats run` with a clouds file and a budget of 1.5 × L⁺, "
        f"{user.SIDE_BY_SIDE} runs at a time; no --term. All of a cell is shorter by the factor "
        "in the table, ATU, minimum and start alike. What processes need is not: a boundary of "
        f"{BOUNDARY_SECONDS:g} s and a lease of {LEASE_SECONDS:g} s in the clouds file, and "
        f"{min(booted):.2f} to {max(booted):.2f} s from being charged to being able to work, "
        f"{min(stops):.2f} to {max(stops):.2f} s from being told to stop to being gone, on "
        f"average. L⁺ counts {PROCESS_SECONDS:g} s of it for each machine. {pairs.WORDS}"
        f"{lab.again(run.live for run in runs)}"
    )


def _name(run: Run) -> tuple[Cell, ...]:
    place, factor = run.cell.cell, run.cell.factor
    compressed = f"1/{1 / factor:.4g}" if factor < 1 else f"{factor:g}"
    return place.atu, place.task, place.tasks, place.start, place.runtimes, place.kinds, compressed


def _tables(runs: Sequence[Run]) -> list[Table]:
    heads = ("ATU", "task", "N", "start", "runtimes", "kinds", "factor")
    few = 3
    return [
        Table(
            (*heads, *pairs.HEADS),
            [(*_name(run), *pairs.row(run.pair)) for run in runs],
            "Live and simulated",
        ),
        Table(
            (*heads[:few], "mean task, s", *pairs.OVERHEADS),
            [
                (*_name(run)[:few], run.cell.task_seconds, *pairs.overheads(run.pair))
                for run in runs
            ],
            "Times of real processes, which the twins are given",
        ),
        Table(
            (*heads[:few], *pairs.ENDS),
            [(*_name(run)[:few], *end) for run in runs for end in pairs.ends(run.pair)],
            "Ends of machines, as their user is told",
        ),
    ]
