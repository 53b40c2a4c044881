"""Questions by their verbs. Each is loaded when it is first needed: to load all delays a start."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from bats.master.queries.question import Question

Query = Callable[[Question], Awaitable[Mapping[str, Any]]]

_ROOM: Final = "bats.master.queries"
_PLACES: Final = {
    "bags": "bags:bags",
    "status": "bags:status",
    "wait": "bags:wait",
    "schedules": "plans:schedules",
    "frontier": "plans:frontier",
    "explain": "plans:explain",
    "decisions": "plans:decisions",
    "failures": "failure_causes:why_failed",
    "machines": "machine_history:machines",
    "elasticity": "supply_and_demand:elasticity",
    "elasticity of all": "pools.master_elasticity:elasticity",
    "pools": "pools.pool_facts:pools",
    "tasks": "tasks:tasks",
    "task": "tasks:task",
    "results": "tasks:results",
    "log": "output:log",
    "export": "exporting.export:export",
    "learned": "learned:learned",
}


class _Queries(Mapping[str, Query]):
    def __getitem__(self, verb: str) -> Query:
        module, _, name = _PLACES[verb].partition(":")
        found: Query = getattr(import_module(f"{_ROOM}.{module}"), name)
        return found

    def __contains__(self, verb: object) -> bool:
        return verb in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


QUERIES: Final[Mapping[str, Query]] = _Queries()

OF_A_MASTER: Final = frozenset({"wait"})
"""These ask for what is to come; a store alone cannot answer them."""
