"""Autoscalers live, in compressed time: workflows come to a pool of a master with real workers.

The workloads are small copies of the thesis's (Ilyushkin 2019, §4.3): mixed scientific workflows at
random times, on at most 32 machines. A minute of the thesis is four seconds here. Twins run the
same workflows in virtual time, with what processes needed live: to boot, alone and beside others,
to end, to hand a task over and to run it. Which task a machine gets is chance: the measures of one
twin differ from those of the next by up to a sixth, so live is held against the mean of several.
"""

import asyncio
import gzip
import json
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Final

import msgpack
import numpy as np
from numpy.random import default_rng

from bats.common.capacity.pool_rules import Pool, as_common
from bats.common.messages import BagId, MachineId
from bats.common.money import Money, as_decimal, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.elasticity.curves import Elasticity, elasticity
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.pools import pool_journal
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.commands import StopMachine
from bats.master.brain.protocol.numbering import before_first
from bats.master.client import connect
from bats.master.queries.pools.master_elasticity import Found, found_in
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.service.master import serving
from bats.master.service.options import Options as MasterOptions
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.mixtures import MIXED
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation
from bats.master.sweep.workflow.workflow import Workflow

from .autoscaled_twin import Measured, Twin
from .options import Options
from .recorded_workflows import wfformat_of
from .told import Table, Told

SCALERS: Final = ("react", "plan", "token")
WORKFLOWS: Final = 60
MACHINES: Final = 32
INTERVAL: Final = 2.0
ATU: Final = 10.0
BETWEEN: Final = 2.5  # seconds from one workflow to the next, in the mean
TASK: Final = 1.2  # seconds of a task, in the mean of its workflow
SHORTEST: Final = 0.25  # a task lasts so long at least: shorter ones measure the computer
STEP: Final = 17.0 / 15.0  # of k and k': 17 s of the thesis
ALIKE: Final = 0.2
TWINS: Final = 8
PRICE: Final = money("0.01")
NODE: Final = Offering(
    ClusterName("node"), PRICE, ATU, MACHINES, boundary_seconds=0.5, lease_seconds=10.0,
    settings={"start_delay_seconds": 0.6},
)  # fmt: skip
FIGURES: Final = ("a_u", "a_o", "t_u", "t_o", "m_u", "mean_supply")
SHOWN: Final = ("a_u", "a_o", "mean_a_u", "mean_a_o", "t_u", "t_o", "k", "k_less", "m_u",
                "mean_supply")  # fmt: skip
_LIMIT_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class Run:
    """One autoscaler, live, and its twin."""

    scaler: str
    live: Elasticity
    twins: list[Elasticity]
    pool: StandingPool
    most: int  # machines that were there or asked for at one time
    ended: int  # machines that the scaler ended
    done: int
    tasks: int
    again: int  # attempts that were not the first
    over: Money  # by which the cap of the day was passed at most
    measured: Measured
    charged: tuple[float, float]  # machine hours, live and of the twins in the mean
    lingered: float  # seconds from the last task's end until no machine was left

    def twin(self, key: str) -> float:
        return fmean(getattr(one, key) for one in self.twins)


def experiment(options: Options) -> Told:
    told = Told.of("pools", "Autoscalers live, beside their simulated twins")
    count = 15 if options.quick else WORKFLOWS
    names = SCALERS[:1] if options.quick else SCALERS
    drawn = workflows(count, options.seed)
    hours = (drawn[-1][0] + 60.0) / 3600
    cap = Money(int(PRICE * MACHINES * hours * 3600 / ATU))  # of all machines, always on
    pools = [
        Pool("lab", (NODE,), MACHINES, interval_seconds=INTERVAL, scaler=name, per_day=cap)
        for name in names
    ]
    runs = [asyncio.run(lived(pool, drawn)) for pool in pools]
    tasks = sum(len(one.seconds) for _, one in drawn)
    words = (
        f"{count} workflows, {tasks} tasks of some {TASK:g} s in the mean, one workflow every "
        f"{BETWEEN:g} s; at most {MACHINES} machines, asked every {INTERVAL:g} s, billed by "
        f"{ATU:g} s and ended as paid time does."
    )
    told.parts += [
        words,
        Table(
            ("", *(column for run in runs for column in (run.scaler, "twins"))),
            [(key, *(round(value, 4) for run in runs
                     for value in (float(getattr(run.live, key)), run.twin(key))))
             for key in SHOWN],
            "Measures of elasticity",
        ),
        Table(
            ("scaler", "most machines", "ended", "tasks", "cost, $", "hours charged", "twins'"),
            [(run.scaler, run.most, run.ended, run.done, float(as_decimal(run.pool.committed)),
              round(run.charged[0], 3), round(run.charged[1], 3)) for run in runs],
            "Live",
        ),
        Table(
            ("scaler", "till charged, s", "boot, s", "more for each beside it", "to end, s",
             "a task more, ms", "a task handed over, ms"),
            [(run.scaler, round(one.charged, 2), round(one.boot, 2), round(one.boot_beside, 3),
              round(one.leave, 2), round(1000 * one.overhead, 1), round(1000 * one.handover, 1))
             for run in runs for one in (run.measured,)],
            "What processes needed, which the twins are given",
        ),
    ]  # fmt: skip
    bar = told.report.bar
    for run in runs:
        name = run.scaler
        bar(f"{name}: machines at a time", MACHINES, run.most, run.most <= MACHINES)
        bar(f"{name}: tasks done", run.tasks, run.done, run.done == run.tasks)
        bar(f"{name}: tasks that were run again", 0, run.again, run.again == 0)
        bar(f"{name}: passed its money by", 0, float(as_decimal(run.over)), run.over <= 0)
        for key in FIGURES:
            live, twin = getattr(run.live, key), run.twin(key)
            far = abs(live / twin - 1) if twin else abs(live)
            bar(f"{name}: {key}, live to simulated", 1 + ALIKE, round(1 + far, 3), far <= ALIKE)
    return told


def workflows(count: int, seed: int) -> list[tuple[float, Generated]]:
    rng = default_rng(seed)
    at, drawn = 0.0, list[tuple[float, Generated]]()
    for _ in range(count):
        made = MIXED[int(rng.integers(len(MIXED)))](2 * int(rng.integers(12, 20)), rng)
        scaled = made.scaled(TASK * len(made.seconds))
        lasting = tuple(max(SHORTEST, one) for one in scaled.seconds)
        drawn.append((at, replace(scaled, seconds=lasting)))
        at += float(rng.exponential(BETWEEN))
    return drawn


async def lived(pool: Pool, drawn: Sequence[tuple[float, Generated]]) -> Run:
    """A pool of one kind with a master of its own, until its last machine has gone."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        works = [work_of(Path(folder), number, one) for number, (_, one) in enumerate(drawn)]
        options = MasterOptions(
            state=state, offerings=tuple(map(as_common, pool.kinds)), pools=(pool,),
            heartbeat_seconds=5.0,
        )  # fmt: skip
        begin = await _live(options, drawn, works)
        with Reader(state) as reader:
            (kept,) = replayed_pools(reader).values()
            last = max(row.ended or 0.0 for row in reader.bags())
            found = found_in(reader, begin, last)
            return _seen(pool, reader, kept, found, drawn, begin, last)


def work_of(folder: Path, number: int, one: Generated, name: str = "") -> Workflow:
    file = folder / f"workflow-{number}.json.gz"
    with gzip.open(file, "wt") as written:
        written.write(json.dumps(wfformat_of(name or f"workflow {number}", one.graph, one.seconds)))
    work = foreign_workflow(file, Emulation())
    assert work is not None
    return work


async def _live(
    options: MasterOptions, drawn: Sequence[tuple[float, Generated]], works: Sequence[Workflow]
) -> float:
    """The time when the first was submitted."""
    async with serving(options) as master, connect(master.access) as client:
        loop = asyncio.get_running_loop()
        begin, started = time.time(), loop.time()
        bags = []
        for (at, _), work in zip(drawn, works, strict=True):
            await asyncio.sleep(max(0.0, started + at - loop.time()))
            bags.append(await client.submit(work))
        async with asyncio.timeout(_LIMIT_SECONDS):
            for bag in bags:
                await bag.wait()
            (kept,) = master.bags.pools.kept()
            while kept.alive():  # noqa: ASYNC110 (nobody tells of it)
                await asyncio.sleep(0.1)
    return begin


def _seen(
    rules: Pool,
    reader: Reader,
    kept: StandingPool,
    found: Found,
    drawn: Sequence[tuple[float, Generated]],
    begin: float,
    last: float,
) -> Run:
    (number,) = reader.pools()
    rows = reader.machines(number)
    joined = [one for one in rows if one.joined is not None and one.requested is not None]
    overhead, done, again = _tasks(reader, drawn)
    first = next(at for _, at, _ in reader.events(number)) - begin
    measured = Measured(
        fmean((one.charged_since or 0.0) - (one.requested or 0.0) for one in joined),
        *_boots(joined), _leave(reader, number, rows), overhead,
        _handover(reader, {one.id: one.joined or 0.0 for one in joined}, drawn),
        first % rules.interval_seconds,
    )  # fmt: skip
    twins = [Twin(rules, drawn, measured, seed).run() for seed in range(TWINS)]
    live = elasticity(found.demand, found.supply, found.busy, rules.most, begin, last, STEP)
    simulated = [
        elasticity(one.demand, one.supply, one.busy, rules.most, 0.0, one.now, STEP)
        for one in twins
    ]
    changes = sorted(
        change for one in rows for change in (((one.requested or 0.0), 1), ((one.gone or last), -1))
    )
    here = most = 0
    for _, change in changes:
        here += change
        most = max(most, here)
    (kind,) = rules.kinds
    charged = sum(one.cost for one in rows) / kind.price * kind.atu_seconds / 3600
    return Run(
        rules.scaler, live, simulated, kept, most, len(rows), done,
        sum(len(one.seconds) for _, one in drawn), again,
        Money(max(0, kept.committed - (rules.per_day or 0))), measured,
        (charged, fmean(one.charged_hours for one in twins)),
        max(one.gone or 0.0 for one in rows) - last,
    )  # fmt: skip


def _tasks(reader: Reader, drawn: Sequence[tuple[float, Generated]]) -> tuple[float, int, int]:
    """The overhead of a task, how many were done, and attempts that were not the first."""
    over: list[float] = []
    done = again = 0
    for row in reader.bags():
        seconds = drawn[row.id - 1][1]
        order = _order(seconds)
        for one in reader.every_task(BagId(row.id)):
            done += one.outcome == 0
            again += one.attempt > 1
            over.append(one.wall_seconds - order[one.task])
        again += sum(1 for _ in reader.every_attempt(BagId(row.id)))
    return max(0.0, median(over)), done, again


def _boots(joined: Sequence[MachineRow]) -> tuple[float, float]:
    """Seconds that a machine boots alone, and how much longer for each that boots with it."""
    beside = Counter(one.requested for one in joined)
    points = [
        (beside[one.requested] - 1, (one.joined or 0) - (one.requested or 0)) for one in joined
    ]
    if len({count for count, _ in points}) < 2:
        return fmean(seconds for _, seconds in points), 0.0
    slope, alone = np.polyfit(*zip(*points, strict=True), 1)
    return float(alone), max(0.0, float(slope))


def _leave(reader: Reader, number: BagId, rows: Sequence[MachineRow]) -> float:
    """Seconds from the word to end until a machine is gone, in the mean."""
    pool = StandingPool(before_first(number))
    told: dict[MachineId, float] = {}
    for _, at, packed in reader.events(number):
        for one in pool.handle(pool_journal.event_from(msgpack.unpackb(packed)), at):
            if isinstance(one, StopMachine):
                told[one.machine] = at
    return fmean((one.gone or 0.0) - told[one.id] for one in rows if one.id in told)


def _handover(
    reader: Reader,
    joined: Mapping[MachineId, float],
    drawn: Sequence[tuple[float, Generated]],
) -> float:
    """Seconds until a task begins that could, on a machine that was free, in the mean.

    The longest tenth is left out: such machines were free, but were to end.
    """
    spans: list[tuple[float, float, MachineId, float]] = []  # begin, end, machine, ready
    for row in reader.bags():
        graph = neighbours(drawn[row.id - 1][1].graph)
        began = json.loads(row.summary)["began"]
        of_task = {one.task: one for one in reader.every_task(BagId(row.id))}
        ends = {task: began + one.started + one.wall_seconds for task, one in of_task.items()}
        spans += [
            (began + one.started, ends[task], one.machine,
             max((ends[parent] for parent in graph.parents[task]), default=began))
            for task, one in of_task.items()
        ]  # fmt: skip
    free = dict(joined)
    waits = []
    for begin, end, machine, ready in sorted(spans):
        waits.append(max(0.0, begin - max(ready, free[machine])))
        free[machine] = end
    return fmean(sorted(waits)[: max(1, len(waits) * 9 // 10)])


def _order(one: Generated) -> Sequence[float]:
    return one.seconds
