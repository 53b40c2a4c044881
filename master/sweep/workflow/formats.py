"""Other people's workflows, told apart by their names and by what is in them."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError
from bats.master.sweep.workflow.dagman import dagman
from bats.master.sweep.workflow.dax import dax
from bats.master.sweep.workflow.task_list import (
    Emulation,
    TaskList,
    task_lines,
    workflow_from,
)
from bats.master.sweep.workflow.wfformat import is_wfformat, wfformat
from bats.master.sweep.workflow.workflow import Workflow
from bats.master.userfile import LARGEST, read_text

_BY_NAME: Final = {
    ".dag": dagman,
    ".dax": dax,
    ".xml": dax,
    ".jsonl": task_lines,
    ".ndjson": task_lines,
}


def foreign_workflow(file: str | Path, emulation: Emulation | None = None) -> Workflow | None:
    """The workflow in a file that is no sweep file; None if it may be one.

    Raises UsageError with the line of the first mistake.
    """
    path = Path(file)
    listed = _listed(path)
    return None if listed is None else workflow_from(listed, emulation)


def _listed(path: Path) -> TaskList | None:
    if read := _BY_NAME.get(path.suffix.lower()):
        return read(path)
    if path.suffix.lower() == ".json" or path.name.lower().endswith(".json.gz"):
        text = _unpacked(path) if path.suffix.lower() == ".gz" else read_text(path, "the workflow")
        written = _parsed(text)
        if is_wfformat(written):
            return wfformat(path, written, text)
        if path.suffix.lower() == ".gz":
            raise UsageError(f"{path}: this is no workflow in WfFormat.")
    return None


def _unpacked(path: Path) -> str:
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UsageError(f"{path} unpacks to more than {LARGEST >> 20} MiB.")
        return content.decode()
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(f"{path} cannot be unpacked: {error}.") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None  # the reader of sweep files says where it is wrong
