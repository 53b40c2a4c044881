"""The sampling phase: its machines are begun, and it ends when enough is known."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from bats.common.billing import charge
from bats.common.messages import TaskId
from bats.common.money import NOTHING, Money
from bats.master.brain.books.machine import MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import ClusterState, Run, Sample
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.learning.conversion import Learned, by_means
from bats.master.brain.learning.regression import UNTRIED
from bats.master.brain.learning.sample_size import caveat, sample_size
from bats.master.brain.planning.schedules import FASTEST
from bats.master.brain.policies.samplers import SHARE_OF_BAG, SHARE_OF_BUDGET
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views.order import pilot

UNASKED_ATUS = 3  # ATUs per machine that a sample may take while no budget is known
UNASKED_SECONDS = 86400.0  # a machine's time that a sample may take while no budget is known


def begin(run: Run) -> None:
    """Start the machines of the sample; free ones all at once, for they cost nothing."""
    settings = run.settings
    if not len(run.tasks):
        return  # an open bag that has no task yet
    priced = [c for c in run.clusters if c.startable and not c.offering.free]
    for c in run.clusters:
        if c.startable and c.offering.free:
            hiring.start(run, c.index, min(c.offering.max_machines, len(run.tasks)))
    if settings.known:
        _take(run, by_means({k: known for k, known in enumerate(settings.known) if known}))
    if not run.provisioner.samples:
        run.move(Phase.EXECUTING)
        start_all(run)
        return
    if not priced:
        run.move(Phase.EXECUTING)
        run.choice.name, run.choice.at = "free", run.now
        return
    if settings.known:
        return
    run.sample = _draw_sample(run)
    workers = _workers(run, priced, run.sample.size)
    _limit_unasked(run, priced, workers)
    for c, count in zip(priced, workers, strict=True):
        run.sample.machines[c.index] = count
    asked = [(hiring.start(run, c.index, n), c) for c, n in zip(priced, workers, strict=True)]
    kinds = " + ".join(f"{count} {c.offering.name}" for count, c in asked if count)
    if kinds:
        run.say(f"{kinds} to learn how long tasks take, by up to {run.sample.size} of them")
    if (words := caveat(run.sample.size, len(run.tasks))) is not None:
        run.say(words)


def _workers(run: Run, priced: list[ClusterState], size: int) -> Sequence[int]:
    """The machines of each kind to sample with."""
    workers = run.sampler.machines(run, priced, size) or _cheapest_first(run, priced)
    if run.provisioner.learns_on and run.sampler.shared:
        workers = _with_a_task(run, priced, workers, size)
    return workers


def _limit_unasked(run: Run, priced: list[ClusterState], workers: Sequence[int]) -> None:
    """Limit what the sample may cost where no budget is known."""
    if run.settings.budget is None:
        run.ledger.limit = Money(
            sum(
                max(count, c.held_back)  # one at least, for when other bags leave it
                * charge(c.offering, max(UNASKED_ATUS * c.offering.atu_seconds, UNASKED_SECONDS))
                for c, count in zip(priced, workers, strict=True)
            )
        )


def grow(run: Run) -> None:
    """Take a larger sample: the bag has more tasks than when it began."""
    sample = run.sample
    if sample is None:
        return
    sample.size = sample_size(len(run.tasks))
    run.progress.waited_since = run.now
    common = run.sampler.common(run, sample.size)
    sample.pairs = max(sample.pairs, common.tasks)  # those that end first: it has begun
    if complete(run):
        return
    priced = [c for c in run.clusters if c.startable and not c.offering.free]
    workers = _workers(run, priced, sample.size)
    before = run.ledger.limit
    _limit_unasked(run, priced, workers)
    if before is not None and run.ledger.limit is not None:
        run.ledger.limit = max(before, run.ledger.limit)
    for c, count in zip(priced, workers, strict=True):
        hiring.start(run, c.index, count - len(run.pool.living[c.index]))


def learn_of_others(run: Run) -> None:
    """Try kinds that the sample of a smaller bag had no task for, each with one machine.

    A task there costs no more than a sample may, and there are enough for each kind to be known by.
    """
    if not run.provisioner.learns_on or run.sampler.blind:
        return
    unknown = [c for c in run.clusters if not c.profile.count and not c.offering.free]
    if run.tasks.waiting < SHARE_OF_BAG * len(unknown):
        return
    for c in unknown:
        left = run.ledger.left
        price = charge(c.offering, 0.0)
        if run.pool.living[c.index] or (left is not None and price * SHARE_OF_BUDGET > left):
            continue
        if hiring.start(run, c.index, 1):
            run.say(f"1 {c.offering.name} to learn how long tasks take there")


def learn_of_left(run: Run, c: ClusterState) -> None:
    """Try a kind of which other bags leave some by now, and that nothing is known of."""
    few = run.tasks.waiting < (1 if run.phase is Phase.SAMPLING else SHARE_OF_BAG)
    blind = run.sampler.blind or not run.provisioner.learns_on
    if few or blind or c.tried or run.pool.living[c.index]:
        return
    before, least = run.ledger.limit, Money(SHARE_OF_BUDGET * charge(c.offering, 0.0))
    unasked = run.choice.budget is None and run.phase is not Phase.SAMPLING  # which counted with it
    if unasked:
        longest = max([c.offering.atu_seconds, *run.canonical.sample()])
        run.ledger.limit = Money((before or NOTHING) + charge(c.offering, UNASKED_ATUS * longest))
    if (unasked or run.ledger.covers(least)) and hiring.start(run, c.index, 1):
        c.tried, run.progress.waited_since = True, run.now  # it is not late yet
        run.say(f"1 {c.offering.name}, which other bags leave, to learn how long tasks take there")
    else:
        run.ledger.limit = before


def complete(run: Run) -> bool:
    """True if every cluster that takes part has its sample, or the bag is empty already."""
    sample = run.sample
    if sample is None:
        return bool(run.settings.known)
    if run.tasks.unfinished == 0:
        return True
    if run.open and not run.tasks.waiting:
        return False  # nothing is left to plan for, and more may come
    if not plans_by_budget(run) and pilot.goes_on(run):
        return False
    part = _taking_part(run)
    if not any(sample.observed[c.index] for c in part):
        return False
    if not run.tasks.waiting and all(sample.observed[c.index] for c in part):
        return True
    wanted = [run.sampler.tasks_on(run, c, sample.size) for c in part]
    if any(count is not None for count in wanted):
        return all(
            len(sample.observed[c.index]) >= (count or 0)
            for c, count in zip(part, wanted, strict=True)
        )
    if plans_by_budget(run):
        return all(
            enough(run, c) or not run.pool.living[c.index] or _not_worth_more(run, c) for c in part
        )
    if any(sample.open[c.index] for c in part):
        return False
    if run.provisioner.learns_on and not run.tasks.in_flight:
        return True
    return run.tasks.done + run.tasks.counts[TaskState.FAILED] >= sample.size


def plans_by_budget(run: Run) -> bool:
    """No offer sets the limit: plan as soon as it can be done with room for error, learn on."""
    settings, sample = run.settings, run.sample
    own_limit = settings.rule == FASTEST and settings.budget is not None
    return bool(run.provisioner.learns_on and own_limit and sample and sample.pairs)


def enough(run: Run, c: ClusterState) -> bool:
    """True if so much is known of a cluster that it can be planned with, with room for error."""
    sample = run.sample
    if sample is None:
        return False
    seen = sample.observed[c.index]
    if not sample.pairs:
        return bool(seen)
    return len(seen) * 2 > sample.pairs and any(task in seen for task in sample.replicated)


def ended(run: Run, cluster: int, task: TaskId) -> None:
    """A task of the sample is done; it may be one that is to run on every kind."""
    sample = run.sample
    if sample is None or run.phase is not Phase.SAMPLING:
        return
    if task in sample.replicated or len(sample.replicated) >= sample.pairs:
        return
    sample.replicated.append(task)
    for c in run.clusters:
        if c.index != cluster and c.startable:
            sample.left[c.index].append(task)
            sample.open[c.index].add(task)


def _not_worth_more(run: Run, c: ClusterState) -> bool:
    """True if what this kind still runs would cost more than it can tell.

    That is when it has taken its part of the money, and is known to be dearer than another kind.
    """
    if c.offering.free or _worth_another(run, c):
        return False
    mine = _price_of_task(run, c)
    others = [
        _price_of_task(run, other)
        for other in _taking_part(run)
        if other is not c and enough(run, other) and not other.offering.free
    ]
    return mine is not None and any(price is not None and price <= mine for price in others)


def least_mean(run: Run, c: ClusterState) -> float:
    """The least that tasks take here, by what runs: as if it ended this moment.

    Of tasks that have run on another kind already the ratio counts, of others their length.
    """
    own = observed(run, c)
    bounds = [
        (attempt.task, run.now - attempt.since)
        for machine in run.pool.living[c.index].values()
        for attempt in machine.active.values()
    ]
    everything = [*own.items(), *bounds]
    least = fmean([seconds for _, seconds in everything]) if everything else 0.0
    for other in run.clusters:
        seen = observed(run, other)
        pairs = [(seconds, seen[task]) for task, seconds in everything if task in seen]
        if other is not c and pairs:
            ratio = sum(here for here, _ in pairs) / sum(there for _, there in pairs)
            return ratio * fmean(seen.values())
    return least


def _price_of_task(run: Run, c: ClusterState) -> float | None:
    """The least price of an average task here; None while nothing is known."""
    mean = _mean_so_far(run, c) if enough(run, c) else least_mean(run, c) or None
    return None if mean is None else _price(c, mean)


def _price(c: ClusterState, seconds: float) -> float:
    return seconds / c.offering.slots * c.offering.price / c.offering.atu_seconds


def _seems_cheapest(run: Run, cluster: int) -> bool:
    """True if no other kind may turn out cheaper for the work, by what has run so far."""
    prices = {c.index: _price_of_task(run, c) for c in _taking_part(run) if not c.offering.free}
    mine = prices.pop(cluster, None)
    return mine is None or all(price is not None and price >= mine for price in prices.values())


def _worth_another(run: Run, c: ClusterState) -> bool:
    """True if one more task here leaves the spending to learn within its share, at the worst.

    Work that is done counts as worth what it costs where it may turn out cheapest.
    """
    prices = [_price_of_task(run, other) or 0.0 for other in _taking_part(run)]
    spent = float(run.ledger.settled)
    for machine in run.pool.alive():
        if machine.charged_since is not None:
            spent += charge(machine.offering, run.now - machine.charged_since)
    spent -= run.tasks.done * min(prices)
    boots = sum(_price(other, other.boot_seconds * other.offering.slots) for other in run.clusters)
    share = max((run.settings.budget or NOTHING) / SHARE_OF_BUDGET, boots + sum(prices))
    return spent + (_price_of_task(run, c) or 0.0) < share


def finish(run: Run) -> None:
    """Give every cluster its profile; those without a single runtime are left out of planning."""
    sample = run.sample
    if sample is None:
        return
    part = [c for c in run.clusters if sample.observed[c.index]]
    _take(run, run.told_by({c.index: sample.observed[c.index] for c in part}))
    for c in part:
        if c.line.doubt:
            run.say(f"how fast {c.offering.name} is, is a rough guess: {c.line.doubt}")
    for c in run.clusters:
        if part and c not in part:
            c.line = UNTRIED
        for task in sample.left[c.index]:
            run.tasks.undraw(task)
        sample.left[c.index].clear()
        sample.open[c.index].clear()
    for task in sample.replicated:
        if run.tasks.states[task] == TaskState.DONE:
            run.cancel_copies(task)  # its runtime elsewhere is not waited for any more


def continues(run: Run, cluster: int) -> bool:
    """True if a kind begins tasks that must be paid, while the sample goes on elsewhere.

    Each kind begins one. Without a budget, more until the sample has its size or its share of the
    bag; within one, on the kind that is cheapest as far as is known.
    """
    sample = run.sample
    if sample is None:
        return False
    if not _has_begun(run, sample, cluster):
        return True
    if not plans_by_budget(run) and pilot.has_begun_too_little(run):
        return True
    if run.settings.budget is None or run.settings.rule == ASK:
        begun = run.tasks.done + run.tasks.counts[TaskState.RUNNING]  # what fails tells nothing
        return begun < sample.size and begun * SHARE_OF_BAG < len(run.tasks)
    if cluster in sample.hired or _seems_cheapest(run, cluster):
        return True
    return _worth_another(run, run.clusters[cluster])


def _has_begun(run: Run, sample: Sample, cluster: int) -> bool:
    """True if a kind has run something, or will run tasks that others have run."""
    if sample.observed[cluster] or sample.left[cluster]:
        return True
    return any(machine.load for machine in run.pool.living[cluster].values())


def start_all(run: Run) -> None:
    """Cost-blind: every machine that can be had and paid, as soon as there is a task."""
    for c in run.clusters if run.tasks.unfinished else ():
        if c.startable and not c.offering.free:
            hiring.start(run, c.index, run.provisioner.at_first(c))


def restart(run: Run) -> int:
    """All machines of the sample are gone: one of each kind that is still needed, if it can be."""
    return sum(hiring.start(run, c.index, 1) for c in run.clusters if c.startable)


def begin_again(run: Run) -> bool:
    """Go on with the sample of a bag that had ended before it was complete."""
    sample = run.sample
    if sample is None or run.known() or not run.provisioner.learns_on:
        return False
    for left, still in zip(sample.left, sample.open, strict=True):
        left.clear()
        still.clear()
    sample.replicated = [t for t in sample.replicated if run.tasks.states[t] == TaskState.DONE]
    run.move(Phase.SAMPLING)
    return restart(run) > 0


def leave_out_late(run: Run) -> None:
    """Leave out, after the patience, a cluster whose machines do not come."""
    sample = run.sample
    if sample is None:
        return
    others_done = any(sample.observed[c.index] for c in run.clusters)
    for c in _taking_part(run):
        waiting = run.pool.living[c.index].values()
        patience = run.settings.patience_seconds or max(60.0, c.offering.atu_seconds)
        if (
            others_done
            and not sample.observed[c.index]
            and all(m.state is MachineState.REQUESTED for m in waiting)
            and run.now - max(run.began_at, run.progress.waited_since) > patience
        ):
            hiring.set_aside(run, c, f"no machine of it came within {patience:.0f} s")


def _take(run: Run, learned: Learned) -> None:
    for k, profile in learned.profiles.items():
        run.clusters[k].profile = profile
        run.clusters[k].line = learned.lines[k]
    run.canonical = learned.canonical


def _draw_sample(run: Run) -> Sample:
    sample = Sample(sample_size(len(run.tasks)), len(run.clusters))
    common = run.sampler.common(run, sample.size)
    sample.pairs = common.tasks
    if common.drawn:
        drawn = [run.tasks.draw() for _ in range(sample.pairs)]
        sample.replicated = [task for task in drawn if task is not None]
        for c in (c for c in run.clusters if c.startable):
            sample.left[c.index] = list(sample.replicated)
            sample.open[c.index] = set(sample.replicated)
    return sample


def _cheapest_first(run: Run, priced: list[ClusterState]) -> list[int]:
    """Even one machine each is much for this budget: take the cheap ones, leave out the dear."""
    budget = run.settings.budget or NOTHING
    chosen = [0] * len(priced)
    spent = NOTHING
    costs = [charge(c.offering, 0.0) for c in priced]
    for k in sorted(range(len(priced)), key=costs.__getitem__):
        if priced[k].offering.max_machines and (not spent or (spent + costs[k]) * 2 <= budget):
            chosen[k] = 1
            spent = Money(spent + costs[k])
        elif priced[k].offering.max_machines:
            hiring.set_aside(
                run,
                priced[k],
                f"sampling it would take {run.shown(costs[k])} of {run.shown(budget)}",
            )
    return chosen


def _with_a_task(
    run: Run, priced: Sequence[ClusterState], workers: Sequence[int], size: int
) -> Sequence[int]:
    """No more machines than have a task of the sample each; one of each kind first, the cheap ones.

    What the sample begins is told by `continues`; common tasks run on every kind.
    """
    tasks = len(run.tasks)
    if run.settings.budget is None or run.settings.rule == ASK:
        tasks = min(tasks, max(1, size), -(-tasks // SHARE_OF_BAG))
        tasks = max(tasks, min(len(run.tasks), sum(1 for count in workers if count)))
    by_price = sorted(range(len(priced)), key=lambda k: charge(priced[k].offering, 0.0))
    kept = [0] * len(priced)
    begun = 0  # by those that are kept
    for turn in range(max(workers, default=0)):
        for k in by_price:
            if turn < workers[k] and begun < tasks:
                kept[k] += 1
                begun += priced[k].offering.slots if turn or len(run.tasks) <= len(priced) else 1
    return kept


def _taking_part(run: Run) -> list[ClusterState]:
    """Clusters with machines, or with machines still to come."""
    return [c for c in run.clusters if run.pool.living[c.index] or observed(run, c)]


def observed(run: Run, c: ClusterState) -> Mapping[TaskId, float]:
    """The runtimes that the sample has shown there; none before it begins."""
    return run.sample.observed[c.index] if run.sample is not None else {}


def _mean_so_far(run: Run, c: ClusterState) -> float | None:
    runtimes = observed(run, c).values()
    return sum(runtimes) / len(runtimes) if runtimes else None


def leave_out(run: Run, task: TaskId) -> None:
    """A sample waits for no task that nobody wants."""
    if run.sample is None:
        return
    for left, waited_for in zip(run.sample.left, run.sample.open, strict=True):
        waited_for.discard(task)
        if task in left:
            left.remove(task)
