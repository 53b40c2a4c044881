"""Access that this computer gives: batch systems, hosts of the ssh config, AWS credentials."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bats.common.records import dataclass

_PATIENCE_SECONDS: Final = 20.0  # a busy controller answers late; a dead one never


@dataclass(frozen=True, slots=True)
class Queue:
    """A partition of Slurm or a queue of Grid Engine."""

    name: str
    cores: int  # of all its machines
    default: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    cores: int = 1  # of this computer, that this process may use
    partitions: tuple[Queue, ...] = ()
    queues: tuple[Queue, ...] = ()
    hosts: tuple[str, ...] = ()
    aws: bool = False
    region: str = ""


def look_around(environment: Mapping[str, str] = os.environ) -> Found:
    """Ask what is installed here. Takes seconds at most; what does not answer is not there."""
    home = Path(environment.get("HOME") or "~").expanduser()
    keys = environment.get("AWS_ACCESS_KEY_ID") or environment.get("AWS_PROFILE")
    return Found(
        cores=len(os.sched_getaffinity(0)),
        partitions=partitions(_said("sinfo", "--noheader", "--format=%P|%C")),
        queues=queues(_said("qstat", "-g", "c")),
        hosts=hosts(_text(home / ".ssh" / "config")),
        aws=bool(keys) or (home / ".aws" / "credentials").is_file(),
        region=environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "",
    )


def partitions(sinfo: str) -> tuple[Queue, ...]:
    """Partitions from lines such as `debug*|8/24/0/32`: name; cores taken, idle, other, all."""
    found: dict[str, Queue] = {}
    for line in sinfo.splitlines():
        name, _, cores = line.strip().partition("|")
        total = cores.rpartition("/")[2]
        if name and total.isdecimal():
            short = name.removesuffix("*")
            before = found[short].cores if short in found else 0
            found[short] = Queue(short, before + int(total), name.endswith("*"))
    return tuple(found.values())


def queues(qstat: str) -> tuple[Queue, ...]:
    """Queues from the table of `qstat -g c`: name, load, used, reserved, available, total."""
    rows = [line.split() for line in qstat.splitlines()]
    return tuple(Queue(row[0], int(row[5])) for row in rows if len(row) >= 6 and row[5].isdecimal())


def hosts(config: str) -> tuple[str, ...]:
    """The names that an ssh config speaks of, patterns left out."""
    names = (
        name
        for line in config.splitlines()
        if (words := line.split()) and words[0].lower() == "host"
        for name in words[1:]
        if not set(name) & set("*?!")
    )
    return tuple(dict.fromkeys(names))


def _said(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
