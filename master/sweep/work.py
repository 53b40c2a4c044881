"""The work of a bag: a sweep, whose tasks are all alike, or a workflow of several steps."""

from collections.abc import Mapping
from typing import Any

from bats.master.sweep.quoting import check_quoting
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.workflow.workflow import Workflow

Work = Sweep | Workflow


def work_from_plain(plain: Mapping[str, Any]) -> Work:
    """The work that was written as plain data. Raises UsageError for what is none."""
    return Workflow.from_plain(plain) if "workflow" in plain else Sweep.from_plain(plain)


def checked(work: Work) -> Work:
    """The work, if no value can get out of its quotes and nothing waits for itself.

    Raises MistakeError.
    """
    for sweep in work.steps if isinstance(work, Workflow) else (work,):
        check_quoting(sweep)
    _ = work.graph
    return work
