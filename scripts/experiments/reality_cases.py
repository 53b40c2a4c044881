"""The cases that showed that 0.1.0 knew only the papers' world, live and as they are written.

`bats run --array 1-60 --clouds clouds.toml --budget 1 -- sleep 90`: nothing is compressed, and the
clouds file says nothing of boundary and lease.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.reality_cases import SHOWN, Shown

from bats.common.messages import TaskId

from . import lab, pairs, user
from .options import Options
from .pairs import Asked, Pair, pair
from .told import Table, Told

CASES: Final = tuple(shown for shown in SHOWN if shown.budget and shown.speeds == (1.0, 1.0))
LONGEST_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Run:
    case: Shown
    pair: Pair


def experiment(options: Options) -> Told:
    told = Told.of("reality-cases", "Where version 0.1.0 failed: the same, live")
    cases = [min(CASES, key=lambda case: case.seconds)] if options.quick else CASES
    runs = user.side_by_side(one, cases, "cases, live")
    words = (
        "Real `sleep`s under `bats run`, two kinds of machines of the same speed, eight of each; "
        f"nothing compressed. {pairs.WORDS}{lab.again(run.pair.live for run in runs)}"
    )
    told.parts += [words, *_tables(runs)]
    pairs.judge(told.report, [[run.pair] for run in runs])
    return told


def one(case: Shown) -> Run:
    """However the computer stood still meanwhile: a second time would take as long again."""

    def words(_: Path) -> list[str]:
        return ["--array", f"1-{case.tasks}", "--", "sleep", f"{case.seconds:g}"]

    def seconds(_task: TaskId, cluster: int) -> float:
        return case.seconds / case.speeds[cluster]

    assert case.budget
    asked = Asked(words, case.clouds_file, case.budget, seconds)
    return Run(case, pair(asked, longest_seconds=LONGEST_SECONDS, again=0))


def _tables(runs: list[Run]) -> list[Table]:
    return [
        Table(
            ("case", *pairs.HEADS),
            [(run.case.name, *pairs.row(run.pair)) for run in runs],
            "Live and simulated",
        ),
        Table(
            ("case", *pairs.OVERHEADS),
            [(run.case.name, *pairs.overheads(run.pair)) for run in runs],
            "Times of real processes, which the twins are given",
        ),
        Table(
            ("case", *pairs.ENDS),
            [(run.case.name, *end) for run in runs for end in pairs.ends(run.pair)],
            "Ends of machines, as their user is told",
        ),
    ]
