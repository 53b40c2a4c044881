"""A workflow: several sweeps, each a step, whose tasks may wait for one another."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from bats.common.capacity.resources import Resources
from bats.common.errors import UsageError, quoted
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.protocol.graph import Graph, packed_seconds, unpacked_seconds
from bats.master.sweep.sweep import Input, Sweep, fitting
from bats.master.sweep.workflow.after import After, after_from_plain, graph_of
from bats.master.sweep.workflow.brought import Sources, check

if TYPE_CHECKING:
    from bats.common.messages import BagId, BagSpec

STEP: Final = "step"
"""The column that says of each task which step it is of."""

_PLAIN: Final = 1  # raised when the plain form changes so that an older reader would err
_PARTS: Final = frozenset(
    {"steps", "after", "retries", "edges", "brings", "policy", "notes", "seconds"}
)


@dataclass(frozen=True)
class Workflow:
    """`after`, `retries` and `brings` say something of each step, in their order.

    Tasks are numbered step by step. `edges` are those of a list of tasks, as a graph holds them.
    """

    steps: tuple[Sweep, ...]
    after: tuple[tuple[After, ...], ...]
    retries: tuple[int | None, ...]
    edges: bytes = b""
    brings: tuple[tuple[str, ...], ...] = ()  # of each step: steps whose outputs are its inputs
    name: str = "workflow"
    base: str = ""  # the folder that `inputs` are named from
    max_failures: int = 0
    replicate: bool = True
    slots: int = 1  # of each task, as version 0.1.0 said it; steps say their own
    at_once: int = 0
    budget: Money | None = None
    deadline_seconds: float | None = None
    pick: str = ""
    notify: str = ""
    policy: Mapping[str, str | int | float] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=(), compare=False)  # what of its file means nothing here
    seconds: tuple[float, ...] = field(default=(), compare=False)  # that each task took once

    def __post_init__(self) -> None:
        if not self.steps or {len(self.steps)} != {len(self.after), len(self.retries)}:
            raise UsageError("a workflow needs a step, and to know of each what it waits for")
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise UsageError(f"two steps have the same name, of: {', '.join(names)}")
        if self.brings and len(self.brings) != len(self.steps):
            raise UsageError("a workflow needs to know of each step what it is brought")

    @cached_property
    def graph(self) -> Graph:
        """Raises MistakeError for what goes round in a circle or waits for nothing."""
        check(self.steps, self.after, self.brings)
        made = graph_of(self.steps, self.after, self.retries, self.edges)
        return replace(made, seconds=packed_seconds(self.seconds))

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(step.count for step in self.steps)]

    @property
    def open(self) -> bool:
        """A workflow has all its tasks from the beginning."""
        return False

    @property
    def count(self) -> int:
        return self._starts[-1]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The step, and every parameter that one of the steps has."""
        own = dict.fromkeys(name for step in self.steps for name in step.names)
        return (STEP, *(name for name in own if name != STEP))

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self.graph, self.brings)

    def is_brought(self, index: int) -> bool:
        """True if files that others left are among the task's inputs."""
        return bool(self.brings and self.brings[self.step_of(index)])

    def sources(self, index: int) -> list[tuple[range, Sequence[int]]]:
        """The tasks whose outputs are the task's inputs, by step, beside all tasks of that."""
        return self._sources.of(index, self.step_of(index)) if self.is_brought(index) else []

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for step in self.steps for path in step.inputs))

    @property
    def needs(self) -> Resources:
        """The part of a machine in which a task of any step fits: of each the most asked for."""
        return reduce(Resources.with_most, (s.needs for s in self.steps), Resources(self.slots))

    def step_of(self, index: int) -> int:
        return bisect_right(self._starts, index) - 1

    def place(self, index: int) -> tuple[Sweep, int]:
        """The step of a task, and its number within it."""
        if not 0 <= index < self.count:
            raise IndexError(index)
        step = self.step_of(index)
        return self.steps[step], index - self._starts[step]

    def filling(self, index: int) -> tuple[str, ...]:
        """The values that fill the templates of the task's own step."""
        step, number = self.place(index)
        return step.values(number)

    def values(self, index: int) -> tuple[str, ...]:
        """The values of a task in the order of `names`; "" of parameters that it has not."""
        own = self.parameters(index)
        return tuple(own.get(name, "") for name in self.names)

    def parameters(self, index: int) -> dict[str, str]:
        step, number = self.place(index)
        return {STEP: step.name, **step.parameters(number)}

    def types(self) -> dict[str, type]:
        """The type of each parameter's values, in all the steps that have it."""
        found: dict[str, type] = {STEP: str}
        for step in self.steps:
            for name, kind in step.types().items():
                found[name] = kind if found.get(name, kind) is kind else str
        return found | {STEP: str}

    def preview(self, index: int) -> str:
        step, number = self.place(index)
        return step.preview(number)

    def input_paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for step in self.steps for path in step.input_paths()))

    def spec(
        self,
        bag: "BagId",
        *,
        output_folder: str = "",
        inputs: Sequence[Input] = (),
        cluster: str = "",
        step: int = 0,
    ) -> "BagSpec":
        """The message to workers about one step; of the `inputs` it has its own."""
        sweep = self.steps[step]
        mine = set(sweep.input_paths())
        own = tuple(one for one in inputs if _is_of(one[0], mine))
        return sweep.spec(bag, output_folder=output_folder, inputs=own, cluster=cluster)

    def to_plain(self) -> dict[str, Any]:
        """Lists, texts and numbers: what goes over the wire and into the store."""
        return {
            "workflow": _PLAIN,
            "steps": [step.to_plain() for step in self.steps],
            "after": [[one.to_plain() for one in rules] for rules in self.after],
            "retries": list(self.retries),
            "edges": self.edges,
            "brings": [list(names) for names in self.brings],
            "seconds": packed_seconds(self.seconds),
            "policy": dict(self.policy),
            **{name: getattr(self, name) for name in _WHOLE},
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Workflow":
        """The opposite. Raises UsageError for what is none: it may come from another's program."""
        try:
            if plain["workflow"] != _PLAIN:
                raise UsageError(
                    f"the workflow is written in version {quoted(plain['workflow'])} and this "
                    f"program reads {_PLAIN}; use the same release on both sides"
                )
            kinds = cls.__annotations__
            return cls(
                tuple(Sweep.from_plain(step) for step in plain["steps"]),
                tuple(tuple(map(after_from_plain, rules)) for rules in plain["after"]),
                tuple(map(_retries, plain["retries"])),
                _pairs(plain["edges"]),
                tuple(tuple(map(str, names)) for names in plain.get("brings", ())),
                seconds=_took(plain.get("seconds", b"")),
                policy=fitting(plain["policy"], kinds["policy"]),
                **{name: fitting(plain[name], kinds[name]) for name in _WHOLE},
            )
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise UsageError(f"the workflow sent cannot be understood: {error}") from error


_WHOLE: Final = tuple(name for name in Workflow.__dataclass_fields__ if name not in _PARTS)
"""Fields that say something of the workflow as a whole."""


def _retries(written: Any) -> int | None:
    if written is None or (type(written) is int and 0 <= written <= 1000):
        return written
    raise TypeError(f"{quoted(written)} in place of retries")


def _pairs(written: Any) -> bytes:
    if isinstance(written, bytes) and len(written) % 8 == 0:
        return written
    raise TypeError("something else in place of pairs of tasks")


def _took(written: Any) -> tuple[float, ...]:
    if isinstance(written, bytes) and len(written) % 4 == 0:
        return tuple(unpacked_seconds(written))
    raise TypeError("something else in place of the runtimes of tasks")


def _is_of(name: str, paths: set[str]) -> bool:
    """True if a file is one of these, or in a folder that is."""
    while name and name not in paths:
        name = name.rpartition("/")[0]
    return bool(name) or "." in paths
