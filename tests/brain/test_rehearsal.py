"""Rehearse takes the target that a second-by-second run of the interval finds best."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from bats.common.money import Money
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placer import Busy
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.scaling.elastic_pool import Machine
from bats.master.brain.scaling.rehearsal import Rehearse
from bats.master.brain.scaling.scaler import Kind

NOW = 100.0
BOOT = 3.0


@dataclass
class Shown:
    """A pool of which some machines run, some idle and some boot."""

    present: Sequence[Present]
    running: list[tuple[Present, int, float]] = field(default_factory=list)
    idle: int = 0
    booting: Sequence[float] = ()  # seconds ago that they were hired
    most: int = 8
    now: float = NOW
    interval: float = 10.0
    budget: Money | None = None
    ended: Sequence[int] = (0,)
    boot_seconds: float = BOOT

    @property
    def kinds(self) -> Sequence[Kind]:
        return [Kind("VM", self.most)]

    @property
    def supply(self) -> Sequence[int]:
        return [len(list(self.machines()))]

    @property
    def demand(self) -> int:
        return sum(one.eligible for one in self.present)

    def machines(self) -> Iterator[Machine]:
        for number in range(len(self.running)):
            yield Machine(number, 0, 0.0, ready=True)
        for number in range(self.idle):
            yield Machine(100 + number, 0, 0.0, ready=True, idle_since=0.0)
        for number, ago in enumerate(self.booting):
            yield Machine(200 + number, 0, NOW - ago)

    def busy(self) -> Iterator[Busy]:
        for place, (workflow, task, until) in enumerate(self.running):
            yield Busy(place, workflow, task, until)


def workflow(seconds: Sequence[float], edges: Sequence[tuple[int, int]], number: int) -> Present:
    near = neighbours(graph([Step("task", len(seconds))], edges))
    return Present(number, Workflow(near, seconds), 0.0)


def drawn(rng: random.Random) -> Shown:
    present, running = [], []
    for number in range(rng.randrange(1, 4)):
        tasks = rng.randrange(1, 9)
        edges = [(p, c) for c in range(tasks) for p in range(c) if rng.random() < 0.3]
        one = workflow([rng.choice([1.0, 2.0, 5.0, 30.0]) for _ in range(tasks)], edges, number)
        for task in rng.sample(one.waiting_tasks(), min(one.waiting, rng.randrange(3))):
            one.start(task, 0.0)
            running.append((one, task, NOW + rng.randrange(1, 15)))
        present.append(one)
    return Shown(present, running, rng.randrange(3), [1.0] * rng.randrange(3), most=14)


def loss_by_the_second(shown: Shown, target: int, waiting: float) -> float:
    """All tasks and machines are looked at in every second."""
    ends = {(one.number, task): until - NOW for one, task, until in shown.running}
    running = dict.fromkeys(ends, True)
    boots = [BOOT - ago for ago in shown.booting]
    kept = len(shown.running) + len(boots)
    free = min(shown.idle, target - kept)
    boots += [BOOT] * max(0, target - kept - shown.idle)
    lost = 0.0
    for second in range(int(2 * shown.interval + BOOT)):
        for key in [one for one in running if ends[one] <= second]:
            del running[key]
            free += 1
        free += sum(at <= second for at in boots)
        boots = [at for at in boots if at > second]
        ready = [
            (one.number, task, one.workflow.estimates[task])
            for one in shown.present
            for task in sorted(one.near.order, key=one.breadth)
            if (one.number, task) not in ends
            and all(ends.get((one.number, p), 99.0) <= second for p in one.near.parents[task])
        ]
        if second in (shown.interval, 2 * shown.interval):
            free = max(0, min(free, len(ready) - len(boots)))
            there = len(running) + free + len(boots)
            missing = min(len(ready) - free - len(boots), shown.most - there)
            boots += [second + BOOT] * max(0, missing)
        while free and ready:
            number, task, takes = ready.pop(0)
            ends[number, task] = second + takes
            running[number, task] = True
            free -= 1
        begun = sum(number == one.number for one in shown.present for number, _ in ends)
        lost += waiting * (sum(one.unfinished for one in shown.present) - begun)
        lost += free
    return lost


@pytest.mark.parametrize("seed", range(80))
def test_no_other_target_loses_less_second_by_second(seed: int):
    rng = random.Random(seed)
    shown = drawn(rng)
    kept = len(shown.running) + len(shown.booting)
    waiting = rng.choice([1.0, 3.0, 20.0])
    losses = {
        target: loss_by_the_second(shown, target, waiting)
        for target in range(min(kept, shown.most), shown.most + 1)
    }
    if kept <= shown.most:
        best = min(losses, key=lambda one: (losses[one], one))
        assert Rehearse(waiting).want(shown) == [best]


def test_machines_are_hired_for_tasks_that_wait_longer_than_a_boot():
    bag = workflow([30.0] * 4, [], 1)
    assert Rehearse().want(Shown([bag], boot_seconds=3.0)) == [4]
    assert Rehearse().want(Shown([bag], boot_seconds=60.0)) == [4]  # longer than the interval
    assert Rehearse().want(Shown([bag], most=2, boot_seconds=3.0)) == [2]


def test_short_tasks_follow_one_another_on_few_machines():
    bag = workflow([0.1] * 6, [], 1)
    assert Rehearse().want(Shown([bag], idle=6, boot_seconds=0.0)) == [1]


def test_of_many_machines_not_every_number_is_tried():
    bag = workflow([30.0] * 700, [], 1)
    assert Rehearse().want(Shown([bag], most=1000, boot_seconds=1.0)) == [700]


def test_a_task_on_which_many_wait_is_begun():
    wide = workflow([1.0] + [50.0] * 300, [(0, k) for k in range(1, 301)], 1)
    assert Rehearse().want(Shown([wide], boot_seconds=9.0)) != [0]
