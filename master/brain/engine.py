"""The scheduler: a pure state machine. Events and the time go in, commands come out.

Same settings, same events, same commands, always; chance comes from the seed in the settings.
Two drivers use it alike: the live master (`master/service`) and the simulator (`master/simulate`).
"""

import math
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from statistics import pstdev

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, TaskId
from bats.common.money import Money
from bats.master.brain.books.choice import Share, Told
from bats.master.brain.books.digest import digest
from bats.master.brain.books.machine import MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Oracle, Run
from bats.master.brain.books.taskbook import Attempt, TaskState
from bats.master.brain.learning.losses import Losses
from bats.master.brain.learning.machine_speeds import Worked, slowness
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.policies.by_name import policies_of
from bats.master.brain.policies.known_pools import known_pools, losses
from bats.master.brain.prediction.predictors import Question
from bats.master.brain.protocol.commands import Command, Foretell, Weigh
from bats.master.brain.protocol.course import Course
from bats.master.brain.protocol.events import Allotted, Chosen, Event, Order
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.rules import capping, choosing, dispatch, pausing, replanning
from bats.master.brain.rules.by_event import RULES
from bats.master.brain.rules.following_up import follow_up
from bats.master.brain.rules.machines import borrowing, lending, shares
from bats.master.brain.unreliable.weighing import KnownPools
from bats.master.brain.views import forecast
from bats.master.brain.views.committed import committed_since
from bats.master.brain.views.known_runtimes import speeds
from bats.master.brain.views.order.bag_course import course, task_seconds
from bats.master.brain.views.told import facts, kept, needs, refusals, waits
from bats.master.brain.views.told.facts import (
    Explanation,
    Headline,
    MachineFacts,
    RunningTask,
    TaskFacts,
)
from bats.master.brain.views.told.view import RunView, view


class Engine:
    """One bag's scheduler."""

    def __init__(self, settings: Settings, oracle: Oracle | None = None) -> None:
        self.run = Run(settings, policies_of(settings), oracle)

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take in what happened and say what to do. All events go through here."""
        run = self.run
        run.now = max(now, run.now)
        out: list[Command] = []
        run.out = out
        less = type(event) is Allotted and capping.takes_away(run, event)
        RULES[type(event)](run, event)
        if run.begun and not less:  # what it will share with other bags is said before
            follow_up(run)
        run.tasks.look_at_order()
        return out

    # --- what may be known of it: whoever asks changes nothing ------------------------------------

    def digest(self) -> str:
        """The digest of its books, to be compared with that of another engine."""
        return digest(self.run)

    @property
    def over(self) -> bool:
        """Every task is settled and every machine gone and paid."""
        return self.run.phase is Phase.ENDED

    def ordered_at(self, machine: MachineId, task: TaskId, attempt: int) -> float | None:
        """The time this machine was given the attempt; None if not, or if it told its end."""
        ordered = self.run.tasks.ordered(task, attempt, machine)
        return None if ordered is None else ordered.ordered_at

    def held(self, machine: MachineId) -> list[tuple[TaskId, int]] | None:
        """The attempts that the books have it for; None unless it is up."""
        known = self.run.pool.machines.get(machine)
        if known is None or known.state is not MachineState.UP:
            return None
        return [(attempt.task, attempt.attempt) for attempt in known.attempts()]

    def is_quick(self, machine: MachineId) -> bool:
        """True if it ends tasks so fast that some are sent ahead of its free slots."""
        known = self.run.pool.machines.get(machine)
        return known is not None and dispatch.ahead(self.run, known) > 0

    def was_sent(self, task: TaskId, attempt: int) -> bool:
        """Some machine was given this attempt, some time."""
        return self.run.tasks.was_sent(task, attempt)

    def waits_for(self, machine: MachineId) -> bool:
        """True if it was given an attempt whose end nobody has told, be it silent by now."""
        return any(one.machine == machine for one in self.run.tasks.unheard())

    def unheard(self) -> list[Attempt]:
        """Attempts that were given away and whose end nobody has told."""
        return self.run.tasks.unheard()

    @property
    def needs(self) -> int:
        """The number of places for tasks that it could fill now, those included that it fills."""
        return shares.needs(self.run)

    def appetite(self, cluster: int) -> tuple[int, int]:
        """Its machines of an offering, and how many it would have if all were its own."""
        return shares.appetite(self.run, self.run.clusters[cluster])

    @property
    def waits_for_others(self) -> str:
        """The machines that other bags have, in words, while it has none; else ""."""
        return "" if self.run.pool.borrowed else waits.for_others(self.run)

    @property
    def share(self) -> Share:
        """Its part of what bags have in common."""
        return kept.share(self.run)

    @property
    def share_told(self) -> Share | None:
        """The part that what was told counts with."""
        return self.run.choice.told.share if self.run.choice.told else None

    @property
    def keeps(self) -> kept.Kept | None:
        """The part of common machines that it needs to end as it was told; None: nothing was."""
        return kept.keeps(self.run)

    @property
    def committed(self) -> Money:
        """The money that is spent, or reserved for machines."""
        return self.run.ledger.committed

    @property
    def spent(self) -> Money:
        """The part of it that counts as spent until now: what is offered comes beside it."""
        return self.run.provisioner.time.spent(self.run)

    def committed_since(self, at: float) -> Money:
        """Likewise, for ATUs that begin at that time or later."""
        return committed_since(self.run, at)

    @property
    def allowance(self) -> Money | None:
        """All that it may have committed, by what others leave of a cap; None: no cap is told."""
        return self.run.ledger.allowance

    @property
    def enough(self) -> Money | None:
        """The budget that would do for all of it by what is known now; None if none would."""
        return needs.budget_for(self.run)

    @property
    def waits_for_cap(self) -> bool:
        """True if a cap leaves too little for it to go on."""
        return self.run.waits_for_cap

    def limit(self, cluster: int) -> int:
        """The machines of an offering that it may have, with what other bags have."""
        return self.run.clusters[cluster].offering.max_machines

    def fills(self, machine: MachineId) -> int:
        """The number of places that its tasks fill there."""
        known = self.run.pool.machines.get(machine)
        return len(known.active) if known else 0

    @property
    def hampered(self) -> str:
        """The reason for which its orders do not go out, as it was told; "" if they do."""
        return self.run.hampered

    @property
    def lends(self) -> bool:
        """True if others may use paid time that it has no use for."""
        return self.run.lends

    def spare(self) -> dict[MachineId, lending.Spare]:
        """The machines of its own that others may use as far as it does not."""
        return lending.spare(self.run)

    def cluster_of(self, machine: MachineId) -> int:
        return self.run.pool.machines[machine].cluster

    @property
    def keeps_for_others(self) -> bool:
        """True if its tasks are settled, and it has machines only for what other bags use of them.

        Others may depend on it as on one that is over.
        """
        alive = self.run.pool.alive() if self.run.phase is Phase.ENDING else []
        return bool(alive) and len(self.spare()) == len(alive)

    def works_as_usual(self, machine: MachineId) -> bool:
        """True if it is up, and neither left alone nor on its way out."""
        known = self.run.pool.machines[machine]
        return known.state is MachineState.UP and not known.draining

    @property
    def borrowed(self) -> tuple[MachineId, ...]:
        """The machines that it has of other bags."""
        return tuple(self.run.pool.borrowed)

    def running_on(self, machine: MachineId) -> int:
        """The number of its tasks that run there, be it a machine of another bag."""
        known = self.run.pool.machines.get(machine)
        return len(known.active) if known is not None else 0

    def fitting(self, machines: Sequence[tuple[int, float]]) -> list[bool]:
        """True for each on which a task of it should end, of kinds that are lent until then."""
        return borrowing.fitting(self.run, machines)

    def works_on(self, machine: MachineId) -> bool:
        """True if a task of it is there, be it only that its files are awaited."""
        known = self.run.pool.machines.get(machine)
        return known is not None and any(known.attempts())

    @property
    def order(self) -> Order:
        """The order in which it begins ready tasks."""
        return self.run.order

    def course(self, generations: float) -> Course:
        """The work behind and before it, and how parallel the next so many generations are."""
        return course(self.run, generations)

    def task_seconds(self, graph: Graph) -> Sequence[float]:
        """The runtime that each task is held to take."""
        return task_seconds(self.run, graph)

    def usual_runtime(self, quantile: float = 0.5) -> float:
        """The quantile of the runtimes known on its machines, the longest of kinds; 0: of none."""
        known = [sorted(c.profile.sample()) for c in self.run.clusters]
        return max((one[min(len(one) - 1, int(quantile * len(one)))] for one in known if one),
                   default=0.0)  # fmt: skip

    @property
    def mean_runtime(self) -> float:
        """The mean runtime of its tasks, on all kinds together; 0 while none is known."""
        return self.run.canonical.mean_done if self.run.canonical.count else 0.0

    def headline(self) -> Headline:
        return facts.headline(self.run)

    def view(self, now: float = 0.0) -> RunView:
        """All of it at that time, or at its last event."""
        return view(self.run, now)

    def explain(self) -> Explanation:
        """The reasons why it plans as it does."""
        return facts.explanation(self.run)

    def machine(self, machine: MachineId, now: float = 0.0) -> MachineFacts | None:
        """None of one that it never knew."""
        known = self.run.pool.machines.get(machine)
        return None if known is None else facts.machine_facts(known, max(now, self.run.now))

    def alive(self) -> list[MachineFacts]:
        return [facts.machine_facts(one, self.run.now) for one in self.run.pool.alive()]

    def task(self, task: TaskId, now: float = 0.0) -> TaskFacts:
        return facts.task_facts(self.run, task, max(now, self.run.now))

    def tasks(self, *states: TaskState) -> list[TaskId]:
        """Those in one of these states."""
        return [TaskId(task) for task, one in enumerate(self.run.tasks.states) if one in states]

    def running(self) -> list[RunningTask]:
        return facts.running_tasks(self.run)

    def tried_again(self) -> list[TaskId]:
        """Tasks that were given up and will be tried again when it is resumed."""
        return pausing.tried_again(self.run)

    def refusal(self, chosen: Chosen) -> str:
        """A refusal in a sentence or two; "" if it can be chosen."""
        return refusals.why_not(self.run, chosen)

    def runtimes(self) -> list[Sequence[float]]:
        """The runtimes that are known of each offering."""
        return [c.profile.sample() for c in self.run.clusters]

    def speeds(self) -> dict[str, float]:
        """The speed of each offering for what ran there, against all that ran; the known ones."""
        found = zip(self.run.clusters, speeds(self.run), strict=True)
        return {str(c.offering.name): speed for c, speed in found if speed is not None}

    def slowness(self) -> list[tuple[float, ...]]:
        """The slowness of the machines of each offering.

        None where runtimes follow from parameters: few tasks of a machine would tell of these.
        """
        run = self.run
        if run.foreseen is not None:
            return [() for _ in run.clusters]
        of_kind: list[list[Worked]] = [[] for _ in run.clusters]
        for machine in run.pool.machines.values():
            worked = (
                Worked(machine.done_count, machine.done_seconds)
                if run.steps is None
                else run.steps.worked(machine.id, machine.cluster)
            )
            of_kind[machine.cluster].append(worked)
        return [
            slowness(
                machines,
                pstdev(c.profile.sample() or [0.0])
                if run.steps is None
                else math.sqrt(run.steps.spread(c.index)[1]),
            )
            for machines, c in zip(of_kind, run.clusters, strict=True)
        ]

    def losses(self) -> list[Losses | None]:
        """The losses seen of each offering; None of a reliable one."""
        return [None if c.offering.reliable else losses(self.run, c) for c in self.run.clusters]

    @property
    def unanswered(self) -> Foretell | None:
        """The question what schedules come to, if it waits for its answer."""
        asked = self.run.choice.asked
        return None if asked is None else Foretell(asked.schedules)

    @property
    def unweighed(self) -> Weigh | None:
        """The question which strategy to go on with, if it waits for its answer."""
        asked = self.run.instances.asked
        return None if asked is None else Weigh(asked)

    @property
    def settings(self) -> Settings:
        return self.run.settings

    @property
    def foretold(self) -> tuple[Schedule, ...]:
        """The promises of schedules that were run ahead: of the offers, and of what was decided."""
        return forecast.told(self.run)

    @property
    def planned(self) -> tuple[Schedule, ...]:
        """The schedules of which nothing was foretold: the offers, or the one that was decided."""
        return forecast.planned(self.run)

    def foreknown(self) -> forecast.Known:
        """The knowledge of its bag that who runs it ahead draws from."""
        return forecast.foreknown(self.run)

    def ahead(self, schedules: tuple[Schedule, ...], seldom: float = 1.0) -> "Engine":
        """A copy that may be driven ahead, with these to choose from; it asks nobody anything.

        Looks at the plan are most of what that costs: they may be so much rarer. A copy has no
        neighbours who leave it their machines: where they have all of a kind, it may have one.
        """
        run = self.run
        shared = (run.settings, run.provisioner, run.sampler, run.replicator, run.planner)
        ours = deepcopy(self, {id(one): one for one in shared})
        looks = run.settings.monitor_seconds
        if seldom > 1:
            looks = seldom * replanning.monitor_seconds(run)
        ours.run.settings = replace(run.settings, foresight=False, monitor_seconds=looks)
        ours.run.choice.asked = None
        if ours.run.seeker is not None:
            ours.run.seeker.settle()
        ours.run.open = False  # it is of the tasks known so far
        for c in ours.run.clusters:
            if c.held_back and not c.offering.max_machines:
                c.offering = replace(c.offering, max_machines=1)
            c.held_back = False
        for machine in list(ours.run.pool.borrowed.values()):
            borrowing.give_back(ours.run, machine)
        ours.run.lends = False
        ours.run.ledger.allowance = None  # nobody would tell it when there is more
        told = ours.offer(schedules)
        if run.phase is Phase.EXECUTING:
            choosing.bind(ours.run, told)
        return ours

    def offer(self, schedules: tuple[Schedule, ...]) -> Told:
        """Have these to choose from, with what is told of them."""
        run = self.run
        spent = run.provisioner.time.spent(run)
        told = Told(schedules, run.now, spent, len(run.tasks), kept.share(run))
        run.schedules, run.choice.offered = schedules, told
        return told

    def known_pools(self) -> KnownPools | None:
        """Its unreliable and its reliable machines, by what is known of them by now."""
        return known_pools(self.run)

    def strategy(self) -> str:
        """The strategy for unreliable machines that it goes by; "" if it has none."""
        pools = self.run.replicator.pools()
        return "" if pools is None else pools.strategy(self.run)

    def promised(self) -> tuple[Schedule, ...]:
        """The schedules on offer, and what is done instead if a limit decided."""
        return forecast.promised(self.run)

    def questions(self, schedules: Sequence[Schedule]) -> tuple[Question, ...]:
        """The questions to a predictor about these: plain data, to be answered elsewhere."""
        return forecast.questions(self.run, schedules)

    def check(self) -> None:
        """Raise BrokenInvariantError unless the books agree."""
        run = self.run
        run.tasks.check()
        run.ledger.check()
        on_machines = 0
        for machine in run.pool.working():
            for attempt in machine.attempts():
                on_machines += 1
                if attempt not in run.tasks.running.get(attempt.task, ()):
                    raise BrokenInvariantError(f"the task book misses attempt of {attempt.task}")
            if machine.queued and len(machine.active) < machine.slots:
                raise BrokenInvariantError(f"machine {machine.id} queues with a free slot")
        if on_machines != sum(len(copies) for copies in run.tasks.running.values()):
            raise BrokenInvariantError("an attempt runs on no machine")
        can_be_sent = run.tasks.pooled()
        if run.sample is not None:
            can_be_sent.update(task for left in run.sample.left for task in left)
        for task, state in enumerate(run.tasks.states):
            if state == TaskState.WAITING and task not in can_be_sent:
                raise BrokenInvariantError(f"task {task} waits and can never be drawn")


def replay(settings: Settings, events: Iterable[tuple[float, Event]]) -> Engine:
    """The engine as it was after these events; its commands were carried out in its first life."""
    engine = Engine(settings)
    for now, event in events:
        engine.handle(event, now)
    return engine
