"""All that a report tells of one bag, gathered from the store; no master need run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace

import msgpack

from bats.common.messages import BagId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.bag import Bag, read_bag
from bats.master.brain.engine import Engine
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.predictors import predict
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.views.forecast import foretold
from bats.master.brain.views.told.facts import LawFacts
from bats.master.brain.views.told.view import RunView
from bats.master.queries.chronicle import Chronicle, tasks_from
from bats.master.queries.failure_causes import Failure, failures
from bats.master.queries.lent_machines import Loan, loans_of
from bats.master.queries.replay import Recorded, Replayed
from bats.master.report.common_shares import CommonShares
from bats.master.report.renting import (
    Rented,
    Shares,
    divided,
    of_others,
    rented,
    seconds_of,
    spending,
)
from bats.master.report.step_spans import StepSpan, spans
from bats.master.store.reader import ClusterRow, Reader
from bats.master.store.rows import DecisionRow


@dataclass(frozen=True, slots=True)
class Promise:
    """The schedule that was chosen, as it stood at that moment."""

    schedule: Schedule | None  # None: a rule of the user's own, which no offer stands for
    at: float
    committed: Money  # for machines until then, the paid time that was to come included
    done: int


@dataclass(frozen=True, slots=True)
class Account:
    bag: Bag
    view: RunView
    promise: Promise | None
    chronicle: Chronicle
    machines: list[Rented]
    spending: list[tuple[float, Money]]
    money: Shares  # billionths
    time: Shares  # milliseconds of a slot
    clusters: list[ClusterRow]
    machines_by_cluster: Counter[str]
    cost_by_cluster: Counter[str]
    failures: list[Failure]
    decisions: list[DecisionRow]
    steps: tuple[StepSpan, ...] = ()  # of a workflow
    law: LawFacts | None = None  # by which runtimes follow from parameters
    borrowed: Sequence[Loan] = ()  # machines that other bags paid for
    lent: Sequence[Loan] = ()  # to other bags
    shared: CommonShares = field(default_factory=CommonShares)
    shared_words: Sequence[str] = ()
    others: Sequence[Rented] = ()  # machines that served it and that it did not pay

    @property
    def served_by(self) -> list[Rented]:
        return [*self.machines, *self.others]


def account(reader: Reader, number: BagId) -> Account:
    """Replays the bag's journal: a second or so for 100,000 tasks."""
    bag = read_bag(reader, number)
    replayed = Replayed(bag, Recorded.of(bag, reader))
    engine = replayed.engine
    chronicle = Chronicle(number, bag.sweep.count)
    shared = CommonShares()
    promise = None
    for _, now, written in reader.events(number):
        event = msgpack.unpackb(written)
        heard = event_from(event, number)
        replayed.hear(heard, now)
        shared.see(engine, heard, now)
        run = engine.headline()
        chronicle.see(event, now, tasks_from(run.chosen_at, engine.strategy()))
        if promise is None and run.chosen:
            promise = Promise(None, run.chosen_at, run.chosen_committed, run.done)
            if not bag.settings.foresight:
                promise = replace(promise, schedule=_offer(engine))
        if promise is not None and promise.schedule is None and engine.foretold:
            told = [one for one in engine.foretold if one.name == run.chosen]
            promise = replace(promise, schedule=next(iter(told), None))
    replayed.set_right()
    seen = engine.view()
    shared.end(engine, seen.now if seen.ended_at is None else seen.ended_at)
    machines = rented(reader.machines(number), bag.settings.offerings, chronicle.machines, seen.now)
    others = of_others(bag.settings.offerings, chronicle.machines, seen.now)
    money, time = Shares(), Shares()
    cost_by_cluster: Counter[str] = Counter()
    for machine in machines:
        used = seconds_of(machine, chronicle.machines.get(machine.id))
        money, time = money + divided(machine.cost, used), time + used
        cost_by_cluster[machine.offering.name] += machine.cost
    return Account(
        bag,
        seen,
        promise,
        chronicle,
        machines,
        spending(machines),
        money,
        time,
        reader.clusters(number),
        Counter(str(one.offering.name) for one in (*machines, *others) if one.since is not None),
        cost_by_cluster,
        failures(reader, number),
        reader.decisions(number),
        _steps(reader, bag, seen),
        engine.explain().law,
        *loans_of(reader, number),
        shared,
        shared.words(engine),
        others,
    )


def _steps(reader: Reader, bag: Bag, seen: RunView) -> tuple[StepSpan, ...]:
    graph = bag.settings.graph
    return () if graph is None else spans(reader, bag.id, graph, seen.steps)


def _offer(engine: Engine) -> Schedule | None:
    """The promises that came with the schedule that has just been chosen."""
    name = engine.headline().chosen
    chosen = [one for one in engine.promised() if one.name == name]
    bounds = [predict(question) for question in engine.questions(chosen)]
    return next(iter(foretold(chosen, bounds)), None)
