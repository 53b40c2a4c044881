"""Lists of tasks with ids and what each waits for: files of lines, and other people's workflows."""

import json
import shlex
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.records import dataclass
from bats.master.brain.protocol.graph import MOST_EDGES, Graph, Step, graph, worked_off
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.workflow.workflow import Workflow
from bats.master.userfile import read_text

_SHOWN: Final = 8  # of a circle's tasks
_LEAST_SECONDS: Final = 1e-3
_BURN: Final = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass"


@dataclass(frozen=True, slots=True)
class ListedTask:
    """`where` says where in the file it stands, for messages."""

    id: str
    after: tuple[str, ...] = ()
    command: str = ""  # for the shell; "": only how long it took is known
    step: str = "task"
    seconds: float | None = None  # that it took once
    retries: int | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class TaskList:
    """`notes` name what stands in the file and means nothing here."""

    name: str
    tasks: Sequence[ListedTask]
    folder: str = ""  # where commands run
    env: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: str = ""  # where it names files, which commands need


@dataclass(frozen=True, slots=True)
class Emulation:
    """Recorded runtimes in place of commands, so many times as fast."""

    processor: bool = False  # as processor time; else asleep
    speedup: float = 1.0
    timed: bool = True  # False: only the order counts, and none need be recorded


def workflow_from(listed: TaskList, emulation: Emulation | None = None) -> Workflow:
    """Raises UsageError with the place of the first mistake.

    Tasks of a step are put side by side; they keep their ids as the parameter `id`.
    """
    tasks = _by_step(listed.tasks)
    speedup = 1.0 if emulation is None else emulation.speedup
    groups: dict[tuple[str, int | None], list[ListedTask]] = {}
    for task in tasks:
        groups.setdefault((task.step, task.retries), []).append(task)
    taken: set[str] = set()
    steps = []
    for (name, _), members in groups.items():
        apart = name
        while apart in taken:
            apart += "'"
        taken.add(apart)
        steps.append(_step(apart, members, listed, emulation))
    retries = tuple(limit for _, limit in groups)
    numbered = [task for members in groups.values() for task in members]
    edges = _edges(numbered)
    shares = [Step(step.name, step.count) for step in steps]
    made = graph(shares, edges)
    _refuse_circles(made, numbered)
    return Workflow(
        tuple(steps),
        ((),) * len(steps),
        retries,
        made.edges,
        name=listed.name,
        base=listed.folder,
        notes=listed.notes + _about_files(listed, emulation),
        seconds=tuple(_known(task.seconds) / speedup for task in numbered),
    )


def _known(seconds: float | None) -> float:
    """0 is of tasks that are not recorded: those recorded as taking none take a little."""
    return 0.0 if seconds is None else max(seconds, _LEAST_SECONDS)


def _about_files(listed: TaskList, emulation: Emulation | None) -> tuple[str, ...]:
    if not listed.files or emulation is not None:
        return ()
    return (f"{listed.files}: files are not brought; they must lie where the tasks run",)


def task_lines(path: Path) -> TaskList:
    """A file with a JSON object in each line: `id`, `command` or `argv`, `after`, `step`, ..."""
    tasks = []
    for number, line in enumerate(read_text(path, "the list of tasks").splitlines(), 1):
        if line.strip():
            tasks.append(_of_line(line, f"{path}, line {number}"))
    return TaskList(path.stem, tasks, str(path.absolute().parent))


def _of_line(line: str, where: str) -> ListedTask:
    try:
        written = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: this is not JSON: {error}.") from None
    if not isinstance(written, dict):
        raise UsageError(f"{where}: should be an object with `id` and `command`.")
    known = ("id", "command", "argv", "after", "step", "seconds", "retries")
    if unknown := [key for key in written if key not in known]:
        raise UsageError(f"{where}: `{unknown[0]}` is no key here; known are {', '.join(known)}.")
    name, after, argv = written.get("id"), written.get("after", []), written.get("argv", [])
    after = [after] if isinstance(after, str | int) else after
    command, retries = written.get("command", ""), written.get("retries")
    if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
        raise UsageError(f"{where}: `id` should be a text or a number, not {quoted(name)}.")
    if not isinstance(after, list) or not all(isinstance(one, str | int) for one in after):
        raise UsageError(f"{where}: `after` should be a list of ids, not {quoted(after)}.")
    if not isinstance(argv, list) or not isinstance(command, str) or bool(argv) == bool(command):
        raise UsageError(f"{where}: a task needs `command`, a text, or `argv`, a list of texts.")
    if retries is not None and (type(retries) is not int or not 0 <= retries <= 1000):
        raise UsageError(f"{where}: `retries` should be a whole number, not {quoted(retries)}.")
    seconds = written.get("seconds")
    if seconds is not None and (type(seconds) not in {int, float} or seconds < 0):
        raise UsageError(f"{where}: `seconds` should be a number, 0 or more.")
    return ListedTask(
        str(name),
        tuple(map(str, after)),
        command or shlex.join(map(str, argv)),
        str(written.get("step", "task")),
        seconds,
        retries,
        where,
    )


# --- tasks to steps -------------------------------------------------------------------------------


def _by_step(tasks: Sequence[ListedTask]) -> Sequence[ListedTask]:
    seen: dict[str, ListedTask] = {}
    for task in tasks:
        if (other := seen.setdefault(task.id, task)) is not task:
            raise UsageError(
                f"{task.where}: the task {quoted(task.id)} is given before, at {other.where}."
            )
    if not tasks:
        raise UsageError("The list has no task.")
    return tasks


def _step(
    name: str, members: Sequence[ListedTask], listed: TaskList, emulation: Emulation | None
) -> Sweep:
    ids = Listed(task.id for task in members)
    if emulation is not None:
        column = "seconds"
        values = Listed(_shortened(task, emulation) for task in members)
        burn = ("python3", "-c", _BURN, "{seconds}")
        argv = burn if emulation.processor else ("sleep", "{seconds}")
        return Sweep(Space((Axis(("id", column), (ids, values)),)), name=name, argv=argv)
    for task in members:
        if not task.command:
            raise UsageError(
                f"{task.where}: the task {quoted(task.id)} has no command; with --emulate each "
                "task takes the time that is recorded."
            )
    commands = _listed(members)
    return Sweep(
        Space((Axis(("id", "command"), (ids, commands)),)),
        name=name,
        command="{command!raw}",
        cwd=listed.folder.replace("{", "{{").replace("}", "}}"),
        env={key: text.replace("{", "{{").replace("}", "}}") for key, text in listed.env.items()},
        base=listed.folder,
    )


def _listed(members: Iterable[ListedTask]) -> Listed:
    for_messages = list(members)
    try:
        return Listed(task.command for task in for_messages)
    except ValueError as error:
        raise UsageError(f"{for_messages[0].where}: {error}.") from None


def _shortened(task: ListedTask, emulation: Emulation) -> str:
    if task.seconds is None and not emulation.timed:
        return "0"
    if task.seconds is None:
        raise UsageError(
            f"{task.where}: no runtime is recorded of the task {quoted(task.id)}, so it cannot be "
            "emulated."
        )
    return f"{task.seconds / emulation.speedup:.6g}"


def _edges(tasks: Sequence[ListedTask]) -> list[tuple[int, int]]:
    place = {task.id: number for number, task in enumerate(tasks)}
    edges = []
    for number, task in enumerate(tasks):
        for parent in task.after:
            if parent not in place:
                raise UsageError(
                    f"{task.where}: {quoted(task.id)} waits for {quoted(parent)}, which is no task "
                    "of the list."
                )
            edges.append((place[parent], number))
    if len(edges) > MOST_EDGES:
        raise UsageError(f"{len(edges):,} edges; at most {MOST_EDGES:,} are possible.")
    return edges


def _refuse_circles(of: Graph, tasks: Sequence[ListedTask]) -> None:
    free = worked_off(of)
    if len(free) == of.tasks:
        return
    left = set(range(of.tasks)) - set(free)
    flat: array[int] = of.pairs()
    parents = {
        child: parent
        for parent, child in zip(flat[::2], flat[1::2], strict=True)
        if parent in left and child in left
    }
    path = [min(left)]
    while parents[path[-1]] not in path:
        path.append(parents[path[-1]])
    circle = [*path[path.index(parents[path[-1]]) :], parents[path[-1]]][::-1]
    shown = " -> ".join(tasks[one].id for one in circle[:_SHOWN])
    more = " -> …" if len(circle) > _SHOWN else ""
    raise UsageError(
        f"{tasks[circle[0]].where}: {shown}{more}: these wait for one another, so none can begin."
    )
