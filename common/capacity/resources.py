"""Resources: the CPUs, memory and GPUs that a task takes, or that a machine has."""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bats.common.records import dataclass
from bats.common.units import counted, show_octets

DEVICES: Final = "CUDA_VISIBLE_DEVICES"

_UNLIMITED: Final = 1 << 60  # what a control group says that it allows when it allows all


@dataclass(frozen=True, slots=True)
class Resources:
    """A machine of 0 bytes is one whose memory nobody has told: tasks are not counted by it."""

    cpus: int = 1
    memory_bytes: int = 0
    gpus: int = 0

    def holds(self, task: "Resources") -> int:
        """The number of such tasks that a machine of this size runs at a time."""
        most = self.cpus // task.cpus
        if task.memory_bytes and self.memory_bytes:
            most = min(most, self.memory_bytes // task.memory_bytes)
        if task.gpus:
            most = min(most, self.gpus // task.gpus)
        return most

    def width(self, task: "Resources") -> int:
        """The part of the machine's CPUs that stands for the largest part that a task takes.

        By it tasks of several kinds share a machine: as long as their widths do not come to more
        than its CPUs, nothing of it is taken twice (dominant resource fairness; Ghodsi et al.,
        "Dominant Resource Fairness", NSDI 2011, section 4). A task that does not fit is wider.
        """
        wide = task.cpus
        if task.memory_bytes and self.memory_bytes:
            wide = max(wide, math.ceil(self.cpus * task.memory_bytes / self.memory_bytes))
        if task.gpus:
            wide = max(wide, -(-self.cpus * task.gpus // self.gpus) if self.gpus else self.cpus + 1)
        return wide

    def lacks(self, task: "Resources") -> dict[str, str]:
        """Those of which a task takes more, by the key that says so, and how much there is."""
        lacking = {}
        if self.cpus < task.cpus:
            lacking["cpus"] = str(self.cpus)
        if self.memory_bytes and self.memory_bytes < task.memory_bytes:
            lacking["memory"] = show_octets(self.memory_bytes)
        if self.gpus < task.gpus:
            lacking["gpus"] = str(self.gpus)
        return lacking

    def with_least(self, other: "Resources") -> "Resources":
        """The smaller of both in each."""
        return Resources(
            min(self.cpus, other.cpus),
            min(self.memory_bytes, other.memory_bytes),
            min(self.gpus, other.gpus),
        )

    def with_most(self, other: "Resources") -> "Resources":
        """The larger of both in each."""
        return Resources(
            max(self.cpus, other.cpus),
            max(self.memory_bytes, other.memory_bytes),
            max(self.gpus, other.gpus),
        )

    def __str__(self) -> str:
        """`2 CPUs, 4 GB of memory, 1 GPU`"""
        parts = [counted(self.cpus, "CPU")]
        if self.memory_bytes:
            parts.append(f"{show_octets(self.memory_bytes)} of memory")
        if self.gpus:
            parts.append(counted(self.gpus, "GPU"))
        return ", ".join(parts)


def this_computer() -> Resources:
    """The part of its computer that this process may use."""
    return Resources(len(os.sched_getaffinity(0)), memory_here(), len(devices_here()))


def memory_here() -> int:
    """The bytes that this process may use: the computer's, or what its group is held to."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            told = Path(file).read_text().strip()
        except OSError:
            continue
        if told.isdecimal() and int(told) < _UNLIMITED:
            most = min(most, int(told))
    return most


def devices_here(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The GPUs that this process may use, by the names that CUDA knows them by."""
    if (given := environment.get(DEVICES)) is not None:
        return tuple(name for one in given.split(",") if (name := one.strip()))
    found = (re.fullmatch(r"nvidia(\d+)", one.name) for one in Path("/dev").glob("nvidia*"))
    return tuple(sorted((one[1] for one in found if one), key=int))


def devices_of(gpus: int) -> tuple[str, ...]:
    """The names of so many GPUs of a machine: those that it was given, else numbers from 0."""
    given = devices_here()
    return given[:gpus] if len(given) >= gpus else tuple(map(str, range(gpus)))
