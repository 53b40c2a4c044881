"""Records of what a batch system was asked for, in a folder that its nodes see.

A run is one submission: an array of jobs for machines with consecutive numbers. Its folder holds,
for the job with index i,

    i.ticket     what the job's worker needs to join; the job removes it as it starts
    i.log        what the worker said
    i.exit       written by the job: the worker's exit code, how many seconds it ran, and
                 "told" if the batch system ended it
    i.stopping   we asked it to stop
    i.end        the last sighting, once the machine is gone: the batch system forgets
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.common.ticket import Ticket, to_json
from bats.deploy.protocol import Gone, Sighting, State

RUN_MACHINES: Final = 100  # of one submission; sites allow arrays of 1000 and more
LOG_BYTES: Final = 16_384
LOG_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class Run:
    first: MachineId
    count: int
    slots: int
    job: str = ""  # the batch system's name for it; "" until it has answered

    @property
    def machines(self) -> list[MachineId]:
        return [MachineId(self.first + index) for index in range(self.count)]


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a worker, as its own job wrote it down."""

    code: int
    ran_seconds: float
    told: bool  # the batch system ended the job


class Book:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[MachineId, Run] = {}  # by each of its machines
        for file in folder.glob("[0-9]*/run.json"):
            self._know(Run(**json.loads(file.read_text())))

    def folder(self, run: Run) -> Path:
        return self._folder / str(run.first)

    def find(self, machine: MachineId) -> Run | None:
        return self._runs.get(machine)

    # --- runs ---

    def open(self, tickets: Sequence[Ticket]) -> Iterator[Run]:
        """Enter new machines, in as few runs as their numbers allow."""
        for group in _consecutive(tickets):
            run = Run(group[0].machine, len(group), group[0].slots)
            folder = self.folder(run)
            shutil.rmtree(folder, ignore_errors=True)  # of a submission that never was
            folder.mkdir(parents=True, mode=0o700)
            for index, ticket in enumerate(group):
                _write_private(folder / f"{index}.ticket", to_json(ticket))
            self._save(run)
            yield run

    def submitted(self, run: Run, job: str) -> None:
        self._save(replace(run, job=job))

    def forget(self, run: Run) -> None:
        """Forget a run that was never submitted."""
        shutil.rmtree(self.folder(run), ignore_errors=True)
        for machine in run.machines:
            self._runs.pop(machine, None)

    # --- machines ---

    def stop(self, machine: MachineId) -> None:
        if self.find(machine):
            self._path(machine, "stopping").touch()

    def stopping(self, machine: MachineId) -> bool:
        return self._path(machine, "stopping").exists()

    def end(self, machine: MachineId, seen: Sighting) -> None:
        facts = {**asdict(seen), "state": seen.state.value, "gone": seen.gone and seen.gone.value}
        _write_private(self._path(machine, "end"), json.dumps(facts))
        self._path(machine, "ticket").unlink(missing_ok=True)

    def ended(self, machine: MachineId) -> Sighting | None:
        facts = _read_json(self._path(machine, "end"))
        if facts is None:
            return None
        gone = Gone(facts["gone"]) if facts["gone"] else None
        return Sighting(**{**facts, "state": State(facts["state"]), "gone": gone})

    def revive(self, machines: Iterable[MachineId]) -> None:
        """Enter that these machines live, though some may have been held to be gone."""
        for machine in machines:
            if self.find(machine):
                self._path(machine, "end").unlink(missing_ok=True)

    def exit(self, machine: MachineId) -> Exit | None:
        try:
            code, seconds, *told = self._path(machine, "exit").read_text().split()
        except (FileNotFoundError, ValueError):  # else it cannot be told
            return None
        return Exit(int(code), float(seconds), bool(told))

    def log(self, machine: MachineId) -> str:
        if not self.find(machine):
            return ""
        try:
            with self._path(machine, "log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
                tail = file.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(tail.splitlines()[-LOG_LINES:])

    def _path(self, machine: MachineId, kind: str) -> Path:
        run = self._runs[machine]
        return self.folder(run) / f"{machine - run.first}.{kind}"

    def _save(self, run: Run) -> None:
        _write_private(self.folder(run) / "run.json", json.dumps(asdict(run)))
        self._know(run)

    def _know(self, run: Run) -> None:
        self._runs |= dict.fromkeys(run.machines, run)


def _consecutive(tickets: Sequence[Ticket]) -> Iterator[list[Ticket]]:
    """Tickets in groups: machines whose numbers follow one another and that ask for the same."""
    group: list[Ticket] = []
    for ticket in sorted(tickets, key=lambda ticket: ticket.machine):
        if group and (
            ticket.machine != group[-1].machine + 1
            or ticket.slots != group[-1].slots
            or len(group) == RUN_MACHINES
        ):
            yield group
            group = []
        group.append(ticket)
    if group:
        yield group


def _write_private(path: Path, text: str) -> None:
    """Whole or not at all, and for nobody else."""
    draft = path.with_name(f".{path.name}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(path)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return facts
