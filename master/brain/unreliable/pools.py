"""Two pools of machines: an unreliable one, whose tasks may never return, and a reliable one.

After O. Agmon Ben-Yehuda et al., ExPERT: Pareto-Efficient Task Replication on Grids and Clouds,
§2.2 and §4.3. An instance that is sent to the unreliable pool returns after t with
F(t) = F_s(t)·γ (1): F_s is of the instances that return, γ the share of those. Beyond the paper, a
machine may be lost at a hazard per hour, which is told at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from bats.common.records import dataclass
from bats.master.brain.arrays import np

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

NEVER: Final = math.inf

ALIVE, LOST, SILENT = 0, 1, 2
"""States of a machine after its instance: one that is lost or silent has to be replaced."""


class Billing(Enum):
    RESULTS = "results"  # the paper's: seconds of instances that returned, and of no others
    UPTIME = "uptime"  # real: ATUs that machines enter, whatever returns


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool: its turnaround times are samples, in ascending order, each as likely as any."""

    turnaround: tuple[float, ...]  # F_s
    price: float  # per machine and ATU
    atu_seconds: float = 1.0
    start_seconds: float = 0.0  # from asking for a machine to its first task; it is paid meanwhile
    reliability: float = 1.0  # γ
    hazard_per_hour: float = 0.0  # of a machine that works, to be lost, and that is told
    ending_seconds: float = 0.0  # from giving a silent machine up until it is gone; it is paid

    def __post_init__(self) -> None:
        if not self.turnaround or min(self.turnaround) <= 0:
            raise ValueError("a pool needs turnaround times, each longer than 0 s")
        if not 0 <= self.reliability <= 1:
            raise ValueError(f"a reliability is a share between 0 and 1, not {self.reliability}")

    @property
    def mean_seconds(self) -> float:
        """T_ur, T_r: the mean of the instances that return."""
        return float(np.mean(self.turnaround))

    @property
    def returns(self) -> float:
        """The share of instances that come back, however late: neither silent nor lost."""
        lasting = np.exp(-self.hazard_per_hour / 3600.0 * np.asarray(self.turnaround))
        return self.reliability * float(np.mean(lasting))

    def draw(self, rng: Generator, count: int) -> Fates:
        """The fates of so many instances, as they would be without any deadline."""
        sample = np.asarray(self.turnaround)
        back = sample[rng.integers(len(sample), size=count)]
        silent = np.zeros(count, dtype=bool)
        if self.reliability < 1:
            silent = rng.random(count) >= self.reliability
        lost = np.full(count, NEVER)
        if self.hazard_per_hour:
            lost = rng.exponential(3600.0 / self.hazard_per_hour, count)
        return Fates(np.where(silent | (lost <= back), NEVER, back), lost, silent)

    def rest(self, rng: Generator, elapsed: float, share: float) -> Fates:
        """The fate of an instance sent so long ago, `share` of whose like return, from then on."""
        sample = np.asarray(self.turnaround)
        longer = sample[sample > elapsed]
        to_come = share * len(longer) / len(sample)
        still = to_come + 1 - share
        if not still:  # it takes longer than any before it
            longer, to_come, still = np.array([elapsed + self.mean_seconds / 2]), 1.0, 1.0
        silent = bool(rng.random() * still >= to_come)
        lost = NEVER
        if self.hazard_per_hour:
            lost = elapsed + float(rng.exponential(3600.0 / self.hazard_per_hour))
        back = NEVER if silent else float(rng.choice(longer))
        back = NEVER if lost <= back else back
        return Fates(np.array([back]), np.array([lost]), np.array([silent]))

    def bill(self, seconds: Floats) -> Floats:
        """The price of machines that were up for so long, by ATUs entered; of nothing, nothing."""
        atus = np.ceil(seconds / self.atu_seconds * (1 - 1e-9))
        return np.where(seconds > 0, atus, 0.0) * self.price

    def paid_until(self, since: Floats, until: Floats) -> Floats:
        """The ends of the ATUs that machines up since then are in, at that time."""
        return since + np.ceil((until - since) / self.atu_seconds * (1 - 1e-9)) * self.atu_seconds

    @property
    def rate(self) -> float:
        """C: the price of a second."""
        return self.price / self.atu_seconds


class Fates(NamedTuple):
    """Seconds from the sending of instances on."""

    back: Floats  # until the result; NEVER
    lost: Floats  # until its machine is lost and that is told; NEVER
    silent: NDArray[np.bool_]  # its machine does not come back from it and nobody tells

    def by(self, deadline: Floats | float, ending_seconds: float) -> Instances:
        """The same with a deadline for each: later results are not taken.

        A machine that does not answer to that is in the way of another until it is gone.
        """
        back = np.where(self.back < deadline, self.back, NEVER)
        lost = (self.back == NEVER) & (self.lost < deadline)
        told = np.where(lost, self.lost, NEVER)
        given_up = deadline + np.where(self.silent, ending_seconds, 0.0)
        end = np.minimum(np.minimum(back, told), given_up)
        machine = np.where(lost, LOST, np.where(self.silent, SILENT, ALIVE)).astype(np.int8)
        return Instances(back, told, end, machine)


class Instances(NamedTuple):
    """Seconds from the sending of instances on, deadlines counted."""

    back: Floats
    told: Floats  # until it is told that nothing will come; NEVER if only the deadline tells
    end: Floats  # until its machine, or another in its place, may have the next
    machine: NDArray[np.int8]  # the state that it leaves its machine in


class Found(NamedTuple):
    """A machine as it is now."""

    up_seconds: float  # since when it is paid
    runs_seconds: float | None  # since its task was sent; None: it has none
    ready_seconds: float = 0.0  # until it can take one


@dataclass(frozen=True, slots=True)
class Situation:
    """The machines of both pools in the course of a bag."""

    unreliable: tuple[Found, ...]
    reliable: tuple[Found, ...]
    lately: float  # γ of what runs

    @property
    def running(self) -> int:
        return sum(one.runs_seconds is not None for one in (*self.unreliable, *self.reliable))


@dataclass(frozen=True, slots=True)
class World:
    """A bag and the pools that it may use."""

    tasks: int
    machines: int  # #ur: of the unreliable pool, held by replacing those that are lost
    unreliable: Pool
    reliable: Pool | None = None
    billing: Billing = Billing.RESULTS
    kills: bool = False  # running instances of a task that has a result are killed
    mean_seconds: float = 0.0  # T_ur, where it is not the mean of the turnaround times
    found: Situation | None = None  # when it is looked at in its course; `tasks` are those left

    def __post_init__(self) -> None:
        if self.tasks < 1 or self.machines < 1:
            raise ValueError("a world has tasks and unreliable machines, one of each at least")

    @property
    def T_ur(self) -> float:  # noqa: N802 (the paper's letter)
        return self.mean_seconds or self.unreliable.mean_seconds

    @property
    def throughput_deadline(self) -> float:
        """T = D of the throughput phase (§4.1): a few times the mean."""
        return 4 * self.T_ur

    def reliable_machines(self, M_r: float) -> int:
        """⌈M_r·#ur⌉, whatever floats make of it."""
        return 0 if self.reliable is None else int(np.ceil(M_r * self.machines * (1 - 1e-9)))

    def with_tasks(self, tasks: int) -> World:
        return replace(self, tasks=tasks)
