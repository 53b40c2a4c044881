"""`bats pools`: how many machines each pool has and wants, what they cost, and why."""

import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bats.common.billing import charge_atus
from bats.common.money import Money
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetPools
from bats.master.brain.books.machine import MachineState
from bats.master.brain.household.cap import UTC_NAME, Cap, Period
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.queries.question import Question

if TYPE_CHECKING:
    from bats.master.brain.pools.standing_pool import StandingPool


@takes(GetPools)
async def pools(question: Question, _: GetPools) -> replies.Pools:
    if question.live is not None:
        found: Iterable[StandingPool] = question.live.bags.pools.kept()
    else:
        found = (await question.read(replayed_pools)).values()
    return {"pools": lines(found)}


def lines(found: "Iterable[StandingPool]") -> list[replies.PoolLine]:
    """Those that stand; of those that the file has no more, while they have machines."""
    now = time.time()
    return [line(one, now) for one in found if one.rules.most or one.alive()]


def line(pool: "StandingPool", now: float) -> replies.PoolLine:
    rules = pool.rules
    entered = sum(charge_atus(one.offering, one.entered_until(now)) for one in pool.alive())
    spent = Money(pool.ledger.settled + entered)
    return {
        "name": rules.name,
        "scaler": rules.scaler,
        "release": rules.release,
        "interval_seconds": rules.interval_seconds,
        "least": rules.least,
        "most": rules.most,
        "demand": pool.demand,
        "supply": pool.places,
        "kinds": [_kind(pool, k, now) for k in range(len(pool.kinds))],
        "currency": rules.currency,
        "spent": spent,
        "reserved": Money(max(0, pool.committed - spent)),
        "limits": _limits(pool, now),
        "why": pool.why,
        "decided_at": pool.decided_at,
        "moments": [
            {"at": at, "demand": demand, "supply": supply, "busy": busy}
            for at, demand, supply, busy in pool.moments
        ],
    }


def _kind(pool: "StandingPool", k: int, now: float) -> replies.PoolKind:
    kind, own = pool.kinds[k], [one for one in pool.alive() if one.cluster == k]
    there = [one for one in own if one.counts and one.takes and one.state is MachineState.UP]
    starting = sum(one.boots for one in own)
    idle = sum(one.idle_since is not None for one in there)
    return {
        "offering": str(kind.offering.name),
        "most": kind.offering.max_machines,
        "slots": kind.offering.slots,
        "wanted": pool.target[k] if k < len(pool.target) else 0,
        "starting": starting,
        "working": len(there) - idle,
        "idle": idle,
        "leaving": len(own) - starting - len(there),
        "trouble": kind.reason if kind.rests_until > now else "",
    }


def _limits(pool: "StandingPool", now: float) -> list[replies.PoolLimit]:
    rules = pool.rules
    told: list[replies.PoolLimit] = []
    if rules.per_interval is not None:
        told.append({"period": "interval", "amount": rules.per_interval,
                     "committed": pool.rate, "until": None})  # fmt: skip
    for period, amount in ((Period.DAY, rules.per_day), (Period.MONTH, rules.per_month)):
        if amount is not None:
            cap = Cap(amount, period, rules.payer, rules.zone or UTC_NAME, rules.currency)
            since, until = cap.window(now)
            told.append(
                {
                    "period": period.value,
                    "amount": amount,
                    "committed": pool.committed_since(since),
                    "until": None if math.isinf(until) else until,
                }
            )
    return told
