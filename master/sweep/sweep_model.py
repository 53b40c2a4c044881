"""The sweep file as a model: its keys, what each may hold, and the sentence when it does not."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from bats.common.errors import quoted
from bats.common.money import Money
from bats.common.records import dataclass
from bats.common.units import octets
from bats.master.model_checks import (
    Checked,
    Reads,
    Whole,
    amount,
    positive_duration,
    suggestion,
    text_of,
)
from bats.master.sweep.columns import (
    Chained,
    Column,
    Listed,
    Spaced,
    array_of,
    decimal,
    looks_like_range,
    range_of,
    spaced,
)
from bats.master.sweep.policy import Policy
from bats.master.sweep.workflow.after import After

PICKS: Final = (
    "ask",
    "cheapest",
    "cheapest+10%",
    "cheapest+20%",
    "balanced",
    "fastest-20%",
    "fastest-10%",
    "fastest",
)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOW: Final = 'write a list [1, 2, 3], a range "start:stop:step", or {file = "values.txt"}'
_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_VALUES: Final = {
    "description": "The values of a parameter: a list, a range, or a file with one in each line.",
    "anyOf": [
        {"type": "array", "items": _SCALAR, "minItems": 1},
        {"type": "string", "description": 'start:stop:step, the stop included: "0.1:1:0.1"'},
        {
            "type": "object",
            "properties": {
                "range": {
                    "type": "array",
                    "items": {"type": ["string", "number"]},
                    "minItems": 2,
                    "maxItems": 3,
                },
                "values": {"type": "array", "items": _SCALAR, "minItems": 1},
                "file": {"type": "string"},
            },
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        },
    ],
}


@dataclass(frozen=True, slots=True)
class LinesOf:
    """Values that stand in a file, one in each line."""

    path: str


def parameter_name(name: Any) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise ValueError(
        f"{quoted(name)} cannot be a parameter's name; use letters, digits and _, a letter first"
    )


def values_of(written: Any) -> Column | LinesOf:
    """The values of one parameter, however they are given."""
    match written:
        case Listed() | Spaced() | Chained() | LinesOf():
            return written
        case list() | tuple():
            if not written:
                raise ValueError(f"the list is empty; {_HOW}")
            return Listed(text_of(value) for value in written)
        case str() if looks_like_range(written):
            return range_of(written)
        case {"range": bounds, **more} if not more:
            if not isinstance(bounds, list) or not 2 <= len(bounds) <= 3:
                raise ValueError(
                    f"range should be [start, stop] or [start, stop, step], not {quoted(bounds)}"
                )
            return spaced(*(decimal(text_of(bound)) for bound in bounds))
        case {"values": list() as values, **more} if not more:
            return values_of(values)
        case {"file": str() as path, **more} if not more:
            return LinesOf(path)
        case dict():
            unknown = [str(key) for key in written if key not in {"range", "values", "file"}]
            if unknown:
                known = ("range", "values", "file")
                raise ValueError(f"`{unknown[0]}` is no key here; {suggestion(unknown[0], known)}")
    raise ValueError(f"{quoted(written)} gives no values; {_HOW}")


def _texts(written: Any) -> tuple[str, ...]:
    if isinstance(written, list | tuple):
        return tuple(text_of(value) for value in written)
    raise ValueError(f'should be a list of texts, for example ["a", "b"], not {quoted(written)}')


def _files(written: Any) -> tuple[str, ...]:
    """Names from the sweep file's folder on: in the scratch folder they are called the same."""
    names = _texts(written)
    for name in names:
        if not name or name.startswith(("/", "~")) or ".." in name.split("/"):
            raise ValueError(
                f"{quoted(name)} does not lie beside the sweep file; name files from its folder on"
            )
    return names


def _file(written: Any) -> str:
    (name,) = _files([written])
    return name


def _variable(name: Any) -> str:
    if isinstance(name, str) and name and "=" not in name:
        return name
    raise ValueError(f"{quoted(name)} cannot be the name of an environment variable")


def _pick(written: Any) -> str:
    if isinstance(written, str) and written.lower() in PICKS:
        return written.lower()
    near = suggestion(written, PICKS) if isinstance(written, str) else ""
    raise ValueError(f"{quoted(written)} names no schedule; {near}")


def _exclusion(written: Any) -> tuple[str, ...]:
    if isinstance(written, list | dict) or (isinstance(written, str) and looks_like_range(written)):
        values = values_of(written)
        if isinstance(values, LinesOf):
            raise ValueError("list the values to exclude here")
        return tuple(values)
    return (text_of(written),)


Text = Annotated[str, Reads(text_of, _SCALAR)]
Texts = Annotated[tuple[str, ...], Reads(_texts, {"type": "array", "items": _SCALAR})]
Files = Annotated[tuple[str, ...], Reads(_files, {"type": "array", "items": {"type": "string"}})]
Name = Annotated[str, Reads(parameter_name, {"type": "string", "pattern": f"^{_NAME.pattern}$"})]
Variable = Annotated[str, Reads(_variable, {"type": "string", "pattern": "^[^=]+$"})]
Values = Annotated[Any, Reads(values_of, _VALUES)]
Excluded = Annotated[
    tuple[str, ...],
    Reads(
        _exclusion, {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}, _VALUES["anyOf"][2]]}
    ),
]
_DURATION: Final = {"type": ["string", "number"], "examples": ["90s", "1h 30m", "12:00:00"]}
_AMOUNT: Final = {"type": ["string", "number"], "examples": ["12.50"]}


class Resources(Checked):
    """The part of its machine that one task takes."""

    slots: Whole = Field(1, ge=1, le=100_000, description="The same as `cpus`, which is shorter.")


_LEAST_MEMORY: Final = 4 << 20
_MOST_MEMORY: Final = 1 << 50


def task_memory(written: Any) -> int:
    """Bytes that a task may use: `"2G"`."""
    size = octets(written)
    if size < _LEAST_MEMORY:
        raise ValueError(
            f"{quoted(written)} is less memory than any program needs; write 512M or 2G"
        )
    if size > _MOST_MEMORY:
        raise ValueError(f"{quoted(written)} is more memory than any machine has; write 512M or 2G")
    return size


def _after(written: Any) -> tuple[After, ...]:
    """The steps to wait for: a name, a table, or a list of such."""
    return tuple(map(_one_after, written if isinstance(written, list | tuple) else [written]))


def _one_after(written: Any) -> After:
    how = 'write "name", { step = "name", each = "parameter" } or { step = "name", where = {...} }'
    match written:
        case str():
            return After(written)
        case {"step": str() as step, **more}:
            if unknown := [str(key) for key in more if key not in {"each", "where"}]:
                known = ("step", "each", "where")
                raise ValueError(f"`{unknown[0]}` is no key here; {suggestion(unknown[0], known)}")
            each = more.get("each", ())
            where = more.get("where", {})
            names = (each,) if isinstance(each, str) else each
            if isinstance(where, dict) and isinstance(names, list | tuple):
                pairs = [(parameter_name(a), parameter_name(b)) for a, b in where.items()]
                return After(step, tuple(map(parameter_name, names)), dict(pairs))
    raise ValueError(f"{quoted(written)} names no step; {how}")


_AFTER: Final = {
    "description": "Steps to wait for: all of one by its name, or tasks that have values in common",
    "anyOf": [
        {"type": "string"},
        {"type": "object", "required": ["step"]},
        {"type": "array", "items": {"type": ["string", "object"]}},
    ],
}


class Recipe(Checked):
    """One command, and the values its {placeholders} take from task to task."""

    name: str = Field(
        "", max_length=100, description="What to call the bag; the file's name if not given."
    )
    command: str = Field("", description="For the shell. Values are quoted; {name!raw} is not.")
    argv: Texts = Field((), description="Program and arguments, started without a shell.")
    grid: dict[Name, Values] = Field({}, description="Each value with each of the others.")
    zip: list[dict[Name, Values]] = Field([], description="Groups: first with first, and so on.")
    csv: str = Field("", description="A file whose header names parameters; a task for each row.")
    array: Annotated[
        Any,
        Reads(
            lambda written: array_of(text_of(written)),
            {"type": ["string", "integer"], "examples": ["1-1000:2", "0-99%8"]},
        ),
    ] = Field(None, description="Numbers for {array}, as Slurm writes them.")
    exclude: list[dict[Name, Excluded]] = Field(
        [], description="Tasks to leave out: those that have all the values of one rule."
    )
    cwd: str | None = Field(None, description='Where to run. "" is a scratch folder.')
    env: dict[Variable, Text] = Field({}, description="Added to each task's environment.")
    stdin: str = Field("", description="Text given to each task on its standard input.")
    inputs: Files = Field((), description="Files and folders to bring to machines.")
    outputs: Files = Field((), description="Files to bring back: names, or patterns with * and ?.")
    values: Annotated[str, Reads(_file, {"type": "string"})] = Field(
        "", description="A file in which each task tells values: name=number, or a JSON object."
    )
    timeout: Annotated[float, Reads(positive_duration, _DURATION)] = Field(
        0.0, description="How long a task may run."
    )
    memory: Annotated[
        int, Reads(task_memory, {"type": ["string", "integer"], "examples": ["512M", "2G"]})
    ] = Field(
        0, description="The memory that a task has; machines are filled by it, and more is killed."
    )
    cpus: Whole = Field(1, ge=1, le=100_000, description="CPUs of its machine that a task takes.")
    gpus: Whole = Field(0, ge=0, le=1000, description="GPUs that a task has to itself.")
    pids: Whole = Field(
        0, ge=1, le=1 << 22, description="How many processes and threads a task may have at a time."
    )
    output_cap: Annotated[
        int, Reads(octets, {"type": ["string", "integer"], "examples": ["64K", "1M"]})
    ] = Field(1 << 20, description="What is kept of stdout and of stderr: the head and the tail.")
    compat: Literal["", "slurm", "sge"] = Field("", description="Also set their array variables.")


class StepTable(Recipe):
    """A step of a workflow: its tasks may wait for those of other steps."""

    after: Annotated[tuple[After, ...], Reads(_after, _AFTER)] = Field(
        (), description="The steps, or the tasks of steps, that must be done before."
    )
    retries: Whole | None = Field(
        None, ge=0, le=1000, description="How often a failed task is tried again."
    )


class SweepFile(Recipe):
    """A bag of tasks: one command with many values, or several, each a step."""

    of_others = dict.fromkeys(
        ("offering", "pool", "currency"), "a key of clouds files: name this file with --clouds"
    )
    step: list[StepTable] = Field([], description="The steps of a workflow, each with a command.")
    retries: Whole = Field(1, ge=0, le=1000, description="How often a failed task is tried again.")
    max_failures: Whole = Field(
        0,
        ge=1,
        le=1_000_000_000,
        description="So many failed tasks pause the bag; not given: the first dozen alike.",
    )
    replicate: bool = Field(True, description="Whether late tasks may be copied to idle machines.")
    resources: Resources = Field(Resources(slots=1), description="An older way to say `cpus`.")
    budget: Annotated[Money | None, Reads(amount, _AMOUNT)] = Field(
        None, description="The most that may be spent, sampling included."
    )
    deadline: Annotated[float | None, Reads(positive_duration, _DURATION)] = Field(
        None, description="How long all of it may take."
    )
    pick: Annotated[str, Reads(_pick, {"enum": list(PICKS)})] = Field(
        "", description="Which schedule to take after sampling."
    )
    notify: str = Field(
        "", description="A command that the master runs when somebody should know, told in JSON."
    )
    policy: Policy = Field(Policy.model_validate({}), description="How the scheduler decides.")
