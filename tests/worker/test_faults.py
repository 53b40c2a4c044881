"""What goes wrong on a worker is a result; no slot, no batch and no other task is lost by it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.control_groups import WITHOUT_GROUPS

from bats.common import messages as m
from bats.common.wire.codec import decode
from bats.worker.link.outbox import Outbox
from bats.worker.link.reports import Reports

FEW_BYTES = 200_000
SLOTS = 48  # of which each has three files, and one more with a task
FEW_FILES = 200


def result(task: int, **other: Any) -> m.Result:
    one = m.Result(m.BagId(1), m.TaskId(task), 1, 0, 0, 1.0, 0.1, 0.1, 1, 0, "", 0)
    return one._replace(**other)


def test_an_output_whose_name_is_not_utf_8_fails_its_task_and_no_other(
    master: Any, worker: Any
) -> None:
    odd = r'echo x > "$(printf "a\377.dat")"'
    done = master.run(odd, "echo x > b.dat", odd, "echo x > c.dat", outputs=("*.dat",))
    assert [one.outcome for one in done] == [m.Outcome.FAILED, m.Outcome.DONE] * 2
    assert r"the name b'a\xff.dat' is not UTF-8" in done[0].excerpt
    assert [one.outputs[0][0] for one in done[1::2]] == ["b.dat", "c.dat"]


def test_standard_input_that_finds_no_room_fails_its_task_and_its_slot_goes_on(
    master: Any, start: Callable[..., Any]
) -> None:
    start(("prlimit", f"--fsize={FEW_BYTES}"))
    master.welcome()
    much = "x" * (FEW_BYTES + 1)
    done = master.run(*["true"] * 4, stdin=much)
    assert {one.outcome for one in done} == {m.Outcome.NOT_STARTED}
    assert {one.excerpt for one in done} == {"its standard input cannot be written: File too large"}
    master.say(m.BagSpec(m.BagId(2), ("c",), command="{c!raw}", stdin="few"))
    master.say(m.Run(m.BagId(2), tuple(m.Order(m.TaskId(i), 1, ("cat",)) for i in range(4))))
    assert {one.outcome for one in master.results(4)} == {m.Outcome.DONE}


def test_without_descriptors_tasks_are_not_started_and_those_that_run_end_well(
    master: Any, start: Callable[..., Any]
) -> None:
    start((*WITHOUT_GROUPS, "prlimit", f"--nofile={FEW_FILES}"), slots=SLOTS)
    master.welcome()
    done = master.run(*["sleep 1"] * SLOTS)
    outcomes = [one.outcome for one in done]
    assert outcomes.count(m.Outcome.DONE) >= 2
    assert m.Outcome.NOT_STARTED in outcomes
    assert all("Too many open files" in one.excerpt for one in done if one.outcome != 0)
    assert {one.outcome for one in master.run("true", "true")} == {m.Outcome.DONE}


async def test_a_result_that_no_message_can_carry_is_replaced_by_a_failure(tmp_path: Path) -> None:
    sent: list[bytes] = []
    reports = Reports(Outbox(tmp_path / "outbox"), sent.append)
    reports.add(result(1), more_soon=True)
    reports.add(result(2, excerpt="\udcff"), more_soon=True)
    reports.add(result(3, peak_kib=1 << 70), more_soon=True)
    reports.close()
    (frame,) = sent
    told = decode(frame).results
    assert [(one.task, one.outcome) for one in told] == [
        (1, m.Outcome.DONE),
        (2, m.Outcome.FAILED),
        (3, m.Outcome.FAILED),
    ]
