"""Three jobs at once on a pool: a bag, a chain, and a fork with a join.

The fork pays for machines of its own beside the pool. What machines cost is added up from their
rows and held against the ledger of each payer, to the last billionth.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bats.common.billing import charge
from bats.common.capacity.pool_rules import Pool, as_common
from bats.common.messages import BagId
from bats.common.money import NOTHING, Money, as_decimal, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.protocol.numbering import of_pool
from bats.master.client import connect
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.report.account import account
from bats.master.service.master import Master, serving
from bats.master.service.options import Options as MasterOptions
from bats.master.simulate.workflows.generated import Generated
from bats.master.store.reader import Reader

from .autoscaled import work_of
from .lab import state_folder
from .options import Options
from .told import Told

NODE: Final = Offering(
    ClusterName("node"), money("0.01"), 10.0, 4, boundary_seconds=0.5, lease_seconds=10.0
)
OWN: Final = Offering(
    ClusterName("own"), money("0.03"), 5.0, 2, boundary_seconds=0.5, lease_seconds=10.0
)
CAP: Final = money("0.40")
BUDGET: Final = money("0.60")
SOON: Final = 5.0
SECONDS: Final = 0.6  # of a task
TURN: Final = 1.0  # in which orders that were given before the change begin
_LIMIT_SECONDS: Final = 300.0
AFTER: Final = "backfilling"  # the first job takes all places that it can fill


@dataclass(slots=True)
class Seen:
    """What was seen while they ran."""

    most: Money = NOTHING  # that the pool had spent or reserved
    most_own: Money = NOTHING  # likewise the fork
    changed: float = 0.0  # when the placement was
    kept: str = ""  # the placement after a restart


def experiment(options: Options) -> Told:
    told = Told.of("pool", "Three jobs at once on a pool, and who pays what")
    jobs = {"bag": _bag(60 if options.quick else 100), "chain": _chain(8), "fork": _fork(10)}
    with state_folder() as state:
        seen = asyncio.run(_live(state, jobs))
        with Reader(state) as reader:
            _judge(told, reader, seen, {name: len(one.seconds) for name, one in jobs.items()})
    return told


async def _live(state: Path, jobs: dict[str, Generated]) -> Seen:
    seen = Seen()
    pool = Pool("lab", (NODE,), 4, interval_seconds=1.0, per_day=CAP)
    options = MasterOptions(state=state, offerings=(as_common(NODE),), pools=(pool,))
    works = [work_of(state, number, one, name) for number, (name, one) in enumerate(jobs.items())]
    async with serving(options) as master, connect(master.access) as client, _watched(master, seen):
        await client.submit(works[0])
        await client.submit(works[1])
        await client.submit(works[2], offerings=[as_common(NODE), OWN], budget=str(BUDGET))
        await asyncio.sleep(SOON)
        await client.ask("place", placement=AFTER)
        seen.changed = time.time()
        await asyncio.sleep(SOON)
    async with serving(options) as master, connect(master.access) as client, _watched(master, seen):
        seen.kept = (await client.ask("placement"))["placement"]
        async with asyncio.timeout(_LIMIT_SECONDS):
            for number in (1, 2, 3):
                await (await client.bag(number)).wait()
            (kept,) = master.bags.pools.kept()
            while kept.alive():  # noqa: ASYNC110 (nobody tells of it)
                await asyncio.sleep(0.1)
    return seen


@contextlib.asynccontextmanager
async def _watched(master: Master, seen: Seen) -> AsyncIterator[None]:
    async def watch() -> None:
        while True:
            (kept,) = master.bags.pools.kept()
            seen.most = max(seen.most, kept.committed)
            for runner in master.bags.running.values():
                seen.most_own = max(seen.most_own, runner.engine.committed)
            await asyncio.sleep(0.05)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


def _judge(told: Told, reader: Reader, seen: Seen, tasks: dict[str, int]) -> None:
    bar = told.report.bar
    on_pool: dict[str, list[float]] = {}
    pays: list[tuple[str, BagId, Offering, Money, Money]] = []
    (pool,), (number,) = replayed_pools(reader).values(), reader.pools()
    pays.append(("pool", number, NODE, pool.ledger.settled, pool.ledger.reserved))
    for row, (name, count) in zip(reader.bags(), tasks.items(), strict=True):
        rows = list(reader.every_task(BagId(row.id)))
        began = json.loads(row.summary)["began"]
        bar(f"{name}: tasks done", count, len(rows), len(rows) == count)
        first = began + min(one.started for one in rows) - row.created
        bar(f"{name}: first task begun after, s", SOON, round(first, 2), first <= SOON)
        on_pool[name] = sorted(began + one.started for one in rows if of_pool(one.machine))
        view = account(reader, BagId(row.id)).view
        pays.append((name, BagId(row.id), OWN, view.spent, view.reserved))
    others = sorted(on_pool["chain"] + on_pool["fork"])
    before = sum(at < seen.changed for at in others)
    after = sum(seen.changed + TURN < at < on_pool["bag"][-1] for at in others)
    bar("begun on the pool by chain and fork, before another placement", "> 0", before, before > 0)
    bar("begun by them after, while the bag has tasks to begin", 0, after, after == 0)
    bar("placement after a restart", AFTER, seen.kept, seen.kept == AFTER)
    for name, payer, kind, spent, reserved in pays:
        bills = sum(
            charge(kind, one.gone - one.charged_since)
            for one in reader.machines(payer)
            if one.gone is not None and one.charged_since is not None
        )
        told.report.figure(f"{name}: machines cost", None, float(as_decimal(Money(bills))), "$")
        bar(f"{name}: what its machines cost less its ledger, billionths", 0, bills - spent,
            bills == spent and not reserved)  # fmt: skip
    limits = (("pool's cap", CAP, seen.most), ("fork's budget", BUDGET, seen.most_own))
    for what, cap, most in limits:
        bar(f"the {what}: most that was committed, $", float(as_decimal(cap)),
            float(as_decimal(most)), 0 < most <= cap)  # fmt: skip


def _bag(tasks: int) -> Generated:
    return Generated(graph([Step("task", tasks)]), (SECONDS,) * tasks)


def _chain(tasks: int) -> Generated:
    steps = [Step(f"link {k}", 1) for k in range(tasks)]
    return Generated(graph(steps, [(k, k + 1) for k in range(tasks - 1)]), (SECONDS,) * tasks)


def _fork(wide: int) -> Generated:
    """One task, so many after it, one after all of them."""
    ways = [*((0, k) for k in range(1, wide + 1)), *((k, wide + 1) for k in range(1, wide + 1))]
    steps = [Step("fork", 1), Step("way", wide), Step("join", 1)]
    return Generated(graph(steps, ways), (SECONDS,) * (wide + 2))
