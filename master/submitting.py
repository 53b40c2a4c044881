"""Handing a sweep to a master: its input files, found beside it and sent once, then what to run."""

import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from bats.common.errors import UsageError
from bats.common.offering import Offering
from bats.master.api.asking import Asks, ask
from bats.master.api.reading import submission
from bats.master.api.replies import Submitted
from bats.master.sweep.sweep import Input
from bats.master.sweep.work import Work


class Master(Asks, Protocol):
    async def send_file(self, path: Path) -> tuple[str, int]: ...


async def submit(
    master: Master, sweep: Work, offerings: Sequence[Offering] | None = None, **settings: Any
) -> Submitted:
    """Hand it over with further keys of a submission. Raises UsageError for one that is none."""
    wanted = submission({"sweep": sweep.to_plain(), **settings})
    if offerings is not None:
        wanted = replace(wanted, offerings=[asdict(one) for one in offerings])
    if sweep.inputs:
        wanted = replace(wanted, inputs=await send_inputs(master, sweep))
    return await ask(master, wanted)


async def send_inputs(to: Master, sweep: Work) -> list[Input]:
    """Put all inputs where tasks can have them. Raises UsageError for one that is not there."""
    return [
        (name, *await to.send_file(path), stat.S_IMODE(path.stat().st_mode))
        for name, path in input_files(sweep)
    ]


def input_files(sweep: Work) -> Iterator[tuple[str, Path]]:
    """Every file that some task needs, those in folders included, each once."""
    base = Path(sweep.base)
    seen: set[str] = set()
    for name in sweep.input_paths():
        path = base / name
        if path.is_dir():
            found = sorted(one for one in path.rglob("*") if one.is_file())
        elif path.is_file():
            found = [path]
        else:
            raise UsageError(f"The input {path} is not there; `inputs` names it.")
        for one in found:
            inside = Path(name, one.relative_to(path)).as_posix()
            if inside not in seen:
                seen.add(inside)
                yield inside, one
