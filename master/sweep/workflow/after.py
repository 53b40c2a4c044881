"""The order that steps ask for, task by task: `after` rules become barriers and edges."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

from bats.common.errors import quoted
from bats.common.records import dataclass
from bats.master.brain.protocol.graph import MOST_EDGES, Graph, Step
from bats.master.sweep.space import alike
from bats.master.sweep.sweep import MistakeError, Sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN: Final = 8  # of a cycle's tasks


@dataclass(frozen=True, slots=True)
class After:
    """Another step to wait for: all of it, or the tasks that have some values in common with mine.

    `each` names parameters that are equal here and there, `where` theirs and the equal one of mine.
    """

    step: str
    each: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> dict[str, str]:
        """Their parameter: mine."""
        return {**{name: name for name in self.each}, **self.where}

    def to_plain(self) -> dict[str, Any]:
        return {"step": self.step, "each": list(self.each), "where": dict(self.where)}


def after_from_plain(plain: Mapping[str, Any]) -> After:
    return After(
        str(plain["step"]),
        tuple(map(str, plain["each"])),
        {str(theirs): str(mine) for theirs, mine in plain["where"].items()},
    )


def graph_of(
    steps: Sequence[Sweep],
    after: Sequence[Sequence[After]],
    retries: Sequence[int | None],
    edges: bytes = b"",
) -> Graph:
    """Raises MistakeError at the `after` that means nothing, or goes round in a circle.

    `edges` are further ones, as a list of tasks has them.
    """
    import numpy as np

    shares = tuple(
        Step(step.name, step.count, limit) for step, limit in zip(steps, retries, strict=True)
    )
    starts = Graph(shares).starts()
    place = {step.name: k for k, step in enumerate(steps)}
    barriers: set[tuple[int, int]] = set()
    found = [np.frombuffer(edges, "<u4").reshape(-1, 2).astype("u8")]
    for mine, rules in enumerate(after):
        for at, rule in enumerate(rules):
            keys = ("step", mine, "after", at)
            if rule.step not in place:
                raise MistakeError(keys, _no_step(rule.step, place))
            theirs = place[rule.step]
            if not rule.pairs:
                if theirs == mine:
                    raise MistakeError(keys, f"{rule.step} -> {rule.step}: a step cannot wait for "
                                       "all of itself")  # fmt: skip
                barriers.add((theirs, mine))
                continue
            pairs = _matching(steps[theirs], steps[mine], rule, keys)
            found.append(pairs + np.array([starts[theirs], starts[mine]], "u8"))
    every = np.concatenate(found)
    if len(every) > MOST_EDGES:
        raise MistakeError(("step",), f"{len(every):,} pairs of tasks that wait for one another; "
                           f"at most {MOST_EDGES:,} are possible")  # fmt: skip
    keys_of_edges = np.unique(every[:, 0] << np.uint64(32) | every[:, 1])
    flat = np.empty((len(keys_of_edges), 2), "<u4")
    flat[:, 0] = keys_of_edges >> np.uint64(32)
    flat[:, 1] = keys_of_edges & np.uint64(0xFFFFFFFF)
    made = Graph(shares, tuple(sorted(barriers)), flat.tobytes())
    _refuse_circles(made, flat)
    return made


def _matching(
    theirs: Sweep, mine: Sweep, rule: After, keys: tuple[str | int, ...]
) -> "NDArray[Any]":
    """Pairs of their task and mine, each counted from the first of its step."""
    import numpy as np

    for sweep, names in ((theirs, rule.pairs), (mine, rule.pairs.values())):
        for name in names:
            if name not in sweep.names:
                known = ", ".join(sweep.names) or "none"
                raise MistakeError(
                    keys, f"step {sweep.name} has no parameter {quoted(name)}; it has {known}"
                )
    rows: dict[tuple[Any, ...], list[int]] = {}
    for number, key in enumerate(_keys(theirs, rule.pairs)):
        rows.setdefault(key, []).append(number)
    flat: list[int] = []
    for number, key in enumerate(_keys(mine, rule.pairs.values())):
        matching = rows.get(key)
        if matching is None:
            wanted = ", ".join(
                f"{name} = {mine.parameters(number)[own]}" for name, own in rule.pairs.items()
            )
            raise MistakeError(
                keys, f"no task of {theirs.name} has {wanted}, which task {number} of "
                f"{mine.name} waits for"
            )  # fmt: skip
        for one in matching:
            flat += one, number
        if len(flat) > 2 * MOST_EDGES:
            break
    return np.array(flat, "u8").reshape(-1, 2)


def _keys(sweep: Sweep, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    places = [sweep.names.index(name) for name in names]
    for number in range(sweep.count):
        values = sweep.values(number)
        yield tuple(alike(values[place]) for place in places)


def _no_step(name: str, place: Mapping[str, int]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, place, 1)
    meant = f"did you mean {near[0]}?" if near else f"the steps are {', '.join(place)}"
    return f"no step is called {quoted(name)}; {meant}"


# --- circles --------------------------------------------------------------------------------------


def _refuse_circles(of: Graph, edges: "NDArray[Any]") -> None:
    """Raise MistakeError if tasks wait for one another in a circle.

    Between steps that wait for one another in no circle there is none between tasks either.
    """
    between = _between_steps(of, edges)
    try:
        TopologicalSorter(between).prepare()
    except CycleError as error:
        left = _in_circles(of)
        if left:
            cycle = error.args[1]
            names = " -> ".join(of.steps[step].name for step in cycle[:_SHOWN])
            more = " -> …" if len(cycle) > _SHOWN else ""
            at = ("step", max(cycle), "after")
            raise MistakeError(
                at, f"{names}{more}: these wait for one another, so none can begin "
                f"({left:,} tasks)"
            ) from None  # fmt: skip


def _between_steps(of: Graph, edges: "NDArray[Any]") -> dict[int, set[int]]:
    """The steps that each step waits for."""
    import numpy as np

    between: dict[int, set[int]] = {step: set() for step in range(len(of.steps))}
    for before, after in of.barriers:
        between[after].add(before)
    steps = np.searchsorted(np.array(of.starts()[1:]), edges, side="right")
    for before, after in np.unique(steps, axis=0).tolist() if len(steps) else ():
        between[after].add(before)
    return between


def _in_circles(of: Graph) -> int:
    """The number of tasks that could never begin."""
    from bats.master.brain.protocol.graph import worked_off

    return of.tasks - len(worked_off(of))
