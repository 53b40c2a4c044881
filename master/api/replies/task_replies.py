"""Tasks: their results, what they wrote, all that is known of one."""

from typing import NotRequired, TypedDict

from bats.common.money import Money
from bats.common.outcomes.values import Value


class TaskLine(TypedDict):
    """The end of one attempt."""

    bag: int
    task: int
    parameters: dict[str, Value]  # numbers, where all values of a parameter are numbers
    values: dict[str, Value]  # what it told in lines `name=number` or a JSON object
    machine: int
    cluster: str
    started: float  # seconds of the bag
    attempt: int
    outcome: str  # done, failed, ...
    exit_code: int
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_kib: int
    output_bytes: int  # of what it printed, before any cut
    excerpt: str  # the last line of its output; of a failure the last lines
    slot: int
    outputs: list[tuple[str, str, int]]  # files it left: name, sha256, bytes


class TaskResult(TaskLine):
    """The result of one task.

    best = min(bag.results(), key=lambda one: one["values"]["loss"])
    """

    cost_share: Money  # of its machine's bill, its idle time included
    output: NotRequired[str]


class Tasks(TypedDict):
    bag: int
    total: int
    tasks: list[TaskLine]


class Attempt(TypedDict):
    """An attempt that runs, or waits on its machine."""

    attempt: int
    machine: int
    cluster: str
    state: str
    seconds: float | None
    sampling: bool


class Task(TypedDict):
    """Everything that is known of one task."""

    bag: int
    task: int
    parameters: dict[str, Value]
    command: str
    attempts: list[TaskLine]
    running: list[Attempt]
    state: str
    waits: NotRequired[str]
    failures: NotRequired[int]
    losses: NotRequired[int]


class ResultsPart(TypedDict):
    results: list[TaskResult]
    types: dict[str, str]
    value_types: NotRequired[dict[str, str]]


class Results(TypedDict):
    bag: int
    count: int


class Log(TypedDict):
    """A piece of what an attempt wrote."""

    bag: int
    task: int
    attempt: int
    data: bytes
    offset: int
    total: int
    path: NotRequired[str]
    counts: NotRequired[bool]
    missing: NotRequired[bool]
    over: NotRequired[bool]


class ExportPart(TypedDict):
    text: str
