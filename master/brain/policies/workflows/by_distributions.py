"""A provisioner for workflows: each step has its machines, found with distributions.

The plan says of each step of which kinds it has how many; a wide step may have several kinds.
Machines are had for the steps that can go on now, and leave when their paid time ends and the next
steps want others. It is found anew when another quarter is done. Where no plan keeps the budget, or
the deadline, with the chance asked for, the timetable decides as it does for all bags.
"""

from collections.abc import Sequence
from typing import Final

from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import BySteps, Plan
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import money_left
from bats.master.brain.views.readonly import RunView, TaskState

PARTS: Final = 4
"""Of a workflow, after each of which the plan is found anew."""

LOOKED_AT: Final = 4
"""Plans that are run through for one."""


class ByDistributions(ByTimetable):
    def __init__(self, prudence: float, judge: str) -> None:
        """`judge` sees runtimes: by its name in `workflow_planning`."""
        super().__init__(prudence)
        self._judge = judge

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        if not run.tasks.waiting:
            return super().plan(run, clusters, view, cause)
        known = run.plan.by_step if run.plan is not None else ()
        if run.plan is None or not known or _is_old(run):
            known = self._found(run, clusters)
        if not known:
            return super().plan(run, clusters, view, cause)
        return Aim(_plan(run, clusters, view, known), cause)

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        if run.plan is None or not run.plan.by_step:
            return super().watch(run, clusters, view)
        known = run.plan.by_step
        if _is_old(run):
            known = self._found(run, clusters)
        if not known:
            return super().watch(run, clusters, view)
        plan = _plan(run, clusters, view, known)
        there = tuple(len(run.pool.staying(k)) for k in range(len(clusters)))
        if known == run.plan.by_step and plan.mix == there:
            return None
        return Aim(plan, "steps go on")

    def _found(self, run: RunView, clusters: tuple[Cluster, ...]) -> BySteps:
        from bats.master.brain.policies.workflows.workflow_problem import workflow_problem
        from bats.master.brain.probability import workflow_planning

        problem = workflow_problem(run, clusters)
        graph = run.settings.graph
        if problem is None or graph is None:
            return ()
        find = workflow_planning.fastest
        if run.choice.deadline_at is not None and not run.choice.missed:
            find = workflow_planning.cheapest
        found = find(problem, workflow_planning.JUDGES[self._judge], looks=LOOKED_AT)
        if found is None or found.within < problem.chance / 2:
            return ()
        on = found.of_steps()
        usual = next(iter(on.values()))
        return tuple(
            tuple((one.kind, one.machines) for one in on.get(step, usual))
            for step in range(len(graph.steps))
        )


def _is_old(run: RunView) -> bool:
    plan = run.plan
    return plan is not None and (run.tasks.done - plan.done) * PARTS >= len(run.tasks)


def _plan(run: RunView, clusters: tuple[Cluster, ...], view: Outlook, known: BySteps) -> Plan:
    """Machines for the steps that can go on now, no more than have a task there."""
    mix = [0] * len(clusters)
    starts = run.settings.graph.starts() if run.settings.graph else ()
    for step, on in enumerate(known):
        ready = _going_on(run, starts, step)
        for kind, machines in on:  # those that take less time first
            slots = clusters[kind].offering.slots
            useful = min(machines, -(-ready // slots))
            mix[kind] += useful
            ready = max(0, ready - useful * slots)
    mix = [min(count, c.limit) for count, c in zip(mix, clusters, strict=True)]
    speed = _speed(tuple(mix), clusters)
    seconds = view.N_e / speed if speed else 0.0
    return Plan(tuple(mix), speed, seconds, money_left(run), by_step=known)


def _going_on(run: RunView, starts: Sequence[int], step: int) -> int:
    """The tasks of a step that run or can be begun."""
    states = run.tasks.states[starts[step] : starts[step + 1]]
    return states.count(TaskState.WAITING) + states.count(TaskState.RUNNING)


def _speed(mix: Mix, clusters: tuple[Cluster, ...]) -> float:
    return sum(count * c.speed for count, c in zip(mix, clusters, strict=True))
