"""The protocol of placement policies, and what they see of a pool."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from bats.master.brain.placement.arrived_workflow import Present


class Pick(NamedTuple):
    """A task that is to start on a place."""

    workflow: Present
    task: int
    place: int


class Busy(NamedTuple):
    """A place that runs a task, and when that is held to end."""

    place: int
    workflow: Present
    task: int
    until: float


class PoolView(Protocol):
    """A pool as its policy sees it. It is to date whenever a policy goes on after a pick."""

    @property
    def now(self) -> float: ...

    @property
    def rng(self) -> random.Random: ...

    @property
    def present(self) -> Sequence[Present]:
        """In the order of arrival."""
        ...

    @property
    def free(self) -> int:
        """Places without a task."""
        ...

    @property
    def speeds(self) -> Sequence[float]:
        """Of each place."""
        ...

    def fastest(self) -> int:
        """The fastest free place; there must be one."""
        ...

    def is_free(self, place: int) -> bool: ...

    def alike(self) -> bool:
        """True if all free places have one speed."""
        ...

    def busy(self) -> Iterator[Busy]: ...


class Placer(Protocol):
    """Told of arrivals and ends, it fills free places. One belongs to one pool."""

    def arrived(self, pool: PoolView) -> None:
        """Hear that the last of `pool.present` is new."""

    def task_ended(self, workflow: Present, seconds: float, estimate: float) -> None:
        """Hear that a task held to take `estimate` has taken `seconds`, both at speed 1."""

    def workflow_ended(self, workflow: Present, now: float) -> None: ...

    def place(self, pool: PoolView) -> Iterator[Pick]:
        """Each pick is carried out before the next is asked for."""
        ...


class Forgetful:
    """A policy that looks at what is there and at nothing that has been."""

    def arrived(self, pool: PoolView) -> None: ...

    def task_ended(self, workflow: Present, seconds: float, estimate: float) -> None: ...

    def workflow_ended(self, workflow: Present, now: float) -> None: ...
