"""A bag run live by its user, beside simulated twins of it.

Twins have the same bag, offerings and budget, and are given what was measured: how long machines
took to start and to stop, and how much more than its own time a task took, from its order to its
result at the master. By chance alone two runs of a bag may differ by a half: by which task is
begun last, and where. So there are several twins, which differ in the seed of the engine, a bag may
be run live more than once, and the median of the one is held against the median of the other.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Final

from figures import Report
from studies.world_account import Account, Fate, account

from bats.common.messages import TaskId
from bats.common.money import Money, as_decimal
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import Cause, Gone
from bats.master.simulate.driver import History

from . import lab, user
from .decisions import decisions
from .told import Cell
from .twin import Runtimes, Starts, Twin, starts, twin

TWINS: Final = 20
LONGER: Final = 1.25  # a makespan may be so many times its twins'

WORDS: Final = (
    f"The twins ({TWINS} seeds) have the same bag, offerings and budget and are given what was "
    "measured; the ratio is that of the live makespan to the median of theirs. The bill is by the "
    "uptimes that were noted where the machines ran. Stopped is the share of paid time of work "
    "that was stopped and had to be redone."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A user's wish, and how long each task takes on a machine of each kind."""

    words: Callable[[Path], Sequence[str]]
    clouds_file: str
    budget: Money
    seconds: Runtimes


@dataclass(frozen=True, slots=True)
class Pair:
    ran: user.Ran
    measured: Starts
    overhead: float  # seconds of a task, in the median: to the machine, beginning, and back
    twins: list[Twin]
    seen: Account

    @property
    def live(self) -> lab.Live:
        return self.ran.live

    @property
    def within(self) -> bool:
        """The budget, by the master's books and by the uptimes noted where the machines ran."""
        return max(self.live.account.view.spent, self.ran.bill) <= self.ran.budget

    @property
    def expected(self) -> float:
        """The twins' makespan, in the median of those that do all tasks."""
        return median([one.seconds for one in self.twins if one.complete] or [float("inf")])

    @property
    def ratio(self) -> float:
        return self.live.seconds / self.expected

    @property
    def stopped(self) -> float:
        """The share of paid time that went into work which was stopped and had to be redone."""
        return self.seen.ran(Fate.STOPPED) / self.seen.paid if self.seen.paid else 0.0

    @property
    def expired(self) -> int:
        """Machines that ended with their lease."""
        return sum(isinstance(e, Gone) and e.cause is Cause.EXPIRED for _, e in self.live.journal)


def pair(asked: Asked, *, longest_seconds: float, again: int) -> Pair:
    ran = user.run(
        asked.words,
        asked.clouds_file,
        asked.budget,
        longest_seconds=longest_seconds,
        again=again,
    )
    live = ran.live
    measured = starts(live, decisions(live.settings, live.journal))
    seen = world_account(live)
    overhead = median(
        [
            attempt.ended - attempt.begun - asked.seconds(attempt.task, machine.cluster)
            for machine in seen.machines
            for attempt in machine.attempts
            if attempt.fate is Fate.DONE
        ]
        or [0.0]
    )

    def runtimes(task: TaskId, cluster: int) -> float:
        return asked.seconds(task, cluster) + overhead

    first = live.settings.seed
    twins = [
        twin(replace(live.settings, seed=seed), runtimes, measured)
        for seed in range(first, first + TWINS)
    ]
    return Pair(ran, measured, overhead, twins, seen)


def world_account(live: lab.Live) -> Account:
    """The account of every machine and attempt, by the journal and what was commanded."""
    engine, history = Engine(live.settings), History(live.journal)
    for now, event in live.journal:
        history.commands.append(engine.handle(event, now))
    return account(history, live.settings.offerings, live.journal[-1][0])


# --- judging and telling --------------------------------------------------------------------------


def judge(report: Report, alike: Sequence[Sequence[Pair]]) -> None:
    """`alike`: the runs of each bag."""
    pairs = [one for some in alike for one in some]
    complete = sum(one.live.complete for one in pairs)
    within = sum(one.within for one in pairs)
    slowest = round(max(median(one.ratio for one in some) for some in alike), 3)
    expired = sum(one.expired for one in pairs)
    bar = report.bar
    bar("live runs that do all tasks", len(pairs), complete, complete == len(pairs))
    bar("live runs within their budget", len(pairs), within, within == len(pairs))
    bar("longest makespan, live to simulated", LONGER, slowest, slowest <= LONGER)
    bar("machines that ended with their lease", 0, expired, expired == 0)


HEADS: Final = ("done", "budget $", "cost $", "bill $", "twins $", "seconds", "twins", "from", "to",
                "ratio", "twins done", "stopped")  # fmt: skip


def row(one: Pair) -> tuple[Cell, ...]:
    view = one.live.account.view
    times = sorted(twin.seconds for twin in one.twins if twin.complete)
    return (
        f"{view.done} of {view.total}",
        _dollars(one.ran.budget),
        _dollars(view.spent),
        _dollars(one.ran.bill),
        round(median(twin.dollars for twin in one.twins), 4),
        round(one.live.seconds, 1),
        round(one.expected, 1),
        round(times[0], 1) if times else None,
        round(times[-1], 1) if times else None,
        round(one.ratio, 2),
        f"{len(times)} of {len(one.twins)}",
        f"{one.stopped:.1%}",
    )


OVERHEADS: Final = ("task, more than asked, ms", "machine asked to charged, s",
                    "charged to joined, s", "stop to gone, s")  # fmt: skip


def overheads(one: Pair) -> tuple[Cell, ...]:
    return (
        round(1000 * one.overhead, 1),
        round(fmean(one.measured.delays or [0.0]), 3),
        round(one.measured.boot_seconds, 3),
        round(one.measured.stop_seconds, 3),
    )


ENDS: Final = ("machines", "reason of their end")


def ends(one: Pair) -> list[tuple[Cell, ...]]:
    why = Counter(machine.reason for machine in one.live.account.machines)
    return [(times, words) for words, times in why.most_common()]


def _dollars(amount: Money) -> float:
    return float(round(as_decimal(amount), 4))
