"""The sampling phase: which machines to begin with, and when enough is known (science.md, 2, 3, 6).

Decoupled sampling replicates a few tasks on every cluster and shares the rest of the sample out;
regression gives every cluster a full sample. Implicit sampling runs a sample on each cluster.
"""

from bats.common.billing import charge_atus
from bats.common.money import NOTHING, Money
from bats.master.brain import fleet
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.profile import RuntimeProfile
from bats.master.brain.regression import SAME, Line, fit
from bats.master.brain.sample_size import caveat, sample_size
from bats.master.brain.schedules import FASTEST
from bats.master.brain.settings import Sampling
from bats.master.brain.state import ClusterState, Phase, Run, Sample
from bats.master.brain.taskbook import TaskState

SHARE_OF_BUDGET = 5  # a sample takes at most one fifth of a budget that is known beforehand
UNASKED_ATUS = 3  # ATUs per machine that a sample may take while no budget is known


def begin(run: Run) -> None:
    """Start the machines of the sample; free ones all at once, for they cost nothing."""
    settings = run.settings
    priced = [c for c in run.clusters if c.startable and not c.offering.free]
    for c in run.clusters:
        if c.startable and c.offering.free:
            fleet.start(run, c.index, min(c.offering.max_machines, settings.tasks))
    if settings.known:
        _take_as_known(run, settings.known)
    if settings.sampling is Sampling.NONE:
        run.phase = Phase.EXECUTING
        start_all(run)
        return
    if not priced:
        run.phase = Phase.EXECUTING
        run.chosen, run.chosen_at = "free", run.now
        return
    if settings.known:
        return
    run.sample = _draw_sample(run)
    workers = _workers(run, priced)
    if settings.budget is None:
        run.ledger.limit = Money(
            UNASKED_ATUS
            * sum(
                count * charge_atus(c.offering, run.first_term(c.offering))
                for c, count in zip(priced, workers, strict=True)
            )
        )
    for c, count in zip(priced, workers, strict=True):
        fleet.start(run, c.index, count)
    words = caveat(run.sample.size, settings.tasks)
    if words is not None:
        run.say(words)


def complete(run: Run) -> bool:
    """Whether every cluster that takes part has its sample, or the bag is empty already."""
    sample = run.sample
    if sample is None:
        return bool(run.settings.known)
    if run.tasks.unfinished == 0:
        return True
    part = _taking_part(run)
    if not any(sample.observed[c.index] for c in part):
        return False
    if not run.tasks.waiting and all(sample.observed[c.index] for c in part):
        return True
    if run.settings.sampling is Sampling.IMPLICIT:
        return all(len(sample.observed[c.index]) >= _implicit_size(run, c) for c in part)
    if plans_by_budget(run):
        return all(enough(run, c) for c in part)
    if any(sample.open[c.index] for c in part):
        return False
    return run.tasks.done + run.tasks.counts[TaskState.FAILED] >= sample.size


def plans_by_budget(run: Run) -> bool:
    """No offer sets the limit: plan as soon as it can be done with room for error, learn on."""
    settings, sample = run.settings, run.sample
    own_limit = settings.rule == FASTEST and settings.budget is not None
    return bool(settings.prudence and own_limit and sample and sample.replicated)


def enough(run: Run, c: ClusterState) -> bool:
    """Whether so much is known of a cluster that it can be planned with, with room for error."""
    sample = run.sample
    return sample is not None and len(sample.observed[c.index]) * 2 > len(sample.replicated)


def keeps(run: Run, machine: Machine) -> bool:
    """Whether the sample needs this machine beyond its paid ATUs.

    It does while the machine runs a sample task, or when sample tasks are left and no other
    machine of the cluster stays; and one machine of the most profitable type goes on until the
    sample has its size.
    """
    sample = run.sample
    if sample is None or run.phase is not Phase.SAMPLING:
        return False
    mine = sample.open[machine.cluster]
    if any(attempt.task in mine for attempt in machine.attempts()):
        return True
    others = [m for m in run.staying(machine.cluster) if m is not machine]
    if sample.left[machine.cluster] and not others:
        return True
    return not others and machine.cluster == most_profitable(run)


def most_profitable(run: Run) -> int | None:
    """The cluster whose finished tasks have cost least money each, so far."""
    best: tuple[float, int] | None = None
    for c in _taking_part(run):
        mean = _mean_so_far(run, c)
        if mean is not None:
            cost = mean / c.offering.slots * c.offering.price / c.offering.atu_seconds
            best = min(best or (cost, c.index), (cost, c.index))
    return None if best is None else best[1]


def finish(run: Run) -> None:
    """Give every cluster its profile; those without a single runtime are left out of planning."""
    sample = run.sample
    if sample is None:
        return
    part = [c for c in run.clusters if sample.observed[c.index]]
    if run.settings.sampling is Sampling.REGRESSION and part:
        _fill_by_regression(run, sample, part)
    else:
        for c in part:
            c.profile = RuntimeProfile(sample.observed[c.index].values())
        _draw_lines_by_means(run, part)
    for c in run.clusters:
        for task in sample.left[c.index]:
            run.tasks.undraw(task)
        sample.left[c.index].clear()
        sample.open[c.index].clear()
    for task in sample.replicated:
        if run.tasks.states[task] == TaskState.DONE:
            run.cancel_copies(task)  # its runtime elsewhere is not waited for any more


def start_all(run: Run) -> None:
    """Cost-blind: every machine that can be had and paid."""
    for c in run.clusters:
        if c.startable and not c.offering.free:
            fleet.start(run, c.index, c.offering.max_machines)


def restart(run: Run) -> int:
    """All machines of the sample are gone: one of each kind that is still needed, if it can be."""
    return sum(fleet.start(run, c.index, 1) for c in run.clusters if c.startable)


def leave_out_late(run: Run) -> None:
    """After the patience, a cluster whose machines do not come is planned without."""
    sample = run.sample
    if sample is None:
        return
    others_done = any(sample.observed[c.index] for c in run.clusters)
    for c in _taking_part(run):
        waiting = run.living[c.index].values()
        patience = run.settings.patience_seconds or max(60.0, c.offering.atu_seconds)
        if (
            others_done
            and not sample.observed[c.index]
            and all(m.state is MachineState.REQUESTED for m in waiting)
            and run.now - run.began_at > patience
        ):
            fleet.set_aside(run, c, f"no machine of it came within {patience:.0f} s")


def _take_as_known(run: Run, known: tuple[tuple[float, ...], ...]) -> None:
    """Runtimes of an earlier run take the place of the sample."""
    for c, runtimes in zip(run.clusters, known, strict=True):
        c.profile = RuntimeProfile(runtimes)
    _draw_lines_by_means(run, [c for c in run.clusters if c.profile.count])


def _draw_lines_by_means(run: Run, part: list[ClusterState]) -> None:
    """Without tasks in common, the ratio of mean runtimes converts between clusters."""
    for c in part[1:]:
        c.line = Line(0.0, c.profile.mean_done / part[0].profile.mean_done)
    run.canonical = RuntimeProfile(
        run.to_canonical(c.index, seconds) for c in part for seconds in c.profile.sample()
    )


def _draw_sample(run: Run) -> Sample:
    settings = run.settings
    sample = Sample(sample_size(settings.tasks), len(run.clusters))
    clusters = [c for c in run.clusters if c.startable]
    if settings.sampling is Sampling.REGRESSION and len(clusters) > 1:
        drawn = [run.tasks.draw() for _ in range(min(settings.replicated, sample.size))]
        sample.replicated = tuple(task for task in drawn if task is not None)
        for c in clusters:
            sample.left[c.index] = list(sample.replicated)
            sample.open[c.index] = set(sample.replicated)
    return sample


def _workers(run: Run, priced: list[ClusterState]) -> list[int]:
    """How many machines of each cluster to sample with (iw in the paper)."""
    settings, sample = run.settings, run.sample
    assert sample is not None
    if settings.sampling is Sampling.IMPLICIT:
        each = min(max(1, settings.tasks // 10), sample.size)
        return [min(each, c.offering.max_machines) for c in priced]
    most = min(settings.initial_workers, sample.size)
    for iw in (most, min(4, most), 1):
        workers = [
            min(-(-iw // c.offering.slots), c.offering.max_machines, settings.tasks) for c in priced
        ]
        cost = sum(
            count * charge_atus(c.offering, run.first_term(c.offering))
            for c, count in zip(priced, workers, strict=True)
        )
        if settings.budget is None or cost * SHARE_OF_BUDGET <= settings.budget:
            return workers
    return _cheapest_first(run, priced, workers)


def _cheapest_first(run: Run, priced: list[ClusterState], workers: list[int]) -> list[int]:
    """Even one machine each is much for this budget: take the cheap ones, leave out the dear."""
    budget = run.settings.budget or NOTHING
    chosen = [0] * len(priced)
    spent = NOTHING
    costs = [charge_atus(c.offering, run.first_term(c.offering)) for c in priced]
    for k in sorted(range(len(priced)), key=costs.__getitem__):
        if workers[k] and (not spent or (spent + costs[k]) * 2 <= budget):
            chosen[k] = 1
            spent = Money(spent + costs[k])
        elif workers[k]:
            fleet.set_aside(
                run,
                priced[k],
                f"sampling it would take {run.shown(costs[k])} of {run.shown(budget)}",
            )
    return chosen


def _taking_part(run: Run) -> list[ClusterState]:
    """Clusters with machines, or with machines still to come."""
    return [c for c in run.clusters if run.living[c.index] or _has_sample(run, c)]


def _has_sample(run: Run, c: ClusterState) -> bool:
    return run.sample is not None and bool(run.sample.observed[c.index])


def _implicit_size(run: Run, c: ClusterState) -> int:
    assert run.sample is not None
    return min(run.sample.size, sum(m.slots for m in run.living[c.index].values()))


def _mean_so_far(run: Run, c: ClusterState) -> float | None:
    assert run.sample is not None
    runtimes = run.sample.observed[c.index].values()
    return sum(runtimes) / len(runtimes) if runtimes else None


def _fill_by_regression(run: Run, sample: Sample, part: list[ClusterState]) -> None:
    """Convert every runtime to the base and from there to every cluster (T §3.1.3)."""
    base = max(part, key=lambda c: (len(sample.observed[c.index]), -c.index))
    sample.base = base.index
    on_base = sample.observed[base.index]
    for c in part:
        pairs = [task for task in sample.observed[c.index] if task in on_base]
        c.line = (
            SAME
            if c is base
            else fit([on_base[t] for t in pairs], [sample.observed[c.index][t] for t in pairs])
        )
        if c.line.doubt:
            run.say(f"{c.offering.name}: speed by the ratio of means; {c.line.doubt}")
    full = dict(on_base)
    for c in part:
        for task, seconds in sample.observed[c.index].items():
            full.setdefault(task, run.to_canonical(c.index, seconds))
    run.canonical = RuntimeProfile(full.values())
    for c in part:
        own = sample.observed[c.index]
        c.profile = RuntimeProfile(
            own[task] if task in own else c.line.convert(seconds) for task, seconds in full.items()
        )
