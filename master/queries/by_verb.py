"""Questions by their verbs."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from bats.master.queries import (
    bags,
    failure_causes,
    learned,
    machine_history,
    output,
    plans,
    supply_and_demand,
    tasks,
)
from bats.master.queries.exporting import export
from bats.master.queries.pools import master_elasticity, pool_facts
from bats.master.queries.question import Question

QUERIES: Final[Mapping[str, Callable[[Question], Awaitable[Mapping[str, Any]]]]] = {
    "bags": bags.bags,
    "status": bags.status,
    "wait": bags.wait,
    "schedules": plans.schedules,
    "frontier": plans.frontier,
    "explain": plans.explain,
    "decisions": plans.decisions,
    "failures": failure_causes.why_failed,
    "machines": machine_history.machines,
    "elasticity": supply_and_demand.elasticity,
    "elasticity of all": master_elasticity.elasticity,
    "pools": pool_facts.pools,
    "tasks": tasks.tasks,
    "task": tasks.task,
    "results": tasks.results,
    "log": output.log,
    "export": export.export,
    "learned": learned.learned,
}

OF_A_MASTER: Final = frozenset({"wait"})
"""These ask for what is to come; a store alone cannot answer them."""
