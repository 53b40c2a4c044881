"""One pool that grows and shrinks live: never too many machines, none left over, and its bill."""

import asyncio
from typing import Final

from bats.common.capacity.pool_rules import Pool
from bats.common.money import money
from bats.common.offering import ClusterName, Offering

from .autoscaled import lived, workflows
from .options import Options
from .told import Table, Told

MACHINES: Final = 8
INTERVAL: Final = 5.0
ATU: Final = 60.0
NODE: Final = Offering(
    ClusterName("node"), money("0.10"), ATU, MACHINES, boundary_seconds=1.0, lease_seconds=10.0
)


def experiment(options: Options) -> Told:
    told = Told.of("elastic", "A pool of at most eight machines, billed by the minute")
    drawn = workflows(4 if options.quick else 12, options.seed)
    run = asyncio.run(lived(Pool("lab", (NODE,), MACHINES, interval_seconds=INTERVAL), drawn))
    atus = [round(hours * 3600 / ATU) for hours in run.charged]
    told.parts.append(
        Table(
            ("workflows", "tasks", "machines", "most at a time", "ATUs", "twin's",
             "none left after, s"),
            [(len(drawn), run.done, run.ended, run.most, *atus, round(run.lingered, 1))],
            "Live, beside its twin in virtual time",
        )
    )  # fmt: skip
    bar = told.report.bar
    bar("machines at a time", MACHINES, run.most, run.most <= MACHINES)
    bar("tasks done", run.tasks, run.done, run.done == run.tasks)
    within = 2 * INTERVAL + ATU
    bar("no machine left, s after the last task", within, run.lingered, run.lingered <= within)
    apart = abs(atus[0] - atus[1])
    bar("ATUs apart from the twin's, at most one a machine", run.ended, apart, apart <= run.ended)
    return told
