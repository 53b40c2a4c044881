"""Values that a task wrote into the file that its sweep names stand before its last words."""

import time
from pathlib import Path
from typing import Any

from bats.common.outcomes.values import values_of

FILE = {"env": {"BATS_VALUES": "told.json"}}


def test_the_file_is_read_before_the_next_task_has_the_folder(master: Any, worker: Any) -> None:
    tasks = [f"echo '{{\"n\": {n}}}' > $BATS_VALUES; echo end of {n}" for n in range(8)]
    results = master.run(*tasks, "echo nothing told", **FILE)
    assert [values_of(one.excerpt) for one in results[:8]] == [{"n": n} for n in range(8)]
    assert results[3].excerpt.splitlines()[-1] == "end of 3"
    missing = "nothing told [bats: told.json cannot be read: No such file or directory]"
    assert results[8].excerpt == missing


def test_the_name_may_hold_parameters_and_the_folder_may_be_shared(
    master: Any, worker: Any, tmp_path: Path
) -> None:
    spec = {"command": "echo x={c} > t-{c}", "env": {"BATS_VALUES": "t-{c}"}, "cwd": str(tmp_path)}
    assert [values_of(one.excerpt) for one in master.run("3", "4", **spec)] == [{"x": 3}, {"x": 4}]


def test_no_file_holds_a_task_up(master: Any, worker: Any) -> None:
    began = time.monotonic()
    pipe, large, folder, failed = master.run(
        "mkfifo told.json", "head -c 70000 /dev/zero > told.json", "mkdir told.json",
        "echo x=1 > told.json; exit 3", **FILE,
    )  # fmt: skip
    assert pipe.excerpt == "[bats: told.json is no file]"
    assert large.excerpt == "[bats: told.json has more than 64 KiB]"
    assert folder.excerpt == "[bats: told.json is no file]"
    assert failed.excerpt == ""
    assert time.monotonic() - began < 20
