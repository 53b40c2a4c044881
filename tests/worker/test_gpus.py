"""Tasks that ask for GPUs find those that are their own, and no other task finds the same."""

from collections.abc import Callable
from typing import Any

import pytest

SHOW = 'echo "cpus=$BATS_CPUS gpus=$CUDA_VISIBLE_DEVICES"; sleep .2'


def seen(master: Any, count: int, **spec: int) -> list[str]:
    return [one.excerpt.strip() for one in master.run(*[SHOW] * count, **spec)]


def test_each_attempt_sees_gpus_that_no_other_sees_at_that_time(
    master: Any, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    start(slots=4, gpus=4)
    assert master.welcome().gpus == 4
    pairs = seen(master, 2, cpus=2, gpus=2)
    assert set(pairs) <= {"cpus=2 gpus=0,1", "cpus=2 gpus=2,3"}
    assert len(set(pairs)) == 2


def test_devices_are_called_as_the_machine_was_given_them(
    master: Any, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch system gives a job some of a node's, by number or by name."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,7")
    start(slots=2, gpus=2)
    master.welcome()
    assert set(seen(master, 2, gpus=1)) == {"cpus=1 gpus=GPU-a", "cpus=1 gpus=7"}


def test_a_task_that_asks_for_none_finds_what_its_worker_has(
    master: Any, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    start(gpus=1)
    master.welcome()
    assert seen(master, 1) == ["cpus=1 gpus=3"]
