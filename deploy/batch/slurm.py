"""Machines that are jobs of a Slurm cluster."""

import os
import re
from collections.abc import Sequence
from typing import ClassVar, Final

from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.deploy import backend_table, processes
from bats.deploy.batch.job_folders import Run
from bats.deploy.batch.jobs import COMMAND_SECONDS, Batch, Common, Job
from bats.deploy.exit_codes import verdict
from bats.deploy.processes import Finished
from bats.deploy.protocol import BusyError, Gone, RefusedError, Site, State

# Refusals that pass by themselves; anything else Slurm refuses again.
PASSING: Final = (
    "timed out",
    "Unable to contact",
    "temporarily",
    "Transport endpoint",
    "Connection refused",
    "submit limit",
    "MaxSubmitJob",
    "Zero Bytes were transmitted",
    "Job dependency problem",
    "backup controller",
)
STATES: Final = {
    "PENDING": State.QUEUED,
    "REQUEUED": State.QUEUED,
    "REQUEUE_HOLD": State.QUEUED,
    "SPECIAL_EXIT": State.QUEUED,
    "CONFIGURING": State.STARTING,
    "COMPLETING": State.STOPPING,
    "STAGE_OUT": State.STOPPING,
}
LIVING: Final = {"RUNNING", "SUSPENDED", "SIGNALING", "STOPPED", "RESIZING"}
ENDS: Final = {
    "TIMEOUT": (Gone.EXPIRED, "its job reached its time limit"),
    "DEADLINE": (Gone.EXPIRED, "its job reached its deadline"),
    "PREEMPTED": (Gone.PREEMPTED, "Slurm gave its place to another job"),
    "REVOKED": (Gone.PREEMPTED, "its job was started at another cluster of the federation"),
    "NODE_FAIL": (Gone.FAILED, "its node failed"),
    "BOOT_FAIL": (Gone.FAILED, "its node could not be booted"),
    "OUT_OF_MEMORY": (Gone.FAILED, "it used more memory than its job had asked for"),
    "CANCELLED": (Gone.FAILED, "its job was cancelled, and not by us"),
}
HOPELESS: Final = {  # reasons for waiting that no waiting ends
    "BadConstraints",
    "DependencyNeverSatisfied",
    "InvalidAccount",
    "InvalidQOS",
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
}
FIELDS: Final = ("JobArrayID", "Name", "State", "Reason", "TimeUsed", "exit_code", "PendingTime")
CLOCK: Final = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Settings(Common):
    partition: str = ""  # "": the cluster's default
    account: str = ""
    qos: str = ""
    time_limit: str = ""  # as Slurm takes it: minutes, or 4:00:00, or 2-12; "": the partition's
    memory: str = ""  # per machine: 4G


class Slurm(Batch):
    system: ClassVar[str] = "Slurm"

    def __init__(self, offering: Offering, site: Site) -> None:
        self._settings = backend_table.read(Settings, offering)
        super().__init__(offering, site, self._settings)

    async def check(self) -> str:
        """Slurm itself is asked whether the very script could run, and when."""
        tried = await _slurm("sbatch", "--test-only", stdin=self.script())
        if tried.code:
            raise _error(tried)
        found = re.search(
            r"to start at (\S+) using \d+ processors on nodes \S+ in (.+)", tried.stderr
        )
        when = f"in {found[2]}, a machine could start at {found[1]}" if found else tried.complaint
        version = (await _slurm("sbatch", "--version")).stdout.strip()
        return f"{version}: {when}"

    def _directives(self, run: Run) -> Sequence[str]:
        given = self._settings
        options = {
            "job-name": self._name(run),
            "array": f"0-{run.count - 1}",
            "output": f'"{self._log_of_jobs(run, "%a")}"',
            "nodes": "1",
            "ntasks": "1",
            "cpus-per-task": str(run.slots),
            "partition": given.partition,
            "account": given.account,
            "qos": given.qos,
            "time": given.time_limit,
            "mem": given.memory or _mebibytes(self._offering.memory_bytes),
            "gres": f"gpu:{self._offering.gpus}" if self._offering.gpus else "",
        }
        lines = [f"#SBATCH --{name}={value}" for name, value in options.items() if value]
        return [*lines, "#SBATCH --no-requeue"]  # its ticket is good once; we start another

    def _index(self) -> str:
        return "$SLURM_ARRAY_TASK_ID"

    async def _submit(self, run: Run, script: str) -> str:
        del run
        answer = await _slurm("sbatch", "--parsable", stdin=script)
        if answer.code:
            raise _error(answer)
        return answer.stdout.split(";")[0].strip()  # a cluster's name may follow

    async def _jobs(self) -> Sequence[Job]:
        wanted = ",".join(f"{field}:|" for field in (*FIELDS, "NodeList"))
        answer = await _slurm(
            "squeue", "-h", "-r", "-t", "all", "-u", str(os.getuid()), "-O", wanted
        )
        if answer.code:
            raise _error(answer)
        return [job for line in answer.stdout.splitlines() if (job := _job(line))]

    async def _cancel(self, ids: Sequence[str]) -> None:
        answer = await _slurm("scancel", "-Q", *ids)
        if answer.code and "nvalid job id" not in answer.stderr:  # it has ended meanwhile
            raise _error(answer)


def _job(line: str) -> Job | None:
    words = [word.strip() for word in line.split("|")]
    if len(words) < len(FIELDS) + 1 or "_" not in words[0]:
        return None
    id_, name, state, reason, used, status, pending, node = words[: len(FIELDS) + 1]
    index = id_.rpartition("_")[2]
    if not index.isdigit():
        return None
    gone, detail, doomed = None, "", False
    if state in LIVING:
        living = State.UP
        detail = "suspended by Slurm" if state in {"SUSPENDED", "STOPPED"} else ""
    elif state in STATES:
        living = STATES[state]
        detail = f"waits: {reason}" if living is State.QUEUED and reason != "None" else ""
        if living is State.QUEUED and reason in HOPELESS:
            living, gone, doomed = State.GONE, Gone.FAILED, True
            detail = f"Slurm would never start its job: {reason}"
    else:
        living = State.GONE
        gone, detail = ENDS.get(state) or verdict(_exit_code(status))
        if state not in {*ENDS, "COMPLETED", "FAILED"}:
            gone, detail = Gone.FAILED, f"its job ended as {state}"
        elif reason in HOPELESS:
            detail = f"Slurm cannot start its job: {reason}"
    return Job(
        name=name,
        index=int(index),
        id=id_,
        state=living,
        elapsed_seconds=_seconds(used),
        queued_seconds=float(pending) if pending.isdigit() else 0.0,
        node=node,
        gone=gone,
        detail=detail,
        doomed=doomed,
    )


def _exit_code(status: str) -> int:
    """The exit code as a shell says it: from `code:signal`, or the number that `wait` gives."""
    if ":" in status:
        code, number = (int(part) for part in status.split(":"))
    else:
        code, number = int(status) >> 8, int(status) & 0x7F
    return code or (128 + number if number else 0)


def _seconds(clock: str) -> float:
    """Slurm's 1-02:03:04, 02:03:04 or 03:04."""
    found = CLOCK.fullmatch(clock)
    if not found:
        return 0.0
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds


async def _slurm(program: str, *arguments: str, stdin: str = "") -> Finished:
    """An environment without the variables of our own job: they would count as options."""
    ours = [name for name in os.environ if name.startswith(("SLURM_", "SBATCH_", "SQUEUE_"))]
    strange = [word for name in ours if name != "SLURM_CONF" for word in ("-u", name)]
    clean = ("env", *strange) if strange else ()
    return await processes.run(
        *clean, program, *arguments, limit_seconds=COMMAND_SECONDS, stdin=stdin.encode()
    )


def _mebibytes(octets: int) -> str:
    """A size as Slurm takes it; "" for none."""
    return f"{octets >> 20}M" if octets else ""


def _error(answer: Finished) -> BusyError | RefusedError:
    said = re.sub(r"^\w+: (error: )?", "", answer.complaint)
    if any(words in answer.stderr for words in PASSING):
        return BusyError(f"Slurm is not able to answer now: {said}")
    return RefusedError(f"Slurm refuses: {said}. Correct the offering's table.")
