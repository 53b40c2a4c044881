"""Machines that are jobs of an HTCondor pool: a back end that another package brings.

HTCondor is a batch system, so `Batch` does most: tickets, logs, what was asked and how it ended.
A back end of another kind implements the methods of `bats.deploy.protocol.Backend` itself.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.deploy import backend_table, processes
from bats.deploy.batch.job_folders import Run
from bats.deploy.batch.jobs import COMMAND_SECONDS, Batch, Common, Job
from bats.deploy.exit_codes import verdict
from bats.deploy.processes import Finished
from bats.deploy.protocol import BusyError, Gone, RefusedError, Site, State

IDLE, REMOVED, COMPLETED, HELD, SUSPENDED = 1, 3, 4, 5, 7
STATES: Final = {IDLE: State.QUEUED, REMOVED: State.STOPPING, 6: State.STOPPING}
SUBMIT: Final = """\
executable = {folder}/job.sh
arguments = $(Process)
JobBatchName = {name}
output = {folder}/$(Process).log
error = {folder}/$(Process).log
initialdir = {folder}
should_transfer_files = NO
request_cpus = {slots}
# its ticket is good once; we start another
requirements = {requirements} && (NumJobStarts =?= undefined || NumJobStarts == 0)
{more}
queue {count}
"""
PASSING: Final = ("Failed to connect", "Can't find address", "timeout", "MAX_JOBS")


@dataclass(frozen=True, slots=True)
class Settings(Common):
    requirements: str = "true"  # a ClassAd expression: which nodes will do
    memory: str = ""  # request_memory: 4GB
    submit: tuple[str, ...] = ()  # more lines of the submit description


class HTCondor(Batch):
    system: ClassVar[str] = "HTCondor"

    def __init__(self, offering: Offering, site: Site) -> None:
        self._settings = backend_table.read(Settings, offering)
        super().__init__(offering, site, self._settings)

    async def check(self) -> str:
        answer = await _condor("condor_status", "-total", "-af", "Name")
        slots = answer.stdout.split()
        if answer.code or not slots:
            raise _error(answer)
        return f"an HTCondor pool of {len(slots)} slots"

    def _directives(self, run: Run) -> Sequence[str]:
        del run
        return ()

    def _index(self) -> str:
        return "$1"

    async def _submit(self, run: Run, script: str) -> str:
        folder = self._book.folder(run)
        job = folder / "job.sh"
        job.write_text(script)
        job.chmod(0o700)
        memory = self._settings.memory
        description = SUBMIT.format(
            folder=folder,
            name=self._name(run),
            slots=run.slots,
            requirements=f"({self._settings.requirements})",
            more="\n".join(
                [*([f"request_memory = {memory}"] if memory else []), *self._settings.submit]
            ),
            count=run.count,
        )
        answer = await _condor("condor_submit", "-terse", "-", stdin=description)
        if answer.code:
            raise _error(answer)
        return answer.stdout.split(".")[0].strip()

    async def _jobs(self) -> Sequence[Job]:
        answer = await _condor("condor_q", "-json")
        if answer.code:
            raise _error(answer)
        return [_job(told) for told in json.loads(answer.stdout or "[]")]

    async def _account(self, machine: MachineId) -> Job | None:
        run = self._book.find(machine)
        if run is None or not run.job:
            return None
        id_ = f"{run.job}.{machine - run.first}"
        answer = await _condor("condor_history", id_, "-json", "-limit", "1")
        told = json.loads(answer.stdout or "[]") if not answer.code else []
        return _ended(told[0]) if told else None

    async def _cancel(self, ids: Sequence[str]) -> None:
        answer = await _condor("condor_rm", *ids)
        said = answer.stderr + answer.stdout
        if answer.code and not ("not found" in said or "already marked" in said):
            raise _error(answer)


def _job(told: Mapping[str, Any]) -> Job:
    status = told["JobStatus"]
    state, gone, detail = STATES.get(status, State.UP), None, ""
    if status in {REMOVED, COMPLETED} and "CompletionDate" in told and status == COMPLETED:
        return _ended(told)
    if status == HELD:
        state, gone = State.GONE, Gone.FAILED
        detail = f"HTCondor holds its job: {told.get('HoldReason', 'it does not say why')}"
    elif status == IDLE and told.get("NumJobStarts", 0):
        state, gone, detail = State.GONE, Gone.PREEMPTED, "HTCondor gave its place to another job"
    elif status == SUSPENDED:
        detail = "suspended by HTCondor"
    runs = state in {State.UP, State.STOPPING} and "JobCurrentStartDate" in told
    started = told["JobCurrentStartDate"] if runs else time.time()
    return Job(
        name=told.get("JobBatchName", ""),
        index=told["ProcId"],
        id=f"{told['ClusterId']}.{told['ProcId']}",
        state=state,
        elapsed_seconds=max(0.0, time.time() - started),
        queued_seconds=max(0.0, started - told["QDate"]),
        node=str(told.get("RemoteHost", "")).rpartition("@")[2],
        gone=gone,
        detail=detail,
        doomed=gone is not None,
    )


def _ended(told: Mapping[str, Any]) -> Job:
    by_signal = told.get("ExitBySignal", False)
    code = 128 + told.get("ExitSignal", 0) if by_signal else told.get("ExitCode", 1)
    gone, detail = verdict(code)
    if told["JobStatus"] == REMOVED:
        gone, detail = Gone.FAILED, f"its job was removed {told.get('RemoveReason', '')}".rstrip()
    return Job(
        name=told.get("JobBatchName", ""),
        index=told["ProcId"],
        id=f"{told['ClusterId']}.{told['ProcId']}",
        state=State.GONE,
        elapsed_seconds=float(told.get("RemoteWallClockTime", 0.0)),
        node=str(told.get("LastRemoteHost", "")).rpartition("@")[2],
        gone=gone,
        detail=detail,
    )


async def _condor(program: str, *arguments: str, stdin: str = "") -> Finished:
    return await processes.run(
        program, *arguments, limit_seconds=COMMAND_SECONDS, stdin=stdin.encode()
    )


def _error(answer: Finished) -> BusyError | RefusedError:
    text = answer.stderr + answer.stdout
    if any(words in text for words in PASSING):
        return BusyError(f"HTCondor is not able to answer now: {answer.complaint}")
    return RefusedError(f"HTCondor refuses: {answer.complaint}. Correct the offering's table.")
