"""Tasks of several slots, and a limit on tasks at a time, as real workers run them."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from helpers.service import free, over, results, sweep

from bats.common.errors import UsageError
from bats.common.money import money
from bats.master.client import Client


def most_at_a_time(log: Path) -> int:
    running = most = 0
    for word in log.read_text().split():
        running += 1 if word == "begins" else -1
        most = max(most, running)
    return most


@pytest.mark.parametrize(
    ("limits", "most"),
    [({}, 5), ({"slots": 2}, 2), ({"slots": 5}, 1), ({"at_once": 3}, 3)],
    ids=["none", "two slots each", "five slots each", "three at a time"],
)
async def test_no_more_run_at_a_time_than_there_is_room_for(
    client: Client, tmp_path: Path, limits: dict[str, int], most: int
) -> None:
    log = tmp_path / "log"
    work = sweep(20, f"echo begins >> {log}; sleep 0.05; echo ends >> {log}", **limits)
    bag = await client.ask("submit", sweep=work, offerings=[asdict(free(slots=5))])
    status = await over(client, bag["bag"])
    assert (status["state"], status["done"]) == ("complete", 20)
    assert len(await results(client, bag["bag"])) == 20
    assert most_at_a_time(log) == most


async def test_tasks_fill_a_machine_by_the_memory_and_the_gpus_that_they_take(
    client: Client, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    words = f"echo begins $CUDA_VISIBLE_DEVICES >> {log}; sleep .1; echo ends 0 >> {log}"
    size = replace(free(slots=6), memory_bytes=4 << 30, gpus=3)
    for needs, most in (({"memory_bytes": 1 << 30}, 4), ({"gpus": 1}, 3), ({"gpus": 2}, 1)):
        log.write_text("")
        bag = await client.ask("submit", sweep=sweep(12, words, **needs), offerings=[asdict(size)])
        status = await over(client, bag["bag"])
        assert (status["state"], status["done"]) == ("complete", 12)
        lines = [line.split() for line in log.read_text().splitlines()]
        at_once: list[str] = []
        for word, *rest in lines:
            at_once = [*at_once, *rest] if word == "begins" else at_once[1:]
            assert len(at_once) <= most
    assert {line[1] for line in lines if line[0] == "begins"} <= {"0,1", "1,2", "0,2", "2,0", "2,1"}


async def test_machines_too_small_for_a_task_are_left_out(client: Client) -> None:
    small, large = free(slots=1, name="small"), free(slots=4, name="large")
    bag = await client.ask(
        "submit", sweep=sweep(6, slots=2), offerings=[asdict(small), asdict(large)]
    )
    status = await over(client, bag["bag"])
    assert [one["name"] for one in status["clusters"]] == ["large"]
    with pytest.raises(
        UsageError, match="takes 5 CPUs, and no machine has that: the largest, large, has 4 CPUs"
    ):
        await client.ask("submit", sweep=sweep(6, slots=5), offerings=[asdict(large)])


async def test_no_machine_is_bought_that_the_limit_would_leave_idle(client: Client) -> None:
    paid = replace(free(slots=2, machines=50, name="paid"), price=money("1"))
    bag = await client.ask(
        "submit", sweep=sweep(9, at_once=3), offerings=[asdict(paid)], rule="ask", hold=True
    )
    await client.ask("release", bag=bag["bag"])
    status = await client.ask("status", bag=bag["bag"])
    assert [one["limit"] for one in status["clusters"]] == [2]
    await client.ask("cancel", bag=bag["bag"])
    await over(client, bag["bag"])
    other = replace(paid, name="other")
    with pytest.raises(UsageError, match=r"At most 3 tasks .* paid, other have room for 8"):
        await client.ask(
            "submit", sweep=sweep(9, at_once=3), offerings=[asdict(paid), asdict(other)]
        )
