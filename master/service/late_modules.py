"""Modules that a start does without, for all of which the first tasks would wait.

They are loaded soon after it, not when they are first needed: the package may be replaced while a
master runs, which must not mix two releases.
"""

import os
from importlib import import_module
from typing import Final

from bats.deploy.registry import BACKENDS, EXTRAS
from bats.master.queries.by_verb import QUERIES

_OF_ALL: Final = ("bats.master.service.pools.pool_keeper", "bats.master.simulate.foresight")
_OF_PLANS: Final = ("scipy.special", "bats.master.brain.policies.workflows.workflow_problem")


def load_of_all() -> None:
    """Load what any bag may need, which takes some 50 ms: none of it needs numpy or an SDK."""
    tuple(QUERIES.values())
    for name in _OF_ALL:
        import_module(name)
    for name, target in BACKENDS.items():
        if name not in EXTRAS:
            import_module(target.partition(":")[0])


def load_of_plans() -> None:
    """Load numpy and scipy in this thread, which may use one processor meanwhile.

    Where they see more, OpenBLAS begins threads, which spin for a tenth of a second, for nothing.
    """
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        for name in _OF_PLANS:
            import_module(name)
    finally:
        os.sched_setaffinity(0, allowed)
