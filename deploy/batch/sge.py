"""Machines that are jobs of a Grid Engine cell."""

import getpass
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from bats.common.errors import UsageError
from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.deploy import backend_table, processes
from bats.deploy.batch.job_folders import Run
from bats.deploy.batch.jobs import COMMAND_SECONDS, TIMED_OUT, Batch, Common, Job
from bats.deploy.exit_codes import verdict
from bats.deploy.processes import Finished
from bats.deploy.protocol import BusyError, Feature, Gone, RefusedError, Site, State

PASSING: Final = (
    "unable to contact qmaster",
    "unable to send message",
    "got no response",
    "timeout",
    "can't connect",
    "connection refused",
    "job limit",
    "max_u_jobs",
    "per user",
    "please try again",
)
# The accounts' field `failed`: why the job did not end by itself (sge_status(5)).
FAILED: Final[Mapping[int, tuple[Gone, str]]] = {
    25: (Gone.PREEMPTED, "Grid Engine gave its place away"),  # rescheduled
    37: TIMED_OUT,
}
DATE: Final = "%a %b %d %H:%M:%S %Y"
TASKS: Final = re.compile(r"(\d+)(?:-(\d+):(\d+))?")


@dataclass(frozen=True, slots=True)
class Settings(Common):
    queue: str = ""  # "": any that fits
    project: str = ""
    parallel_environment: str = "smp"  # for machines of several slots: all on one host
    time_limit: str = ""  # h_rt: seconds or 4:00:00
    memory: str = ""  # per slot (h_vmem): 4G


class Sge(Batch):
    system: ClassVar[str] = "Grid Engine"
    account_seconds: ClassVar[float] = 15.0

    def __init__(self, offering: Offering, site: Site) -> None:
        self._settings = backend_table.read(Settings, offering)
        if offering.slots > 1 and not self._settings.parallel_environment:
            raise UsageError(
                f"offering {offering.name}, back end sge: machines of {offering.slots} slots need "
                "`parallel_environment`, one that gives all slots on one host."
            )
        super().__init__(offering, site, self._settings)

    def lacks(self) -> Mapping[Feature, str]:
        return {
            Feature.PREEMPTION: "Grid Engine suspends a job that must give way, which then waits"
        }

    async def check(self) -> str:
        """Grid Engine verifies the very script against its configuration."""
        tried = await _sge("qsub", "-w", "v", stdin=self.script())
        if tried.code or "suitable queue" not in tried.stdout + tried.stderr:
            raise _error(tried)
        version = (await _sge("qstat", "-help")).stdout.splitlines()[0].strip()
        return f"{version}: {tried.complaint.removeprefix('verification: ')}"

    def _directives(self, run: Run) -> Sequence[str]:
        given = self._settings
        resources = {"h_rt": given.time_limit, "h_vmem": given.memory}
        limits = ",".join(f"{name}={value}" for name, value in resources.items() if value)
        environment = f"{given.parallel_environment} {run.slots}" if run.slots > 1 else ""
        options = {
            "N": self._name(run),
            "t": f"1-{run.count}",
            "S": "/bin/bash",
            "j": "y",
            "o": f'"{self._log_of_jobs(run, "$TASK_ID")}"',
            "r": "n",  # its ticket is good once; we start another
            "q": given.queue,
            "P": given.project,
            "pe": environment,
            "l": limits,
        }
        lines = [f"#$ -{name} {value}" for name, value in options.items() if value]
        return [*lines, "#$ -notify"]  # SIGUSR2 comes before SIGKILL

    def _index(self) -> str:
        return "$((SGE_TASK_ID - 1))"

    async def _submit(self, run: Run, script: str) -> str:
        del run
        answer = await _sge("qsub", "-terse", stdin=script)
        if answer.code:
            raise _error(answer)
        return answer.stdout.split(".")[0].strip()

    async def _jobs(self) -> Sequence[Job]:
        answer = await _sge("qstat", "-xml", "-f", "-ne", "-g", "d", "-u", getpass.getuser())
        if answer.code:
            raise _error(answer)
        told = ET.fromstring(answer.stdout)  # noqa: S314 - of our own qstat
        jobs = [
            job
            for queue in told.iter("Queue-List")
            for entry in queue.iter("job_list")
            for job in _listed(entry, queue)
        ]
        pending = told.find("job_info")
        for entry in pending if pending is not None else ():
            jobs += _listed(entry, None)
        return [await self._explained(job) if job.doomed else job for job in jobs]

    async def _explained(self, job: Job) -> Job:
        """The reason why a job is in error: `qstat` alone does not say."""
        told = (await _sge("qstat", "-j", job.id.split(".")[0])).stdout
        found = re.search(r"^error reason\s+\d+:\s+(.+)$", told, re.MULTILINE)
        return replace(job, detail=f"{job.detail}: {found[1].strip()}") if found else job

    async def _account(self, machine: MachineId) -> Job | None:
        run = self._book.find(machine)
        if run is None or not run.job or self._book.stopping(machine):
            return None
        index = machine - run.first
        answer = await _sge("qacct", "-j", run.job, "-t", str(index + 1))
        if answer.code:
            return None
        job = _accounted(answer.stdout, run, index)
        if job.gone is Gone.FAILED and job.elapsed_seconds >= self._limit_seconds():
            # The node may kill it before the master does; only the master's kill is told as 37.
            job = replace(job, gone=TIMED_OUT[0], detail=TIMED_OUT[1])
        return job

    def _limit_seconds(self) -> float:
        parts = self._settings.time_limit.split(":")
        if not all(part.isdecimal() for part in parts):
            return math.inf
        return float(sum(int(60**k) * int(part) for k, part in enumerate(reversed(parts))))

    async def _cancel(self, ids: Sequence[str]) -> None:
        answer = await _sge("qdel", *ids)
        ended = "does not exist" in answer.stdout + answer.stderr
        if answer.code and not ended:
            raise _error(answer)


def _listed(entry: Element, queue: Element | None) -> Iterator[Job]:
    """The job or jobs of an entry; those of an array that wait may share one."""
    number, name = entry.findtext("JB_job_number", ""), entry.findtext("JB_name", "")
    letters, where = entry.findtext("state", ""), ""
    node_state = ""
    if queue is not None:
        where = queue.findtext("name", "").rpartition("@")[2]
        node_state = queue.findtext("state", "")
    state, detail, doomed = _state(letters)
    if "u" in node_state and state is not State.QUEUED:
        state, detail, doomed = State.GONE, f"its node {where} answers Grid Engine no more", True
    started = _since(entry.findtext("JAT_start_time"))
    for task in _tasks(entry.findtext("tasks", "1")):
        yield Job(
            name=name,
            index=task - 1,
            id=f"{number}.{task}",
            state=state,
            elapsed_seconds=started,
            queued_seconds=_since(entry.findtext("JB_submission_time")),
            node=where,
            gone=Gone.FAILED if state is State.GONE else None,
            detail=detail,
            doomed=doomed,
        )


def _state(letters: str) -> tuple[State, str, bool]:
    """The meaning of qstat's letters, and True if the job is beyond hope."""
    if "E" in letters:
        return State.GONE, "Grid Engine could not start its job", True
    if "d" in letters:
        return State.STOPPING, "", False
    if "q" in letters:
        return State.QUEUED, "waits: held" if "h" in letters else "", False
    if set(letters) & {"s", "S", "T"}:
        return State.UP, "suspended by Grid Engine", False
    return (State.STARTING if "t" in letters else State.UP), "", False


def _accounted(record: str, run: Run, index: int) -> Job:
    lines = (line.split(None, 1) for line in record.splitlines())
    told = {words[0]: words[1].strip() for words in lines if len(words) == 2}
    failed = _number(told.get("failed", "0"))
    why = FAILED.get(int(failed)) or verdict(int(_number(told.get("exit_status", "0"))))
    if failed and why[0] is Gone.STOPPED:
        why = Gone.FAILED, f"Grid Engine says of its job: {told['failed']}"
    return Job(
        name="",
        index=index,
        id=f"{run.job}.{index + 1}",
        state=State.GONE,
        elapsed_seconds=_number(told.get("ru_wallclock", "0")),
        queued_seconds=_between(told.get("qsub_time"), told.get("start_time")),
        node=told.get("hostname", ""),
        gone=why[0],
        detail=why[1],
    )


def _tasks(text: str) -> Iterator[int]:
    """Numbers from Grid Engine's lists: `3`, `1-4:1`, `1,3-9:2`."""
    for found in TASKS.finditer(text):
        first, last, step = (int(part or 0) for part in found.groups())
        yield from range(first, (last or first) + 1, step or 1)


def _since(local_time: str | None) -> float:
    """The seconds since a time that Grid Engine tells: by this machine's own clock."""
    if not local_time:
        return 0.0
    return max(0.0, time.time() - datetime.fromisoformat(local_time).timestamp())


def _between(first: str | None, second: str | None) -> float:
    try:
        start, end = (time.mktime(time.strptime(text or "", DATE)) for text in (first, second))
    except ValueError:
        return 0.0
    return max(0.0, end - start)


def _number(text: str) -> float:
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else 0.0


async def _sge(program: str, *arguments: str, stdin: str = "") -> Finished:
    return await processes.run(
        program, *arguments, limit_seconds=COMMAND_SECONDS, stdin=stdin.encode()
    )


def _error(answer: Finished) -> BusyError | RefusedError:
    text = f"{answer.stderr}\n{answer.stdout}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next((line for line in lines if line != "Exiting."), answer.complaint)
    said = said.removeprefix("Unable to run job: ").rstrip(".")
    if any(words in text.lower() for words in PASSING):
        return BusyError(f"Grid Engine is not able to answer now: {said}.")
    return RefusedError(f"Grid Engine refuses: {said}. Correct the offering's table.")
