"""Machines that are jobs of a batch system: what Slurm and Grid Engine have in common.

The name of a job says whose it is and which machine, so what a dead master left is found by name.
Nodes must see the folder where tickets and logs are; clusters share at least the home directory.
"""

import abc
import asyncio
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.ticket import Ticket
from bats.deploy.batch.job_folders import Book, Run
from bats.deploy.exit_codes import verdict
from bats.deploy.protocol import (
    BackendError,
    BusyError,
    Feature,
    Gone,
    Orphan,
    Sighting,
    Site,
    State,
)

COMMAND_SECONDS: Final = 60.0  # busy controllers take long to answer
TIMED_OUT: Final = Gone.EXPIRED, "its job reached its time limit"
FORGOTTEN_SECONDS: Final = 60.0  # what file servers may take to show what a node wrote

# The worker is a child, not exec'd: so the job outlives its signals and writes down how it ended.
SCRIPT: Final = """\
#!/bin/bash
{directives}

# A machine of BaTS: it takes tasks until its master, or the end of its lease, ends it.
i={index}
unset "${{!SLURM_ARRAY_@}}" "${{!SGE_TASK_@}}" # of this job; tasks must not take them for theirs
{setup}
cd {folder} || exit
exec 3<"$i.ticket" || exit
rm -f "$i.ticket"
told=
trap 'told=told; kill -TERM $worker' TERM INT USR1 USR2
(trap '' USR1 USR2; exec {worker} --ticket - --log json <&3) &
worker=$!
exec 3<&-
while kill -0 $worker 2>/dev/null; do wait $worker; done
wait $worker
code=$?
echo "$code $SECONDS $told" >"$i.exit"
exit $code
"""


@dataclass(frozen=True, slots=True)
class Common:
    """Settings that an offering may have at every batch system."""

    worker: tuple[str, ...] = ()  # starts the worker on a node; () is this installation
    setup: tuple[str, ...] = ()  # shell lines before that: module load ...
    folder: str = ""  # for tickets and logs, seen by the nodes; "" is the master's state folder
    directives: tuple[str, ...] = ()  # more lines for the head of the script
    bill_queue: bool = False  # whether waiting in the queue is charged


@dataclass(frozen=True, slots=True)
class Job:
    """One machine's job as the batch system tells it."""

    name: str
    index: int
    id: str  # what cancels it
    state: State
    elapsed_seconds: float = 0.0
    queued_seconds: float = 0.0
    node: str = ""
    gone: Gone | None = None
    detail: str = ""
    doomed: bool = False  # it waits for ever: as good as gone, and to be cancelled


class Batch(abc.ABC):
    system: ClassVar[str]  # its name, for sentences
    account_seconds: ClassVar[float] = 0.0  # how long accounts may take to say why a job was ended

    def __init__(self, offering: Offering, site: Site, common: Common) -> None:
        self._offering = offering
        self._common = common
        self._worker = common.worker or site.worker_command
        folder = Path(common.folder).expanduser() if common.folder else Path(site.state_folder)
        self._book = Book(folder.absolute() / offering.backend / _word(offering.name))
        self._prefix = f"bats-{_word(site.master_id)}-{_word(offering.name)}-"
        self._vanished: dict[MachineId, float] = {}  # since when a job cannot be found
        self._charged: dict[MachineId, float] = {}  # when last seen

    def lacks(self) -> Mapping[Feature, str]:
        return {}

    # --- what each batch system does its way ---

    @abc.abstractmethod
    def _directives(self, run: Run) -> Sequence[str]:
        """The head of the script."""

    @abc.abstractmethod
    def _index(self) -> str:
        """The shell expression for the index of an array's job, counted from 0."""

    @abc.abstractmethod
    async def check(self) -> str: ...

    @abc.abstractmethod
    async def _submit(self, run: Run, script: str) -> str:
        """Hand a script in; the id it was given."""

    @abc.abstractmethod
    async def _jobs(self) -> Sequence[Job]:
        """All jobs of this user that are there, and those that ended lately, if they are told."""

    def _limit_seconds(self) -> float:
        """The seconds until the batch system kills a job, if accounts do not always tell."""
        return math.inf

    async def _account(self, machine: MachineId) -> Job | None:  # noqa: ARG002
        """The account of a job that is no longer among `_jobs`; some systems keep none."""
        return None

    @abc.abstractmethod
    async def _cancel(self, ids: Sequence[str]) -> None: ...

    # --- what they have in common ---

    def script(self, count: int = 1) -> str:
        """The script that would be handed in for so many machines."""
        return self._script(Run(MachineId(0), count, self._offering.slots))

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        known = await self._known(tickets)
        fresh = [ticket for ticket in tickets if ticket.machine not in known]
        started: dict[MachineId, Sighting] = dict(known)
        failed: dict[MachineId, Sighting] = {}
        error: BackendError | None = None
        for run in list(self._book.open(fresh)):
            if error is None:
                try:
                    started |= await self._start(run)
                    continue
                except BackendError as refusal:
                    error = refusal
            self._book.forget(run)
            lost = Sighting(State.GONE, gone=Gone.FAILED, detail=str(error))
            failed |= dict.fromkeys(run.machines, lost)
        if error and not started:
            raise error
        return {**started, **failed}

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        found = {machine: self._remembered(machine) for machine in machines}
        if None in found.values():
            jobs = await self._ours()
            doomed = []
            for machine, seen in found.items():
                if seen is None:
                    job = jobs.get(machine) or await self._account(machine)
                    found[machine] = self._seen(machine, job) if job else self._missing(machine)
                    doomed += [job.id] if job and job.doomed else []
            if doomed:
                await self._cancel(doomed)
        return {machine: seen for machine, seen in found.items() if seen}

    async def stop(self, machines: Sequence[MachineId]) -> None:
        for machine in machines:
            self._book.stop(machine)
        jobs = await self._ours()
        ids = [jobs[m].id for m in machines if m in jobs and jobs[m].state is not State.GONE]
        if ids:
            await self._cancel(ids)

    async def list_ours(self) -> Sequence[Orphan]:
        alive = {m: job for m, job in (await self._ours()).items() if job.state is not State.GONE}
        self._book.revive(alive)
        return [
            Orphan(machine, self._offering.name, self._address(job), self._cost_of(job))
            for machine, job in alive.items()
        ]

    async def log(self, machine: MachineId) -> str:
        return await asyncio.to_thread(self._book.log, machine)

    async def close(self) -> None:
        """Do nothing: no connection is held open, and what is written down stays."""
        self._vanished.clear()

    # --- starting ---

    async def _known(self, tickets: Iterable[Ticket]) -> Mapping[MachineId, Sighting]:
        """Machines asked for before; a run that perhaps was never handed in is forgotten."""
        entered = {t.machine: run for t in tickets if (run := self._book.find(t.machine))}
        unsure = {run.first: run for run in entered.values() if not run.job}
        if unsure:
            there = await self._ours()
            for run in unsure.values():
                if there.keys().isdisjoint(run.machines):
                    self._book.forget(run)
        return await self.status([m for m in entered if self._book.find(m)])

    async def _start(self, run: Run) -> Mapping[MachineId, Sighting]:
        try:
            job = await self._submit(run, self._script(run))
        except BusyError:
            there = (await self._ours()).get(run.first)  # an answer may come too late
            if there is None:
                raise
            job = there.id
        self._book.submitted(run, job)
        if asked := [machine for machine in run.machines if self._book.stopping(machine)]:
            await self.stop(asked)  # while it was handed in
        return dict.fromkeys(run.machines, Sighting(State.QUEUED, f"job {job}"))

    def _script(self, run: Run) -> str:
        return SCRIPT.format(
            directives="\n".join([*self._directives(run), *self._common.directives]),
            index=self._index(),
            setup="\n".join(self._common.setup),
            folder=shlex.quote(str(self._book.folder(run))),
            worker=shlex.join(self._worker),
        )

    def _name(self, run: Run) -> str:
        return f"{self._prefix}{run.first}"

    def _log_of_jobs(self, run: Run, index: str) -> str:
        return f"{self._book.folder(run)}/{index}.log"

    # --- looking ---

    async def _ours(self) -> Mapping[MachineId, Job]:
        """Jobs of ours by their names: what was written down does not matter here."""
        found = {}
        for job in await self._jobs():
            first = job.name.removeprefix(self._prefix)
            if first != job.name and first.isdigit():
                found[MachineId(int(first) + job.index)] = job
        return found

    def _remembered(self, machine: MachineId) -> Sighting | None:
        if not self._book.find(machine):
            return Sighting(State.GONE, gone=Gone.LOST, detail="no such machine was started")
        return self._book.ended(machine)

    def _seen(self, machine: MachineId, job: Job) -> Sighting:
        self._vanished.pop(machine, None)
        charged, address = self._cost_of(job), self._address(job)
        asked = self._book.stopping(machine)
        if job.state is not State.GONE:
            if charged is not None:
                self._charged[machine] = charged
            state = State.STOPPING if asked else job.state
            return Sighting(state, address, charged, detail=job.detail)
        gone, detail = job.gone or Gone.FAILED, job.detail
        if asked:
            gone, detail = Gone.STOPPED, ""
        elif gone is Gone.STOPPED and (left := self._book.exit(machine)) and left.told:
            gone, detail = Gone.FAILED, f"{self.system} ended its job, and we had not asked"
        return self._ended(machine, Sighting(State.GONE, address, charged, gone, detail))

    def _missing(self, machine: MachineId) -> Sighting:
        """The sighting of a job that the batch system does not tell of (any more, or yet)."""
        charged = self._charged.get(machine)
        asked = self._book.stopping(machine)
        left = self._book.exit(machine)
        now = asyncio.get_running_loop().time()
        missed = now - self._vanished.setdefault(machine, now)
        if left:
            gone, detail = verdict(left.code)
            if gone is Gone.FAILED and not asked and missed < self.account_seconds:
                return Sighting(State.STOPPING, "", charged)  # who killed it, and why?
            if gone is Gone.FAILED and left.ran_seconds >= self._limit_seconds():
                gone, detail = TIMED_OUT
            gone = Gone.STOPPED if asked else gone
            return self._ended(machine, Sighting(State.GONE, "", left.ran_seconds, gone, detail))
        if asked:
            return self._ended(machine, Sighting(State.GONE, "", charged, Gone.STOPPED))
        if missed < FORGOTTEN_SECONDS:
            return Sighting(State.STOPPING, "", charged)
        detail = f"{self.system} does not know its job any more, and the job left no word"
        return self._ended(machine, Sighting(State.GONE, "", charged, Gone.LOST, detail))

    def _ended(self, machine: MachineId, seen: Sighting) -> Sighting:
        if seen.gone is Gone.FAILED:
            seen = replace(seen, detail=f"{seen.detail}\n{self._book.log(machine)}".rstrip())
        self._book.end(machine, seen)
        self._charged.pop(machine, None)
        return seen

    def _cost_of(self, job: Job) -> float | None:
        queued = job.queued_seconds if self._common.bill_queue else 0.0
        waits = job.state is State.QUEUED and not self._common.bill_queue
        return None if waits else queued + job.elapsed_seconds

    def _address(self, job: Job) -> str:
        return f"job {job.id} on {job.node}" if job.node else f"job {job.id}"


def _word(text: str) -> str:
    """The name as every batch system takes it for a job."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", text)
