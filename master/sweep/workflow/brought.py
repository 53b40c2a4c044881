"""Files that the tasks of a step leave to those of a later one, which find them beside them."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from bats.common.errors import quoted
from bats.master.brain.protocol.graph import Graph
from bats.master.sweep.sweep import MistakeError, Sweep
from bats.master.sweep.workflow.after import After

_OUTPUTS: Final = re.compile(r"\{after\.(.+)\.outputs\}")


def parted(inputs: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Inputs that are files, and the steps whose outputs are inputs: `{after.sweep.outputs}`."""
    files: list[str] = []
    steps: list[str] = []
    for one in inputs:
        found = _OUTPUTS.fullmatch(one)
        (steps if found else files).append(found[1] if found else one)
    return tuple(files), tuple(dict.fromkeys(steps))


def check(
    steps: Sequence[Sweep], after: Sequence[Sequence[After]], brings: Sequence[Sequence[str]]
) -> None:
    """Raises MistakeError for outputs that are not waited for, or that nobody leaves."""
    left = {step.name: step.outputs for step in steps}
    for mine, names in enumerate(brings):
        awaited = {rule.step for rule in after[mine]}
        for name in names:
            if name not in awaited:
                known = ", ".join(sorted(awaited)) or "nothing"
                raise MistakeError(
                    ("step", mine, "inputs"),
                    f"the outputs of {quoted(name)} are wanted and it is not waited for; "
                    f"`after` names {known}",
                )
            if not left[name]:
                raise MistakeError(
                    ("step", mine, "inputs"),
                    f"the step {name} leaves nothing; say in its `outputs` which files it does",
                )


class Sources:
    """The tasks whose outputs a task is brought: its parents, of the graph turned round once."""

    def __init__(self, of: Graph, brings: Sequence[Sequence[str]]) -> None:
        import numpy as np

        place = {step.name: k for k, step in enumerate(of.steps)}
        self._brings = [[place[name] for name in names] for names in brings]
        self._starts = of.starts()
        self._barriers = frozenset(of.barriers)
        flat: Any = np.frombuffer(of.edges, "<u4").reshape(-1, 2)
        by_child = np.argsort(flat[:, 1], kind="stable")
        self._parents = flat[by_child, 0]
        self._first = np.searchsorted(flat[by_child, 1], np.arange(of.tasks + 1))

    def of(self, task: int, step: int) -> list[tuple[range, Sequence[int]]]:
        """The tasks of each step whose outputs it is brought, beside all tasks of that step."""
        parents = self._parents[self._first[task] : self._first[task + 1]].tolist()
        found: list[tuple[range, Sequence[int]]] = []
        for theirs in self._brings[step]:
            whole = range(self._starts[theirs], self._starts[theirs + 1])
            all_of_it = (theirs, step) in self._barriers
            mine = whole if all_of_it else [parent for parent in parents if parent in whole]
            found.append((whole, mine))
        return found
