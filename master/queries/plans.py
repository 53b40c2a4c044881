"""Plans of a bag: what is offered, what stands behind it, what was decided."""

import asyncio
from collections.abc import Sequence
from typing import cast

from bats.common.errors import UsageError
from bats.common.money import UNITS, Money
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import Explain, GetDecisions, GetFrontier, GetSchedules
from bats.master.brain.planning.schedules import pick
from bats.master.brain.unreliable import tradeoff
from bats.master.brain.unreliable.estimator import Estimate
from bats.master.brain.unreliable.preference import NAMES, PRODUCT, chosen, utility
from bats.master.brain.unreliable.weighing import KnownPools
from bats.master.plain_data import plain
from bats.master.queries.bags import status_at_work, status_of
from bats.master.queries.question import Question


@takes(GetSchedules)
async def schedules(question: Question, want: GetSchedules) -> replies.Schedules:
    at_work = await question.load(want.bag)
    bounded = await at_work.predictions.bounded()
    run = at_work.engine.headline()
    return {
        "bag": at_work.id,
        "phase": run.phase.value,
        "chosen": run.chosen,
        "balanced": pick(run.offered, "balanced").name if run.offered else "",
        "currency": at_work.bag.settings.currency,
        "clusters": [one.name for one in at_work.bag.settings.offerings],
        "committed": run.chosen_committed if run.chosen else at_work.engine.spent,
        "at": (run.chosen_at if run.chosen else run.now) - run.began_at,
        "tasks": sum(run.counts),
        "open": run.open,
        "schedules": plain(bounded),
    }


@takes(Explain)
async def explain(question: Question, want: Explain) -> replies.Explanation:
    """The numbers behind the plan: what the sample said, what was chosen, what is expected."""
    at_work = await question.load(want.bag)
    numbers = plain(at_work.engine.explain())
    told = status_at_work(at_work)
    if question.live is None:  # what the last master told of it stays
        told = {**told, **await status_of(question, at_work.id)}
    return cast("replies.Explanation", {**told, **numbers})


@takes(GetDecisions)
async def decisions(question: Question, want: GetDecisions) -> replies.Decisions:
    number = await question.bag(want.bag)
    rows = await question.read(lambda reader: reader.decisions(number))
    found: list[replies.Decision] = [
        {"number": k, "time": row.time, "words": row.words} for k, row in enumerate(rows)
    ]
    return {"bag": number, "decisions": found[want.since :]}


@takes(GetFrontier)
async def frontier(question: Question, want: GetFrontier) -> replies.Frontier:
    if want.pick not in NAMES:
        try:
            utility(want.pick)
        except ValueError as error:
            raise UsageError(f"{error}; or name one of {', '.join(NAMES)}.") from None
    at_work = await question.load(want.bag)
    known = at_work.engine.known_pools()
    found = [] if known is None else await asyncio.to_thread(_frontier, known)
    best = chosen(
        found,
        want.pick,
        budget=None if want.budget is None else want.budget / UNITS,
        deadline_seconds=want.deadline_seconds,
    )
    return {
        **_frontier_told(known, found, best),
        "bag": at_work.id,
        "currency": at_work.bag.settings.currency,
        "current": at_work.engine.strategy(),
        "may_change": question.live is not None and not at_work.engine.over,
    }


def foreseen(known: KnownPools, pick: str, currency: str) -> replies.Frontier:
    """The strategies for a bag that has not begun, the best by a name or else by their product."""
    found = _frontier(known)
    best = chosen(found, pick if pick in NAMES else PRODUCT)
    return {**_frontier_told(known, found, best), "currency": currency}


def _frontier_told(
    known: KnownPools | None, found: Sequence[Estimate], best: Estimate | None
) -> replies.Frontier:
    """The strategies found, of a bag that has no number and does not run."""
    told: replies.Frontier = {
        "bag": 0,
        "currency": "",
        "tasks": 0,
        "machines": 0,
        "reliability": 0.0,
        "mean_seconds": 0.0,
        "chosen": "",
        "current": "",
        "may_change": False,
        "strategies": [],
    }
    if known is None:
        return told
    world = known.world
    return {
        **told,
        "tasks": world.tasks,
        "machines": world.machines,
        "reliability": world.unreliable.returns,
        "mean_seconds": world.T_ur,
        "chosen": "" if best is None else known.written(best.strategy),
        "strategies": [_told(one, known) for one in found],
    }


def _frontier(known: KnownPools) -> list[Estimate]:
    return tradeoff.frontier(known.world, known.M_r_most)


def _told(one: Estimate, known: KnownPools) -> replies.Strategy:
    return {
        "name": known.written(one.strategy),
        "makespan_seconds": one.seconds,
        "makespan_spread": one.seconds_spread,
        "cost": Money(round(one.cost * UNITS)),
        "cost_spread": Money(round(one.cost_spread * UNITS)),
        "reliable_machines": one.reliable_used,
    }
