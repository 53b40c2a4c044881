"""Packing: how many tasks a machine runs at a time, by what they take and what it has."""

from collections.abc import Iterable
from dataclasses import replace

from bats.common.capacity.resources import Resources, memory_here
from bats.common.errors import UsageError
from bats.common.offering import Offering


def packed(offerings: Iterable[Offering], task: Resources) -> tuple[Offering, ...]:
    """The offerings that such tasks can use, with as many slots as a machine runs of them.

    Raises UsageError if no machine holds one, and names the one that comes nearest.
    """
    given = tuple(map(_as_known_here, offerings))
    places = [replace(one, slots=fit) for one in given if (fit := one.machine.holds(task))]
    if given and not places:
        raise UsageError(_too_large(task, given))
    return tuple(places)


def _as_known_here(offering: Offering) -> Offering:
    """A machine that is this computer has its memory, if its owner says nothing else."""
    if offering.backend != "local" or offering.memory_bytes:
        return offering
    return replace(offering, memory_bytes=memory_here())


def _too_large(task: Resources, offerings: Iterable[Offering]) -> str:
    largest = max(offerings, key=lambda one: _nearness(one.machine, task))
    lacking = largest.machine.lacks(task)
    instead = " and ".join(f"`{key}` to {much}" for key, much in lacking.items())
    return (
        f"A task takes {task}, and no machine has that: the largest, {largest.name}, has "
        f"{largest.machine}. Lower {instead}, or name a larger machine in the clouds file."
    )


def _nearness(machine: Resources, task: Resources) -> tuple[int, float, int, int]:
    """Few things that it lacks first, then how much of the scarcest there is, then its size."""
    parts = [machine.cpus / task.cpus]
    if task.memory_bytes and machine.memory_bytes:
        parts.append(machine.memory_bytes / task.memory_bytes)
    if task.gpus:
        parts.append(machine.gpus / task.gpus)
    return -len(machine.lacks(task)), min(parts), machine.cpus, machine.memory_bytes
