"""The two pools as a run knows them: what a strategy for its rest would come to."""

import math

from bats.common.money import UNITS
from bats.common.records import dataclass
from bats.master.brain.policies.two_pools import LATE, T_ur, most_reliable
from bats.master.brain.unreliable.notation import ALL
from bats.master.brain.unreliable.pools import Billing, Pool, World
from bats.master.brain.unreliable.reliability import reliability
from bats.master.brain.unreliable.strategy import Strategy
from bats.master.brain.views.readonly import ClusterView, RunView


@dataclass(frozen=True, slots=True)
class KnownPools:
    """Prices are in whole currency. `world` is of the tasks that are left, or of all of them."""

    world: World
    M_r_most: float


def known_pools(run: RunView) -> KnownPools | None:
    """None unless an unreliable pool is known by results of its own."""
    unreliable = [c for c in run.clusters if not c.offering.reliable]
    known = [c for c in unreliable if c.profile.count]
    if not known:
        return None
    machines = sum(c.offering.max_machines * c.offering.slots for c in unreliable)
    turnaround = tuple(sorted(t for c in known for t in c.profile.sample() if t > 0))
    as_of = run.now if run.tasks.unfinished else math.inf  # of a bag that is done all is known
    share = reliability(run.instances.sent(), as_of, LATE * T_ur(run)).ahead
    many = max(known, key=lambda c: (c.profile.count, -c.index))
    reliable = [c for c in run.clusters if c.offering.reliable and c.startable]
    best = min(reliable, key=_price_of_a_task, default=None)
    return KnownPools(
        World(
            run.tasks.unfinished or len(run.tasks),
            machines,
            _pool(many, turnaround, share),
            None if best is None else _pool(best, _turnaround(best, turnaround), 1.0),
            Billing.UPTIME,
            kills=True,
        ),
        most_reliable(run, Strategy(0, 0.0, 1.0, ALL)) / machines,
    )


def _pool(cluster: ClusterView, turnaround: tuple[float, ...], share: float) -> Pool:
    offering = cluster.offering
    price = offering.price / UNITS / offering.slots
    return Pool(turnaround, price, offering.atu_seconds, cluster.start_seconds, share)


def _turnaround(cluster: ClusterView, otherwise: tuple[float, ...]) -> tuple[float, ...]:
    """Of a kind that has done nothing yet, tasks take what they take elsewhere."""
    own = tuple(sorted(t for t in cluster.profile.sample() if t > 0))
    return own or otherwise


def _price_of_a_task(cluster: ClusterView) -> tuple[float, int]:
    offering = cluster.offering
    mean = cluster.profile.mean_done if cluster.profile.count else 1.0
    return offering.price / offering.atu_seconds / offering.slots * mean, cluster.index
