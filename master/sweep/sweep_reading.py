"""Sweep files, or options that stand for one, and the work they mean."""

from collections.abc import Sequence
from pathlib import Path

from bats.common.errors import UsageError
from bats.master.model_checks import check
from bats.master.sweep.recipe import refuse_misplaced, sweep_of
from bats.master.sweep.space import Axis
from bats.master.sweep.sweep_model import SweepFile
from bats.master.sweep.work import Work
from bats.master.sweep.workflow.step_tables import refuse_misplaced_in_steps, workflow_of
from bats.master.userfile import Document, read_document

KINDS = ("toml", "yaml", "json")


def load(path: str | Path) -> Work:
    """The work of a file. Raises UsageError with one sentence for whatever is wrong in it."""
    return build(read_document(path, "the sweep file", kinds=KINDS))


def build(document: Document, *, more: Sequence[Axis] = (), to_be_open: bool = False) -> Work:
    """The work that a document means; `more` are axes read from elsewhere."""
    refuse_misplaced(document, document.data, SweepFile)
    refuse_misplaced_in_steps(document)
    file = _with_cpus(check(SweepFile, document), document)
    if file.step and to_be_open:
        raise UsageError(f"{document.where(())}: steps have all their tasks from the beginning; "
                         "only a sweep of one command can be open.")  # fmt: skip
    if file.step:
        return workflow_of(file, document)
    return sweep_of(
        file,
        document,
        more=more,
        to_be_open=to_be_open,
        name=file.name or Path(document.path).stem or "bag",
        retries=file.retries,
        max_failures=file.max_failures,
        replicate=file.replicate,
        at_once=file.array[1] if file.array else 0,
        budget=file.budget,
        deadline_seconds=file.deadline,
        pick=file.pick,
        notify=file.notify,
        policy=file.policy.settings(),
    )


def _with_cpus(file: SweepFile, document: Document) -> SweepFile:
    """The file, in which `resources` has become what it is short for."""
    if "resources" not in file.model_fields_set:
        return file
    if "cpus" in file.model_fields_set:
        raise UsageError(
            f"{document.where(['resources'])}: `cpus` says the same as `resources.slots`; leave "
            "`resources` out."
        )
    return file.model_copy(update={"cpus": file.resources.slots})
