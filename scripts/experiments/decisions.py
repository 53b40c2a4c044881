"""Decisions of a run, read off its journal; two runs side by side, and why they differ.

A simulated and a live run leave the same kind of journal, so both are read by the same replay.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bats.common.money import Money, as_decimal
from bats.master.brain.books.state import Run
from bats.master.brain.engine import Engine
from bats.master.brain.planning.mix import Mix
from bats.master.brain.protocol.commands import Decided, StopMachine
from bats.master.brain.protocol.events import Event, Gone
from bats.master.brain.protocol.settings import Settings


@dataclass(frozen=True, slots=True)
class Purchase:
    """A mix that was decided, and what it was decided from."""

    at: float  # seconds of the run
    mix: Mix
    tasks: int  # N_e: left when the time already paid for is used
    money: Money | None  # left
    means: tuple[float, ...]  # T_i, seconds


@dataclass(slots=True)
class Release:
    """Machines of a cluster that were told to leave at the end of the same ATU of theirs."""

    machines: int
    reason: str  # of the last of them
    left: int  # tasks not done then


@dataclass(slots=True)
class Decisions:
    purchases: list[Purchase] = field(default_factory=list)
    releases: dict[tuple[int, int], Release] = field(default_factory=dict)  # by cluster and ATU
    words: list[tuple[float, str]] = field(default_factory=list)
    stop_seconds: list[float] = field(
        default_factory=list
    )  # of those released, from being told to being gone
    ended_at: float = math.inf

    @property
    def mix(self) -> Mix:
        """The machines that were bought after the sample."""
        return self.purchases[0].mix if self.purchases else ()


def decisions(settings: Settings, journal: Iterable[tuple[float, Event]]) -> Decisions:
    engine = Engine(settings)
    run = engine.run
    found = Decisions()
    plan, told = None, {}
    for now, event in journal:
        if isinstance(event, Gone) and event.machine in told:
            found.stop_seconds.append(event.at - told.pop(event.machine))
        for command in engine.handle(event, now):
            if isinstance(command, Decided):
                found.words.append((now, command.words))
            if isinstance(command, StopMachine):
                machine = run.pool.machines[command.machine]
                if run.ended_at is None:
                    told[command.machine] = now
                    key = machine.cluster, machine.atus
                    before = found.releases[key].machines if key in found.releases else 0
                    found.releases[key] = Release(before + 1, command.reason, run.tasks.unfinished)
        if run.plan is not plan and run.plan is not None:
            plan = run.plan
            found.purchases.append(Purchase(now, plan.mix, plan.tasks, _left(run), _means(run)))
    if run.ended_at is not None:
        found.ended_at = run.ended_at - run.began_at
    return found


def _left(run: Run) -> Money | None:
    return run.ledger.left


def _means(run: Run) -> tuple[float, ...]:
    return tuple(c.mean_seconds for c in run.planning_clusters())


@dataclass(frozen=True, slots=True)
class Difference:
    """One decision in both runs; `why` is empty when they are the same."""

    what: str
    simulated: str
    live: str
    why: str


def compare(
    names: Sequence[str], simulated: Decisions, live: Decisions, minute_seconds: float
) -> list[Difference]:
    """The mix after the sample, each replan, each release, the end."""
    found = []
    for k in range(max(len(simulated.purchases), len(live.purchases))):
        one, other = (d.purchases[k] if k < len(d.purchases) else None for d in (simulated, live))
        what = "mix after the sample" if k == 0 else f"replan {k}"
        same = one is not None and other is not None and one.mix == other.mix
        why = "" if same else _why(one, other, minute_seconds)
        found.append(
            Difference(what, _shown(one, minute_seconds), _shown(other, minute_seconds), why)
        )
    for key in sorted({*simulated.releases, *live.releases}):
        gone, left = simulated.releases.get(key), live.releases.get(key)
        same_count = gone is not None and left is not None and gone.machines == left.machines
        found.append(
            Difference(
                f"{names[key[0]]} released in ATU {key[1]}",
                _released(gone),
                _released(left),
                "" if same_count else _why_released(gone, left),
            )
        )
    return found


def _released(release: Release | None) -> str:
    return f"{release.machines}: {release.reason}" if release else "none"


def _why_released(one: Release | None, other: Release | None) -> str:
    """Who is released is decided machine by machine, from the tasks and the money left then."""
    if one and other:
        return f"{one.left} tasks not done then, against {other.left}"
    there = one or other
    assert there is not None
    return f"only there, with {there.left} tasks not done"


def _shown(purchase: Purchase | None, minute: float) -> str:
    if purchase is None:
        return "none"
    at = f"{purchase.at / minute:.0f} min"
    return f"{' + '.join(map(str, purchase.mix))} for {purchase.tasks} tasks at {at}"


def _why(one: Purchase | None, other: Purchase | None, minute: float) -> str:
    """The formula is the same, so its inputs are not: those that differ."""
    if one is None or other is None:
        there = one or other
        assert there is not None
        return f"only there N_e was above N_p ({there.tasks} tasks left, {_dollars(there.money)})"
    inputs = []
    if one.tasks != other.tasks:
        inputs.append(f"N_e {one.tasks} against {other.tasks}")
    if one.money != other.money:
        inputs.append(f"money {_dollars(one.money)} against {_dollars(other.money)}")
    for k, (t, u) in enumerate(zip(one.means, other.means, strict=True)):
        if abs(t - u) > 0.0005 * t:
            inputs.append(f"T_{k} {t / minute:.2f} against {u / minute:.2f} min")
    return "; ".join(inputs)


def _dollars(amount: Money | None) -> str:
    return "no limit" if amount is None else f"${as_decimal(amount):.2f}"
