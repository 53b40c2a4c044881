"""The two pools as a run knows them: what a strategy for its rest would come to."""

import math
from collections.abc import Iterator
from dataclasses import replace

from bats.common.messages import TaskId
from bats.common.money import UNITS
from bats.master.brain.learning.losses import Losses, reliability_with_earlier
from bats.master.brain.policies.two_pools import LATE, T_ur, grace_seconds, most_reliable
from bats.master.brain.unreliable.notation import ALL
from bats.master.brain.unreliable.pools import Billing, Found, Pool, Situation, World
from bats.master.brain.unreliable.reliability import reliability
from bats.master.brain.unreliable.strategy import Strategy
from bats.master.brain.unreliable.weighing import KnownPools, Weighing
from bats.master.brain.views.readonly import (
    ClusterView,
    MachineState,
    MachineView,
    RunView,
    TaskState,
)


def known_pools(run: RunView) -> KnownPools | None:
    """None unless an unreliable pool is known by results of its own."""
    return _known(run, in_course=False)


def weighing(run: RunView, rule: str) -> Weighing | None:
    """The question which strategy to go on with, as the bag stands; None if too little is known."""
    known = _known(run, in_course=True)
    if known is None or not run.tasks.unfinished:
        return None
    gone = run.spent() - sum(_entered(m, run.now) for m in run.pool.alive() if _goes_on(m))
    limit, due = run.ledger.limit, run.due_at
    return Weighing(
        known,
        rule,
        gone / UNITS,
        None if limit is None else (limit - gone) / UNITS,
        None if due is None else due - run.now,
        run.settings.seed,
    )


def _entered(machine: MachineView, now: float) -> int:
    """The price of the ATUs that a machine has entered."""
    offering, since = machine.offering, machine.charged_since
    if since is None:
        return 0
    return offering.price * max(1, math.ceil((now - since) / offering.atu_seconds * (1 - 1e-9)))


def _goes_on(machine: MachineView) -> bool:
    """True if it may have further tasks; what others have cost is as good as spent."""
    there = machine.state in (MachineState.UP, MachineState.REQUESTED)
    return there and not machine.draining


def _situation(run: RunView, lately: float) -> Situation:
    slots: tuple[list[Found], list[Found]] = ([], [])
    seen: set[TaskId] = set()
    for machine in run.pool.alive():
        if _goes_on(machine):
            slots[machine.offering.reliable].extend(_slots(run, machine, seen))
    return Situation(tuple(slots[False]), tuple(slots[True]), lately)


def _slots(run: RunView, machine: MachineView, seen: set[TaskId]) -> Iterator[Found]:
    """Of a task that runs twice the copy that is met second is as good as half done."""
    cluster = run.clusters[machine.cluster]
    up = 0.0 if machine.charged_since is None else run.now - machine.charged_since
    attempts = list(machine.active.values())
    for k in range(max(machine.slots, len(attempts))):
        if k >= len(attempts):
            starts = 0.0
            if machine.state is MachineState.REQUESTED:
                starts = max(0.0, machine.requested_at + cluster.start_seconds - run.now)
            yield Found(up, None, starts)
        elif attempts[k].task in seen or run.tasks.states[attempts[k].task] != TaskState.RUNNING:
            yield Found(up, None, T_ur(run) / 2)
        else:
            seen.add(attempts[k].task)
            yield Found(up, run.now - attempts[k].ordered_at)


def _known(run: RunView, *, in_course: bool) -> KnownPools | None:
    unreliable = [c for c in run.clusters if not c.offering.reliable]
    known = [c for c in unreliable if c.profile.count]
    if not known:
        return None
    machines = sum(c.offering.max_machines * c.offering.slots for c in unreliable)
    most = most_reliable(run, Strategy(0, 0.0, 1.0, ALL))
    if had := run.instances.effective_size:
        machines = max(1, min(machines, round(had)))
    turnaround = tuple(sorted(t for c in known for t in c.profile.sample() if t > 0))
    as_of = run.now if run.tasks.unfinished else math.inf  # of a bag that is done all is known
    sent = run.instances.sent()
    share = reliability(sent, as_of, LATE * T_ur(run))
    earlier = [Losses(*one) for one in run.settings.learned_losses if one]
    ahead = reliability_with_earlier(share.ahead, len(sent), earlier)
    lately = reliability_with_earlier(share.lately, len(sent), earlier)
    many = max(known, key=lambda c: (c.profile.count, -c.index))
    reliable = [c for c in run.clusters if c.offering.reliable and c.startable]
    best = min(reliable, key=_price_of_a_task, default=None)
    found = _situation(run, lately) if in_course else None
    each = 1 if best is None else best.offering.slots
    hazard = run.hazard(*(c.index for c in unreliable))
    unreliable_pool = replace(
        _pool(many, turnaround, ahead, 3600 * hazard),
        ending_seconds=grace_seconds(run) + many.stop_seconds,
    )
    return KnownPools(
        World(
            run.tasks.unfinished or len(run.tasks),
            max(machines, len(found.unreliable) if found else 0),
            unreliable_pool,
            None if best is None else _pool(best, _turnaround(best, turnaround), 1.0, 0.0),
            Billing.UPTIME,
            kills=True,
            found=found,
        ),
        most * each / machines,
        sum(c.offering.max_machines for c in unreliable),
        each,
    )


def losses(run: RunView, cluster: ClusterView) -> Losses:
    """The losses that the bag itself has seen of the machines of an offering."""
    instances = run.instances
    sent = instances.sent(cluster.index)
    as_of = run.now if run.tasks.unfinished else math.inf
    share = reliability(sent, as_of, LATE * T_ur(run))
    seen = [one for one in sent if as_of == math.inf or one.turnaround is not None]
    if as_of < math.inf:
        seen = [one for one in sent if one.at < as_of - LATE * T_ur(run)]
    return Losses(
        len(seen),
        sum(one.turnaround is not None for one in seen),
        instances.told_losses.get(cluster.index, 0),
        instances.busy_seconds.get(cluster.index, 0.0),
        share.known,
        share.lately,
        share.ahead,
        instances.effective_size or 0.0,
    )


def _pool(
    cluster: ClusterView, turnaround: tuple[float, ...], share: float, hazard_per_hour: float
) -> Pool:
    offering = cluster.offering
    price = offering.price / UNITS / offering.slots
    start = cluster.start_seconds
    return Pool(turnaround, price, offering.atu_seconds, start, share, hazard_per_hour)


def _turnaround(cluster: ClusterView, otherwise: tuple[float, ...]) -> tuple[float, ...]:
    """Of a kind that has done nothing yet, tasks take what they take elsewhere."""
    own = tuple(sorted(t for t in cluster.profile.sample() if t > 0))
    return own or otherwise


def _price_of_a_task(cluster: ClusterView) -> tuple[float, int]:
    offering = cluster.offering
    mean = cluster.profile.mean_done if cluster.profile.count else 1.0
    return offering.price / offering.atu_seconds / offering.slots * mean, cluster.index
