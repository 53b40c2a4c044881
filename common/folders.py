"""Folders: those of what must survive a restart, and of what tasks leave. Quick to load."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final


def default_state(environment: Mapping[str, str] = os.environ) -> Path:
    """`$BATS_STATE`, else where programs of this user keep their state."""
    if named := environment.get("BATS_STATE"):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "bats"


_TASKS_PER_FOLDER: Final = 1000
_STREAMS: Final = {"stdout": "out", "stderr": "err"}


def output_folder_of(task: int) -> str:
    """The folder of a task's output, relative to the bag's, as all that follows."""
    return str(task // _TASKS_PER_FOLDER)


def printed_path(task: int, attempt: int, end: str) -> str:
    """The path of what an attempt wrote; `end` is "out" or "err".

    Later attempts carry their number, so that a copy never overwrites what the first wrote.
    """
    number = f".{attempt}" if attempt > 1 else ""
    return f"{output_folder_of(task)}/{task}{number}.{end}"


def output_path(task: int, attempt: int, name: str) -> str | None:
    """The path of an output as its worker names it; None if that leads outside the folder."""
    if (end := _STREAMS.get(name)) is not None:
        return printed_path(task, attempt, end)
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        return None
    return f"{output_folder_of(task)}/{task}/{name}"
