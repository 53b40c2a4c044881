"""The `[[step]]` tables of a sweep file: each a command with values of its own, and its order."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.master.sweep.recipe import folder_of, refuse_misplaced, sweep_of
from bats.master.sweep.sweep import MistakeError, Sweep
from bats.master.sweep.sweep_model import Recipe, StepTable, SweepFile
from bats.master.sweep.workflow.brought import parted
from bats.master.sweep.workflow.workflow import Workflow
from bats.master.userfile import Document, sentence

_FOR_ALL: Final = (
    *("cwd", "env", "timeout", "memory", "cpus", "gpus", "pids", "output_cap", "compat"),
)
"""Keys above the steps that hold for each step that does not say otherwise."""

_OF_A_STEP: Final = tuple(key for key in Recipe.model_fields if key not in {"name", *_FOR_ALL})


def workflow_of(file: SweepFile, document: Document) -> Workflow:
    """Raises UsageError with one sentence for whatever is wrong in it."""
    for key in _OF_A_STEP:
        if key in file.model_fields_set:
            raise UsageError(
                f"{document.where([key])}: with [[step]] tables each step has its own `{key}`; "
                "put it into the step that is meant."
            )
    _named_apart(file.step, document)
    steps = tuple(_step(file, table, document, at) for at, table in enumerate(file.step))
    workflow = Workflow(
        steps,
        tuple(table.after for table in file.step),
        tuple(file.retries if table.retries is None else table.retries for table in file.step),
        brings=tuple(parted(table.inputs)[1] for table in file.step),
        name=file.name or Path(document.path).stem or "workflow",
        base=str(folder_of(document)),
        max_failures=file.max_failures,
        replicate=file.replicate,
        budget=file.budget,
        deadline_seconds=file.deadline,
        pick=file.pick,
        notify=file.notify,
        policy=file.policy.settings(),
    )
    try:
        _ = workflow.graph
    except MistakeError as error:
        raise UsageError(sentence(_where(document, error.keys), error.said)) from None
    return workflow


def refuse_misplaced_in_steps(document: Document) -> None:
    tables = document.data.get("step")
    for at, table in enumerate(tables if isinstance(tables, list) else ()):
        if isinstance(table, Mapping):
            refuse_misplaced(document, table, StepTable, ("step", at))


def _where(document: Document, keys: tuple[str | int, ...]) -> str:
    """The place of a mistake; a single rule that is no list has no number."""
    if len(keys) == 4 and not isinstance(document.data["step"][keys[1]]["after"], list):
        keys = keys[:3]
    return document.where(keys)


def _step(file: SweepFile, table: StepTable, document: Document, at: int) -> Sweep:
    place = ("step", at)
    usual: dict[str, object] = {
        key: getattr(file, key)
        for key in _FOR_ALL
        if key in file.model_fields_set and key not in table.model_fields_set
    }
    if table.array and table.array[1]:
        raise UsageError(
            f"{document.where([*place, 'array'])}: how many may run at a time cannot be said of "
            "one step; leave % out."
        )
    files, brought = parted(table.inputs)
    usual["inputs"] = files
    recipe = table.model_copy(update=usual)
    return sweep_of(recipe, document, place, name=table.name, brought=bool(brought))


def _named_apart(steps: Iterable[StepTable], document: Document) -> None:
    seen: dict[str, int] = {}
    for at, step in enumerate(steps):
        if not step.name:
            raise UsageError(f"{document.where(['step', at])}: the step has no `name`.")
        if step.name in seen:
            raise UsageError(
                f"{document.where(['step', at, 'name'])}: two steps are called "
                f"{quoted(step.name)}; rename one."
            )
        seen[step.name] = at
