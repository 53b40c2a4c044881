"""A pool: places that all workflows share, filled by a placement policy. A pure state machine."""

import random
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placer import Busy, Placer


class Arrived(NamedTuple):
    number: int
    workflow: Workflow


class Completed(NamedTuple):
    place: int


class Start(NamedTuple):
    """A command: run this task of this workflow there."""

    workflow: int
    task: int
    place: int


class _Running(NamedTuple):
    workflow: Present
    task: int
    began: float


class Pool:
    """Events and the time go in, starts come out; the same ones for the same seed."""

    def __init__(self, speeds: Sequence[float], placer: Placer, seed: int = 0) -> None:
        self.now = 0.0
        self.rng = random.Random(seed)
        self.speeds = speeds
        self.present: list[Present] = []
        self._placer = placer
        self._running: dict[int, _Running] = {}
        self._free = sorted((-speed, place) for place, speed in enumerate(speeds))

    def handle(self, event: Arrived | Completed, now: float) -> list[Start]:
        """Take in an event; several at one moment are handled one by one."""
        self.now = now
        if isinstance(event, Arrived):
            self.present.append(Present(event.number, event.workflow, now))
            self._placer.arrived(self)
        else:
            self._complete(event.place)
        return list(self._fill())

    # --- what a policy sees -----------------------------------------------------------------------

    @property
    def free(self) -> int:
        return len(self._free)

    def fastest(self) -> int:
        return self._free[0][1]

    def is_free(self, place: int) -> bool:
        return place not in self._running

    def alike(self) -> bool:
        return self._free[0][0] == self._free[-1][0]

    def busy(self) -> Iterator[Busy]:
        """A task that has run longer than was held is held to end now."""
        for place, (workflow, task, began) in self._running.items():
            ends = began + workflow.workflow.estimates[task] / self.speeds[place]
            yield Busy(place, workflow, task, max(ends, self.now))

    # ----------------------------------------------------------------------------------------------

    def _complete(self, place: int) -> None:
        workflow, task, began = self._running.pop(place)
        insort(self._free, (-self.speeds[place], place))
        workflow.end(task)
        seconds = (self.now - began) * self.speeds[place]
        self._placer.task_ended(workflow, seconds, workflow.workflow.estimates[task])
        if workflow.over:
            self.present.remove(workflow)
            self._placer.workflow_ended(workflow, self.now)

    def _fill(self) -> Iterator[Start]:
        if not self._free:
            return
        for workflow, task, place in self._placer.place(self):
            del self._free[bisect_left(self._free, (-self.speeds[place], place))]
            workflow.start(task, self.now)
            self._running[place] = _Running(workflow, task, self.now)
            yield Start(workflow.number, task, place)
            if not self._free:
                return
