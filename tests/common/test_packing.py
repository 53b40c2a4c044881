"""How many tasks a machine runs at a time, and what is said when none holds one."""

import random
import re

import pytest

from bats.common.capacity.packing import packed
from bats.common.capacity.resources import Resources, devices_here, devices_of, memory_here
from bats.common.errors import UsageError
from bats.common.offering import ClusterName, Offering

GIB = 1 << 30


def kind(name: str, cpus: int, memory: int = 0, gpus: int = 0, backend: str = "ssh") -> Offering:
    return Offering(
        ClusterName(name), 0, 60.0, 4, cpus, memory_bytes=memory * GIB, gpus=gpus, backend=backend
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "places"),
    [
        (Resources(), {"lab": 8, "big": 32, "gpu": 16}),
        (Resources(3), {"lab": 2, "big": 10, "gpu": 5}),
        (Resources(1, 8 * GIB), {"lab": 8, "big": 16, "gpu": 8}),
        (Resources(4, 48 * GIB), {"lab": 2, "big": 2, "gpu": 1}),
        (Resources(1, 0, 1), {"gpu": 4}),
        (Resources(20), {"big": 1}),
    ],
    ids=str,
)
def test_a_machine_runs_as_many_as_fit_of_all_that_they_take(
    task: Resources, places: dict[str, int]
) -> None:
    """Of `lab` nobody has told the memory: tasks are not counted by it."""
    offerings = [kind("lab", 8), kind("big", 32, 128), kind("gpu", 16, 64, 4)]
    assert {one.name: one.slots for one in packed(offerings, task)} == places


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (Resources(40, 4 * GIB), "big, has 32 CPUs, 128 GB of memory. Lower `cpus` to 32"),
        (Resources(1, 200 * GIB), "big, has 32 CPUs, 128 GB of memory. Lower `memory` to"),
        (Resources(1, 0, 8), "gpu, has 16 CPUs, 64 GB of memory, 4 GPUs. Lower `gpus` to 4"),
        (Resources(20, 0, 1), "gpu, has 16 CPUs, 64 GB of memory, 4 GPUs. Lower `cpus` to 16"),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_machine_holds_is_refused_with_the_largest(task: Resources, said: str) -> None:
    offerings = [kind("small", 2, 4), kind("big", 32, 128), kind("gpu", 16, 64, 4)]
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        packed(offerings, task)
    assert str(refused.value).startswith(f"A task takes {task}, and no machine has that")


@pytest.mark.parametrize("seed", range(100))
def test_one_more_than_it_holds_would_take_what_is_not_there(seed: int) -> None:
    rng = random.Random(seed)
    machine = Resources(rng.randint(1, 16), rng.randint(1, 64), rng.randint(0, 4))
    task = Resources(rng.randint(1, 4), rng.randint(0, 16), rng.randint(0, 2))

    def fit(count: int) -> bool:
        return (
            count * task.cpus <= machine.cpus
            and count * task.memory_bytes <= machine.memory_bytes
            and count * task.gpus <= machine.gpus
        )

    tried = next(count for count in range(20) if not fit(count + 1))
    assert machine.holds(task) == tried
    assert bool(machine.lacks(task)) == (tried == 0)
    assert machine.width(task) * tried <= machine.cpus + tried, "at most rounded up"


def test_this_computer_knows_its_own_memory() -> None:
    (here,) = packed([kind("here", 64, backend="local")], Resources(1, memory_here() // 2))
    assert here.slots == 2
    with pytest.raises(UsageError, match="no machine has that"):
        packed([kind("here", 64, backend="local")], Resources(1, memory_here() + 1))


def test_gpus_are_those_that_this_process_was_given() -> None:
    assert devices_here({"CUDA_VISIBLE_DEVICES": "2, GPU-ab"}) == ("2", "GPU-ab")
    assert devices_here({"CUDA_VISIBLE_DEVICES": ""}) == ()
    assert devices_of(0) == ()
