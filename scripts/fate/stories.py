"""Stories by chance: what is to be run, on what, and what befalls it."""

import math
import random
from dataclasses import dataclass, field, replace
from typing import Final

from bats.common.billing import first_atus
from bats.common.messages import TaskId
from bats.common.money import NOTHING, Money, money
from bats.common.offering import ClusterName, Offering
from fate.befalls import BEFALLS
from fate.kernel import Work

_MOST: Final = 6
_LONGEST_SECONDS: Final = 60.0
_OPEN: Final = 0.3  # the share of bags of one step to which tasks are added
_LENDING: Final = 0.25  # the share of stories whose bags leave each other paid time
_FADING: Final = 0.15  # the share of stories whose master speaks slowly, then not at all
_SHORT: Final = 0.15  # the share of stories whose provider is short of machines when they begin


@dataclass(frozen=True, slots=True)
class Errand:
    """A bag that a user wants to be run."""

    name: str
    at: float  # when it is submitted
    works: list[Work]
    budget: Money | None
    retries: int
    steps: tuple[int, ...]  # the tasks of each; one waits for all of the one before
    inputs: dict[str, bytes]
    batches: tuple[int, ...] = ()  # tasks of the last, which are added later; none: it is not open

    @property
    def tasks(self) -> int:
        return len(self.works)

    def parents(self, task: TaskId) -> range:
        """The tasks that must be done before this one begins."""
        before = first = 0
        for size in self.steps:
            if task < first + size:
                return range(before, first)
            before, first = first, first + size
        raise IndexError(task)


@dataclass(frozen=True, slots=True)
class Story:
    """The circumstances of one seed."""

    errands: list[Errand]
    offering: Offering
    shared: bool  # outputs are laid out on a disk that machines have as well
    cap_bytes: int | None  # the files that a task may leave
    remembers: bool  # the folders of machines can be read when they have ended
    cap: Money | None  # all bags together may cost so much, until the user lifts it
    befalls: list[tuple[float, str, float]] = field(default_factory=list)  # when, what, how long


def story_of(seed: int) -> Story:
    rng = random.Random(f"story {seed}")
    offering = _offering(rng)
    errands = [_errand(rng, f"bag {k}", offering) for k in range(rng.choice([1, 1, 1, 2, 3]))]
    later = random.Random(f"open {seed}")
    errands = [_opened(later, errand) for errand in errands]
    leaving = random.Random(f"lending {seed}")
    if leaves := leaving.random() < _LENDING:
        offering, errands = _leaving_paid_time(leaving)
    works = [work for errand in errands for work in errand.works]
    span = 30.0 + min(600.0, sum(work.seconds for work in works) / offering.max_machines)
    befalls = sorted(
        (rng.uniform(0.0, span), rng.choice(BEFALLS), rng.uniform(0.1, _LONGEST_SECONDS))
        for _ in range(rng.randint(0, _MOST))
    )
    early = random.Random(f"early {seed}")
    if early.random() < _SHORT:
        befalls.insert(0, (0.0, "provider_short", early.uniform(5.0, _LONGEST_SECONDS)))
    fading = random.Random(f"fading {seed}")
    if fading.random() < _FADING:
        befalls.append(
            (fading.uniform(0.0, span / 2), "last_words_late", fading.uniform(10.0, 120.0))
        )
        befalls.sort()
    cap_bytes = rng.choice([None, None, None, 500_000])
    shared = rng.random() < 0.4
    remembers = early.random() < 0.5
    cap = None if leaves else _cap(seed, errands, offering)
    return Story(errands, offering, shared, cap_bytes, remembers, cap, befalls)


def _leaving_paid_time(rng: random.Random) -> tuple[Offering, list[Errand]]:
    """Long ATUs, one long bag with money for few machines, and others that end in their first."""
    offering = replace(
        _offering(rng),
        price=money("0.06"),
        atu_seconds=rng.choice([200.0, 600.0, 3600.0]),
        max_machines=rng.randint(2, 5),
        slots=rng.choice([1, 1, 2]),
        boundary_seconds=rng.uniform(1.0, 15.0),
    )
    long = _errand(rng, "bag 0", offering, rng.randint(25, 45), rng.uniform(2.0, 8.0))
    work = sum(work.seconds for work in long.works)
    atus = math.ceil(work / offering.atu_seconds / offering.slots) + rng.randint(1, 3)
    long = replace(long, budget=Money(atus * offering.price))
    errands = [_opened(rng, long)]
    for k in range(1, rng.choice([2, 3, 3, 4])):
        errand = _errand(rng, f"bag {k}", offering, rng.randint(1, 5), rng.uniform(0.5, 5.0))
        errands.append(_opened(rng, replace(errand, at=rng.uniform(0.0, work / 4))))
    return offering, errands


def _cap(seed: int, errands: list[Errand], offering: Offering) -> Money | None:
    """A cap that some machines pass soon, others never."""
    rng = random.Random(f"cap {seed}")
    if offering.free or rng.random() < 0.6:
        return None
    work = sum(work.seconds for errand in errands for work in errand.works)
    atus = first_atus(offering) + work / offering.atu_seconds / offering.slots
    return Money(math.ceil(atus * rng.uniform(1.0, 3.0)) * offering.price)


def _errand(
    rng: random.Random, name: str, offering: Offering, tasks: int = 0, mean: float = 0.0
) -> Errand:
    tasks = tasks or rng.choice([1, 2, 3, 5, 8, 13, 21])
    mean = mean or math.exp(rng.uniform(math.log(0.02), math.log(90.0)))
    works = [_work(rng, mean) for _ in range(tasks)]
    budget: Money | None = None
    if not offering.free:
        atus = sum(work.seconds for work in works) * 3 / offering.atu_seconds + 60
        atus += 2 * offering.lease_seconds / offering.atu_seconds
        budget = Money(math.ceil(atus * rng.uniform(1.0, 4.0)) * offering.price)
    first = rng.randint(1, tasks - 1) if tasks > 1 and rng.random() < 0.3 else tasks
    steps = tuple(size for size in (first, tasks - first) if size)
    inputs = {
        f"in{k}": rng.randbytes(rng.choice([0, 100, 200_000]))
        for k in range(rng.choice([0, 0, 0, 1, 2]))
    }
    at = 0.0 if name.endswith("0") else rng.choice([0.0, rng.uniform(0.0, 100.0)])
    return Errand(name, at, works, budget, rng.randint(0, 2), steps, inputs)


def _opened(rng: random.Random, errand: Errand) -> Errand:
    """Some are open, and get many of their tasks, or all, in batches."""
    if len(errand.steps) > 1 or rng.random() > _OPEN:
        return errand
    batches: list[int] = []
    while sum(batches) < errand.tasks and rng.random() < 0.8:
        batches.append(rng.randint(1, errand.tasks - sum(batches)))
    return replace(errand, batches=tuple(batches))


def _work(rng: random.Random, mean: float) -> Work:
    return Work(
        seconds=rng.lognormvariate(math.log(mean), 0.7),
        printed=rng.choice([0, 0, 30, 5000]),
        left=rng.choice([-1, 0, 100, 300_000, 900_000]),
        fails=rng.choice([0] * 9 + [1]),
        stubborn=rng.random() < 0.1,
    )


def _offering(rng: random.Random) -> Offering:
    atu = rng.choice([1.0, 10.0, 60.0, 600.0, 3600.0])
    return Offering(
        ClusterName("rented"),
        NOTHING if rng.random() < 0.3 else money("0.06"),
        atu,
        max_machines=rng.randint(1, 4),
        slots=rng.randint(1, 3),
        boundary_seconds=min(2.0, atu / 2) if rng.random() < 0.8 else min(20.0, atu / 4),
        lease_seconds=rng.choice([0.0, 30.0, 300.0]),
    )
