"""The way to learn runtimes before money is committed (T §2.2.1, T ch. 3).

Decoupled sampling replicates a few tasks on every cluster and shares the rest of the sample out;
lines between clusters tell of each what was learned on others. Implicit sampling runs a sample on
each cluster.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from bats.common.billing import charge
from bats.master.brain.learning.conversion import Learned, Observed, by_means, by_regression
from bats.master.brain.views.readonly import ClusterView, RunView

SHARE_OF_BUDGET: Final = 5
"""A sample takes at most one part in so many of a budget that is known beforehand."""

SHARE_OF_BAG: Final = 5
"""One task in so many, at the most, is begun for the sample beyond paid time."""

REPLICATED_SHARE: Final = 20
"""One task in so many is run on every kind."""

START_SECONDS: Final = 120.0
"""The time that a machine may be charged for before its first task, as far as unknown."""


class Common(NamedTuple):
    """Tasks of the sample that run on every cluster."""

    tasks: int
    drawn: bool  # beforehand; if not, those are taken that end first


class Sampler(Protocol):
    """The policy of how runtimes are learned: what runs on which machines, what follows from it.

    One of your own is a subclass that says how many machines it takes; the rest is as usual.
    """

    blind: bool = False
    """True if nothing is learned beforehand, so that no provisioner can plan."""

    shared: bool = False
    """True if the clusters share one sample: what one of them still runs tells of all."""

    def machines(
        self, run: RunView, clusters: Sequence[ClusterView], size: int
    ) -> Sequence[int] | None:
        """The number of machines of each of these clusters, for a sample of so many tasks.

        None: one of each, as far as the budget pays for the sample.
        """
        ...

    def common(self, run: RunView, size: int) -> Common:
        return Common(0, drawn=False)

    def tasks_on(self, run: RunView, cluster: ClusterView, size: int) -> int | None:
        """The tasks that must have ended there; None: enough of all to plan with will do."""
        return None

    def learn(self, observed: Mapping[int, Observed]) -> Learned:
        """The knowledge from runtimes, by the numbers of the clusters that they stem from."""
        return by_means({k: tuple(here.values()) for k, here in observed.items()})


class Regression(Sampler):
    """Few tasks on every cluster, lines between clusters."""

    shared = True

    def machines(
        self, run: RunView, clusters: Sequence[ClusterView], size: int
    ) -> Sequence[int] | None:
        """The number of machines that the user allows (iw in the paper), with less money fewer."""
        settings = run.settings
        most = min(settings.initial_workers, size)
        for iw in (most, min(4, most), 1):
            workers = [
                min(-(-iw // c.offering.slots), c.offering.max_machines, len(run.tasks))
                for c in clusters
            ]
            cost = sum(
                count * charge(c.offering, c.offering.lease_seconds or START_SECONDS)
                for c, count in zip(clusters, workers, strict=True)
            )
            if _too_many(run, workers):
                continue
            if settings.budget is None or cost * SHARE_OF_BUDGET <= settings.budget:
                return workers
        return None

    def common(self, run: RunView, size: int) -> Common:
        """Tasks to run on every kind; of a small bag the first to end: they are the short ones."""
        if sum(c.startable for c in run.clusters) < 2:
            return Common(0, drawn=False)
        count = min(run.settings.replicated, size)
        of_small = len(run.tasks) // REPLICATED_SHARE
        if run.provisioner.learns_on and of_small < count:
            return Common(max(1, of_small), drawn=False)
        return Common(count, drawn=True)

    def learn(self, observed: Mapping[int, Observed]) -> Learned:
        return by_regression(observed) if observed else super().learn(observed)


class Implicit(Sampler):
    """A full sample on every cluster."""

    def machines(
        self, run: RunView, clusters: Sequence[ClusterView], size: int
    ) -> Sequence[int] | None:
        each = min(max(1, len(run.tasks) // 10), size)
        return [min(each, c.offering.max_machines) for c in clusters]

    def tasks_on(self, run: RunView, cluster: ClusterView, size: int) -> int | None:
        return min(size, sum(m.slots for m in run.pool.living[cluster.index].values()))


class NoSample(Sampler):
    """A sampler that learns nothing: every machine from the start, first come first served."""

    blind = True

    def machines(
        self,
        run: RunView,
        clusters: Sequence[ClusterView],
        size: int,
    ) -> Sequence[int] | None:
        return [0] * len(clusters)


def _too_many(run: RunView, workers: Sequence[int]) -> bool:
    """True if their first tasks are too much of the bag to learn which kind is best for it."""
    to_learn = run.provisioner.learns_on and len(workers) > 1
    return to_learn and max(workers) > 1 and sum(workers) * SHARE_OF_BAG > len(run.tasks)
