"""Rows to fill a store with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.master.store.rows import BagRow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "the state"


@pytest.fixture
def finished() -> Callable[..., Result]:
    def make(
        bag: int,
        task: int,
        attempt: int = 1,
        outcome: Outcome = Outcome.DONE,
        *,
        wall: float = 1.5,
        cluster: str = "small",
        machine: int = 1,
        started: float = 10.0,
        **more: Any,
    ) -> Result:
        facts: dict[str, Any] = {
            "exit_code": 0 if outcome is Outcome.DONE else 1,
            "wall_seconds": wall,
            "user_seconds": 0.5,
            "system_seconds": 0.25,
            "peak_kib": 2048,
            "output_bytes": 10,
            "excerpt": "" if outcome is Outcome.DONE else "boom",
            "slot": 0,
        }
        facts |= {"machine": MachineId(machine), "cluster": cluster, "started": started}
        return Result(BagId(bag), TaskId(task), attempt, outcome, **(facts | more))

    return make


@pytest.fixture
def bag_row() -> Callable[..., BagRow]:
    def make(bag: int, name: str = "a sweep", tasks: int = 10, **more: Any) -> BagRow:
        return BagRow(BagId(bag), name, b"spec", b"settings", tasks, 1.0, "running", **more)

    return make
