"""All that the engine knows of one run. Rules change it; nothing else does."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from bats.common.billing import charge
from bats.common.errors import BrokenInvariantError
from bats.common.messages import TaskId
from bats.common.money import Money, show
from bats.common.offering import MANUAL, Offering
from bats.common.units import counted
from bats.master.brain.books.choice import Choice
from bats.master.brain.books.instances import Instances
from bats.master.brain.books.ledger import Ledger
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.machine_pool import MachinePool
from bats.master.brain.books.phase import MOVES, Phase
from bats.master.brain.books.precedence import Precedence
from bats.master.brain.books.progress import Progress
from bats.master.brain.books.ready import AtRandom, ByKind, LongestFirst
from bats.master.brain.books.taskbook import TaskBook, TaskState
from bats.master.brain.learning.conversion import Learned, Observed, by_steps
from bats.master.brain.learning.foreseen import Foreseen, LawSeeker
from bats.master.brain.learning.losses import Losses, seconds_a_result
from bats.master.brain.learning.profile import RuntimeProfile
from bats.master.brain.learning.regression import SAME, SHORTEST_SECONDS, UNTRIED, Line
from bats.master.brain.learning.runtime_law import change_in_words
from bats.master.brain.learning.step_profiles import StepProfiles
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import BySteps
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.commands import (
    BagOutcome,
    Command,
    Decided,
    EndBag,
    KillTask,
    Pause,
)
from bats.master.brain.protocol.events import Allotted, Order
from bats.master.brain.protocol.settings import Settings

if TYPE_CHECKING:
    from bats.master.brain.policies.by_name import Policies

Oracle = Callable[[TaskId, int], float]
"""True runtimes, of a task on a cluster's machines, which only a simulator has."""


def _nobody_knows(task: TaskId, cluster: int) -> float:
    raise BrokenInvariantError(f"nobody knows how long task {task} takes on cluster {cluster}")


class ClusterState:
    """An offering, and what is known of it."""

    __slots__ = (
        "boot_seconds_sum",
        "contended",
        "expired_at",
        "held_back",
        "index",
        "line",
        "offering",
        "own",
        "profile",
        "sampled",
        "set_aside",
        "shared",
        "start_count",
        "start_failures",
        "start_seconds_sum",
        "stop_count",
        "stop_seconds_sum",
        "tried",
    )

    def __init__(self, index: int, offering: Offering) -> None:
        self.index = index
        self.offering = offering
        self.profile = RuntimeProfile()
        self.own = RuntimeProfile()  # what took so long here, and nowhere else before
        self.sampled = RuntimeProfile()  # what has ended here while the sample goes on
        self.line: Line = SAME  # from the canonical cluster to this one
        self.set_aside = ""  # why no more machines of it are asked for
        self.held_back = False  # other bags have or want machines that this one could have
        self.contended = False  # other bags have ever left it fewer than there are
        self.tried = False  # as soon as other bags left one, which happens once
        self.shared = False  # its machines run other bags as well, and have changing slots
        self.start_failures = 0  # in a row
        self.expired_at = 0.0  # when a lease last ended before its machine had joined
        self.start_count = 0
        self.start_seconds_sum = 0.0
        self.stop_count = 0
        self.stop_seconds_sum = 0.0
        self.boot_seconds_sum = 0.0

    @property
    def startable(self) -> bool:
        return not self.set_aside and self.offering.backend != MANUAL

    @property
    def start_seconds(self) -> float:
        return self.start_seconds_sum / self.start_count if self.start_count else 0.0

    @property
    def stop_seconds(self) -> float:
        """From the word to stop until a machine is gone, on average."""
        return self.stop_seconds_sum / self.stop_count if self.stop_count else 0.0

    @property
    def boot_seconds(self) -> float:
        """The part of the start that is charged already."""
        return self.boot_seconds_sum / self.start_count if self.start_count else 0.0

    @property
    def with_its_boot(self) -> Offering:
        """The offering as planned with: a machine works as little while it boots as at its stop."""
        lost = self.offering.boundary_seconds + self.boot_seconds
        return replace(self.offering, boundary_seconds=lost)


class Sample:
    """The state of the sampling phase."""

    __slots__ = ("hired", "left", "machines", "observed", "open", "pairs", "replicated", "size")

    def __init__(self, size: int, clusters: int) -> None:
        self.size = size  # n: how many distinct tasks
        self.pairs = 0  # how many tasks are to run on every cluster
        self.machines = [0] * clusters  # that it began with
        self.replicated: list[TaskId] = []
        self.left: list[list[TaskId]] = [[] for _ in range(clusters)]  # still to be sent there
        self.open: list[set[TaskId]] = [set() for _ in range(clusters)]  # not ended there yet
        self.observed: list[dict[TaskId, float]] = [{} for _ in range(clusters)]
        self.hired: set[int] = set()  # clusters that every plan will want


COMING: Final = 3.0
"""Times its usual start, and seconds at least, for which a machine on its way is reckoned with."""


class Plan:
    """The mix being executed and what it was expected to do."""

    __slots__ = ("at", "by_step", "done", "makespan_seconds", "mix", "tasks")

    def __init__(self, mix: Mix, tasks: int, makespan_seconds: float, at: float) -> None:
        self.mix = mix
        self.tasks = tasks
        self.makespan_seconds = makespan_seconds
        self.at = at
        self.by_step: BySteps = ()
        self.done = 0  # tasks, when it was found which


class Run:
    """One bag being run."""

    def __init__(
        self, settings: Settings, policies: "Policies", oracle: Oracle | None = None
    ) -> None:
        self.settings = settings
        self.provisioner = policies.provisioner
        self.sampler = policies.sampler
        self.replicator = policies.replicator
        self.planner = policies.planner
        self._oracle = oracle or _nobody_knows
        self.rng = random.Random(settings.seed)
        self.now = 0.0
        self.phase = Phase.SAMPLING
        order = None if settings.graph is None else Precedence(settings.graph)
        self.tasks = TaskBook(settings.tasks, self.rng, order)
        self.open = settings.open  # more tasks may come
        self.planned_tasks = settings.tasks  # that there were when it was last planned for all
        self.clusters = [ClusterState(k, o) for k, o in enumerate(settings.offerings)]
        self.pool = MachinePool(len(settings.offerings), settings.numbers_after)
        self.instances = Instances()
        self.ledger = Ledger(settings.budget)
        self.canonical = RuntimeProfile()
        self.steps = None if order is None else StepProfiles(len(order.graph.steps))
        bag = settings.parameters and order is None
        self.seeker = LawSeeker(settings.parameters) if bag else None
        self.sample: Sample | None = None
        self.schedules: tuple[Schedule, ...] = ()
        self.choice = Choice(settings.budget, settings.cushion)
        self.plan: Plan | None = None
        self.cap = Allotted(None)  # of what other bags leave of a cap it was told last
        self.waits_for_cap = False  # nothing is left of it, which the user has been told
        self.short_of_money = False  # the user has been told that the budget will not do
        self.lends = False  # paid time that it has no use for goes to other bags
        self.order = Order.RANDOM  # in which ready tasks are begun
        self.by_kind: ByKind | None = None  # ready tasks, where a plan binds them to kinds
        self.ranked_at = 0  # how many tasks were done when they were ranked last
        self.pause: Pause | None = None  # beside the phase, which is where it goes on
        self.hampered = ""  # why its orders do not go out, if its master says so
        self.progress = Progress()
        self.outcome: BagOutcome | None = None
        self.duplicates = 0  # results of tasks that were done already
        self.next_monitor = 0.0
        self.woken_at: float | None = None
        self.begun = False
        self.began_at = 0.0
        self.ended_at: float | None = None
        self.out: list[Command] = []

    def move(self, to: Phase) -> None:
        if to not in MOVES[self.phase]:
            raise BrokenInvariantError(f"a run that is {self.phase.value} cannot be {to.value}")
        self.phase = to

    # --- words and ends --------------------------------------------------------------------------

    def say(self, words: str) -> None:
        self.out.append(Decided(words))

    def shown(self, amount: Money) -> str:
        return show(amount, self.settings.currency)

    @property
    def not_done(self) -> str:
        left = self.tasks.unfinished
        return f"{counted(left, 'task')} {'is' if left == 1 else 'are'} not done"

    def end(self, outcome: BagOutcome, words: str) -> None:
        self.outcome = outcome
        self.move(Phase.ENDING)
        self.pause = None
        self.ended_at = self.now
        self.out.append(EndBag(outcome, words))

    @property
    def due_at(self) -> float | None:
        """The time when the user wants it done: by a word that was taken, or by the submission."""
        if self.choice.deadline_at is not None or self.settings.deadline_seconds is None:
            return self.choice.deadline_at
        return self.began_at + self.settings.deadline_seconds

    # --- machines --------------------------------------------------------------------------------

    def spent(self) -> Money:
        """The money for ATUs that machines have entered."""
        running = (
            charge(m.offering, self.now - m.charged_since)
            for m in self.pool.alive()
            if m.charged_since is not None
        )
        return Money(self.ledger.settled + sum(running))

    def cancel_copies(self, task: TaskId, *, but_sample: bool = False) -> None:
        """`but_sample`: one that runs for the sample goes on, for its runtime."""
        for copy in self.tasks.running.get(task, ()):
            if but_sample and copy.sampling:
                continue
            self.out.append(KillTask(copy.machine, task, copy.attempt))

    # --- what is known ---------------------------------------------------------------------------

    def elapsed(self, cluster: int) -> list[float]:
        """The time that each running task of a cluster has been running."""
        return [
            self.now - attempt.since
            for machine in self.pool.living[cluster].values()
            if machine.state is MachineState.UP
            for attempt in machine.active.values()
        ]

    def known(self) -> list[ClusterState]:
        """Clusters whose runtimes are known."""
        return [c for c in self.clusters if c.profile.count]

    def planning_clusters(self, *, standing: bool = True) -> tuple[Cluster, ...]:
        """The clusters to plan with: T_i with running tasks, and the number of machines to be had.

        With `standing` the machines that are there count even of an offering that gives no more.
        """
        result = []
        together = None if self.tasks.order is None else self.tasks.most_at_once()
        for c in self.clusters:
            limit = c.offering.max_machines if c.startable else 0
            if together is not None:  # never more machines than may be ready
                limit = min(limit, together if c.shared else -(-together // c.offering.slots))
            if standing:
                there = self.pool.staying(c.index)
                limit = max(limit, sum(m.slots for m in there) if c.shared else len(there))
            if not c.profile.count:
                limit = 0
            mean = c.profile.mean_with_running(self.elapsed(c.index)) if c.profile.count else 1.0
            mean = seconds_a_result(mean, self.hazard(c.index), c.start_seconds)
            offering = self.provisioner.time.as_planned(c)
            if c.shared:  # each slot counts as a machine: it may lose and gain single ones
                offering = replace(offering, slots=1)
            result.append(Cluster(offering, mean, limit, c.start_seconds, c.boot_seconds))
        return tuple(result)

    def hazard(self, *clusters: int) -> float:
        """The rate, per second, at which machines of these kinds are lost, where that is told.

        One task more is held to have been done without a loss: a first one says little.
        """
        kinds = [self.clusters[k] for k in clusters if not self.clusters[k].offering.reliable]
        done = [c.profile.mean_done for c in kinds if c.profile.count]
        if not done:
            return 0.0
        learned = self.settings.learned_losses
        seen = [self.instances.told(c.index, self.now) for c in kinds]
        seen += [Losses(*learned[c.index]) for c in kinds if learned]
        busy = sum(one.busy_seconds for one in seen) + fmean(done)
        return sum(one.told for one in seen) / busy

    def observe(self, machine: Machine, task: TaskId, seconds: float) -> None:
        """Learn from a task that was done. A clock may not tell that it took any time."""
        seconds = max(seconds, SHORTEST_SECONDS)
        machine.done_count += 1
        machine.done_seconds += seconds
        cluster = self.clusters[machine.cluster]
        if self.tasks.states[task] != TaskState.DONE:
            cluster.own.add(seconds)
        if self.seeker is not None:
            self.seeker.see(task, machine.cluster, seconds)
        if self.steps is not None and self.tasks.order is not None:
            step = self.tasks.order.step_of(task)
            self.steps.add(step, machine.cluster, seconds, machine.id)
        if self.phase is Phase.SAMPLING and self.sample is not None:
            self.sample.observed[machine.cluster][task] = seconds
            cluster.sampled.add(seconds)
        else:
            cluster.profile.add(seconds)
            if self.steps is not None:
                self._compare_steps(cluster, self.steps)
            elif cluster.line.doubt == UNTRIED.doubt and self.canonical.count:
                ratio = cluster.profile.mean_done / self.canonical.mean_done
                cluster.line = replace(UNTRIED, beta1=ratio)
            self.canonical.add(self.to_canonical(machine.cluster, seconds))

    def told_by(self, observed: Mapping[int, Observed]) -> Learned:
        """Knowledge from a sample; of a workflow, whose steps differ, step by step."""
        learned = self.sampler.learn(observed)
        order = self.tasks.order
        return learned if order is None else by_steps(learned, observed, order.step_of)

    def _compare_steps(self, cluster: ClusterState, steps: StepProfiles) -> None:
        """The speed of a cluster that is in doubt follows from the steps that ran there, too."""
        base = next((c for c in self.clusters if c.line == SAME), None)
        if base is None or cluster.line.doubt is None:
            return
        ratio = steps.ratio(base.index, cluster.index)
        if ratio is not None:
            cluster.line = replace(cluster.line, beta0=0.0, beta1=ratio, least=0.0)

    @property
    def foreseen(self) -> Foreseen | None:
        """The runtimes that parameters foretell; None while no law is known to hold."""
        return None if self.seeker is None else self.seeker.found

    def look_for_law(self) -> None:
        """Look for a law of runtimes, where so many more are known; by it the longest go first."""
        if self.seeker is None or not self.seeker.due or self.phase is Phase.SAMPLING:
            return
        before = self.foreseen
        self.seeker.look(self.to_canonical)
        now = self.foreseen
        if now is not None:
            seconds = now.seconds.tolist()
            self.tasks.arrange(lambda tasks: LongestFirst(tasks, self.rng, seconds.__getitem__))
        elif before is not None:
            self.tasks.arrange(lambda tasks: AtRandom(tasks, self.rng))
        if words := change_in_words(before.law if before else None, now.law if now else None):
            self.say(words)

    def follow(self, by_step: BySteps) -> None:
        """Bind the steps of a workflow to kinds of machines, as its plan does."""
        plan, order = self.plan, self.tasks.order
        if plan is None or order is None or self.order is not Order.RANDOM:
            return  # the user has said what goes first
        bound = [tuple(kind for kind, _ in on) for on in by_step]
        if self.by_kind is not None and self.by_kind.kinds == bound:
            return
        by_kind = ByKind(self.rng, order.step_of, bound)
        self.tasks.arrange(by_kind.with_all)
        self.by_kind = by_kind

    def draw_for(self, cluster: int) -> TaskId | None:
        """The next of the ready tasks that such a machine should take."""
        if self.by_kind is not None:
            if self.plan is None or not self.plan.by_step:
                self.by_kind.kinds = []
            places = [self._places(c) for c in self.clusters]
            self.by_kind.turn_to(cluster, places)
        return self.tasks.draw()

    def _places(self, c: ClusterState) -> int:
        """The places of a kind that work is kept for: there, or not long on their way."""
        late = self.now - COMING * max(c.start_seconds, COMING)
        here = self.pool.living[c.index].values()
        count = sum(m.joined_at is not None or m.requested_at >= late for m in here)
        return count * c.offering.slots

    def stopped(self, task: TaskId, cluster: int, seconds: float) -> None:
        """An attempt was stopped after so long: the task takes longer than that."""
        if self.to_canonical(cluster, seconds) > self.outlasted(task):
            self.tasks.stopped[task] = cluster, seconds

    def outlasted(self, task: TaskId) -> float:
        """The time that a stopped attempt of it had run, on the canonical cluster; 0: none was."""
        stopped = self.tasks.stopped.get(task)
        return self.to_canonical(*stopped) if stopped else 0.0

    def true_seconds(self, task: TaskId, cluster: int) -> float:
        """The true runtime of the task there, as a clairvoyant policy may ask."""
        return self._oracle(task, cluster)

    def to_canonical(self, cluster: int, seconds: float) -> float:
        return self.clusters[cluster].line.back(seconds)
