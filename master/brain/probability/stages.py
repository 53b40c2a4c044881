"""A workflow in stages, as plans see it: the tasks of a step that may run at the same time.

A stage is what has the same longest way from an entry. Tasks of one step there are one group, whose
runtimes are alike. Searching goes by stages, as if each waited for the whole one before; what is
found is then run through by the order itself (`rented_machines`).
"""

from collections import defaultdict
from collections.abc import Sequence

from bats.common.records import dataclass
from bats.master.brain.probability.reduction import Parents, levels_of


@dataclass(frozen=True, slots=True)
class Order:
    """Of each task its step, and those it waits for.

    A step beyond the last whose runtimes are known is that of barriers: of tasks without length.
    """

    step: Sequence[int]
    parents: Parents

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks of one step in one stage."""

    step: int
    tasks: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tasks)


Stage = tuple[Group, ...]


def stages(order: Order) -> tuple[Stage, ...]:
    found = []
    for level in levels_of(order.parents):
        by_step: dict[int, list[int]] = defaultdict(list)
        for task in level:
            by_step[order.step[task]].append(task)
        found.append(tuple(Group(step, tuple(tasks)) for step, tasks in sorted(by_step.items())))
    return tuple(found)
