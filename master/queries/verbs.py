"""Questions by their verbs."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from bats.master.queries import bags, export, failures, machines, output, plans, tasks
from bats.master.queries.question import Body, Question

QUERIES: Final[Mapping[str, Callable[[Question], Awaitable[Body]]]] = {
    "bags": bags.bags,
    "status": bags.status,
    "wait": bags.wait,
    "schedules": plans.schedules,
    "explain": plans.explain,
    "decisions": plans.decisions,
    "failures": failures.why_failed,
    "machines": machines.machines,
    "tasks": tasks.tasks,
    "task": tasks.task,
    "results": tasks.results,
    "log": output.log,
    "export": export.export,
}

OF_A_MASTER: Final = frozenset({"wait", "schedules", "explain"})
"""These ask for a bag at work; a store alone cannot answer them."""
