"""Whatever is killed or frozen, whenever: every task is recorded once, no machine is forgotten."""

import asyncio
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.service import Make, becomes, eventually, over, results, sweep
from helpers.workers import daemon_of, workers_in

from bats.master.client import follow_log
from bats.master.store.reader import Reader


def runs(folder: Path) -> Counter[str]:
    """The number of times that each task was run, by its own account."""
    return Counter(path.name.partition(".")[0] for path in folder.iterdir())


def counting(folder: Path, seconds: float) -> str:
    """A command that leaves a mark when it has run to its end."""
    folder.mkdir()
    return f"sleep {seconds}; mktemp {folder}/{{x}}.XXXXXX"


async def test_a_master_killed_in_the_middle_goes_on_with_the_same_workers(
    killable: Make, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        # Fewer than ten a second: orders of faster ones may be forgotten, and given again.
        work = sweep(20, counting(marks, 0.25))
        bag = (await client.ask("submit", sweep=work, replicate=False))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 6)
    before = workers_in(tmp_path)
    master.kill()
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 20)
        rows = await results(client, bag)
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert sorted(row["task"] for row in rows) == list(range(20))
    assert len(machines) == len(before) == 1
    assert machines[0]["state"] == "gone"
    assert runs(marks) == dict.fromkeys(map(str, range(20)), 1)
    assert not workers_in(tmp_path)


async def test_results_that_come_while_the_master_is_dead_are_kept_by_the_worker(
    killable: Make, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(2, counting(marks, 1.5))))["bag"]
        await becomes(client, bag, lambda status: status.get("running") == 2)
        await eventually(lambda: _busy(client))
    master.kill()
    await eventually(lambda: len(list(marks.iterdir())) == 2)
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
    assert (status["done"], status["duplicates"]) == (2, 0)
    assert runs(marks) == {"0": 1, "1": 1}


async def _busy(client: object) -> bool:
    snapshot = await client.ask("snapshot")  # type: ignore[attr-defined]
    return any(worker["running"] == 2 for worker in snapshot["workers"])


async def test_a_bag_that_was_confirmed_survives_a_kill_right_after(
    killable: Make, tmp_path: Path
) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(5), name="mine"))["bag"]
        master.kill()
    master.start()
    async with master.client() as client:
        assert (await over(client, bag))["done"] == 5
        assert (await client.ask("bags"))["bags"][0]["name"] == "mine"
    assert not workers_in(tmp_path)


async def test_a_killed_worker_is_replaced_and_its_tasks_run_elsewhere(
    killable: Make, tmp_path: Path
) -> None:
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(30, "sleep 0.1")))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 5)
        ((first, pid),) = workers_in(tmp_path).items()
        os.kill(pid, signal.SIGKILL)
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 30)
        rows = await results(client, bag)
        machines = (await client.ask("machines", bag=bag))["machines"]
        decisions = (await client.ask("decisions", bag=bag))["decisions"]
    assert sorted(row["task"] for row in rows) == list(range(30))
    assert [machine["number"] for machine in machines] == [first, first + 1]
    assert "SIGKILL" in machines[0]["reason"]
    assert any("SIGKILL" in one["words"] for one in decisions)


async def test_what_a_worker_tells_as_it_ends_with_its_guardian_is_not_run_again(
    killable: Make, tmp_path: Path
) -> None:
    """It is slow to: its daemon is frozen while its task and then its guardian end."""
    marks = tmp_path / "marks"
    master = killable(heartbeat_seconds=5.0)
    master.start()
    async with master.client() as client:
        command = f"{counting(marks, 0)}; touch {tmp_path}/ran; sleep 0.5"
        bag = (await client.ask("submit", sweep=sweep(1, command)))["bag"]
        await eventually((tmp_path / "ran").exists)
        ((first, guardian),) = workers_in(tmp_path).items()
        daemon = daemon_of(guardian)
        os.kill(daemon, signal.SIGSTOP)
        await asyncio.sleep(1.0)  # while its task ends: nobody else can see that it has
        os.kill(guardian, signal.SIGKILL)
        await asyncio.sleep(1.0)  # in which the master sees what became of it
        os.kill(daemon, signal.SIGCONT)
        assert (await over(client, bag))["state"] == "complete"
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert [machine["number"] for machine in machines] == [first]
    assert runs(marks) == {"0": 1}


async def test_who_follows_output_hears_the_next_attempt_when_a_machine_is_lost(
    killable: Make, tmp_path: Path
) -> None:
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        command = "echo $BATS_ATTEMPT; test $BATS_ATTEMPT != 1 || sleep 600"
        bag = (await client.ask("submit", sweep=sweep(1, command)))["bag"]
        heard = []
        async with asyncio.timeout(60):
            async for said in follow_log(client, bag, 0):
                heard.append((said.attempt, said.data))
                if said.attempt == 1:
                    os.kill(*workers_in(tmp_path).values(), signal.SIGKILL)
    assert heard[0] == (1, b"1\n")
    assert heard[1:] == [(heard[-1][0], b"%d\n" % heard[-1][0])]


async def test_a_frozen_worker_falls_silent_and_is_welcome_when_it_thaws(
    killable: Make, tmp_path: Path
) -> None:
    offering = {"name": "two", "price": 10**9, "atu_seconds": 3600.0, "max_machines": 2}
    master = killable(heartbeat_seconds=0.2, offerings=[offering])
    master.start()
    async with master.client() as client:
        submitted = await client.ask(
            "submit", sweep=sweep(60, "sleep 0.2"), sampling="none", replicate=False
        )
        bag = submitted["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 4)
        (machine, guardian), *_ = sorted(workers_in(tmp_path).items())
        daemon = daemon_of(guardian)
        os.kill(daemon, signal.SIGSTOP)
        await becomes(client, bag, _has("silent"))
        os.kill(daemon, signal.SIGCONT)
        await becomes(client, bag, lambda status: not _has("silent")(status))
        status = await over(client, bag, 60)
        assert (status["state"], status["done"]) == ("complete", 60)
        rows = await results(client, bag)
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert len(rows) == 60
    assert len(machines) == 2
    assert all(one["reason"] == "the bag has ended" for one in machines)
    assert machine == machines[0]["number"]


def _has(state: str) -> Callable[[dict[str, object]], bool]:
    return lambda status: any(one["state"] == state for one in status["machines"])  # type: ignore[attr-defined,index]


async def test_a_worker_that_died_with_the_master_is_found_out_after_the_restart(
    killable: Make, tmp_path: Path
) -> None:
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(30, "sleep 0.1")))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 5)
    master.kill()
    for pid in workers_in(tmp_path).values():
        os.kill(pid, signal.SIGKILL)
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 30)
        assert len((await client.ask("machines", bag=bag))["machines"]) == 2


async def test_a_master_that_was_frozen_blames_nobody(killable: Make, tmp_path: Path) -> None:
    master = killable(heartbeat_seconds=0.2)
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(20, "sleep 0.2")))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 2)
        master.kill(signal.SIGSTOP)
        await asyncio.sleep(1.5)  # longer than workers may be silent: what is tested is time
        master.kill(signal.SIGCONT)
        status = await over(client, bag)
        assert status["done"] == 20
        assert len((await client.ask("machines", bag=bag))["machines"]) == 1
    assert not master.logged("silent")


@pytest.mark.parametrize("seed", range(3))
async def test_kills_at_any_moment_lose_nothing(killable: Make, tmp_path: Path, seed: int) -> None:
    marks = tmp_path / "marks"
    master = killable(heartbeat_seconds=0.3, rejoin_seconds=3.0)
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(150, counting(marks, 0.02))))["bag"]
    for k in range(3):
        async with master.client() as client:
            await becomes(
                client,
                bag,
                lambda s, least=13 * (seed + 1) * (k + 1): s.get("done", 0) >= min(least, 150),
            )
        if (k + seed) % 3 == 1:
            for pid in workers_in(tmp_path).values():
                os.kill(pid, signal.SIGKILL)
        master.kill()
        master.start()
    async with master.client() as client:
        status = await over(client, bag, 60)
        assert (status["state"], status["done"], status["failed"]) == ("complete", 150, 0)
        rows = await results(client, bag)
    assert sorted(row["task"] for row in rows) == list(range(150))
    assert not workers_in(tmp_path)
    with Reader(tmp_path / "state") as reader:
        await eventually(lambda: all(row.gone is not None for row in reader.machines()))


async def test_a_machine_that_is_in_no_books_is_stopped_when_the_master_starts(
    killable: Make, tmp_path: Path
) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(2, "sleep 600")))["bag"]
        await becomes(client, bag, lambda status: status.get("running") == 2)
    master.kill()
    with sqlite3.connect(tmp_path / "state" / "store.db") as books:
        books.execute("UPDATE bags SET state = 'cancelled'")
    assert workers_in(tmp_path)
    master.start()
    await eventually(lambda: not workers_in(tmp_path))
    await eventually(lambda: master.logged("in no bag's books"))


async def test_no_machine_lives_past_its_lease_when_the_master_is_frozen(
    killable: Make, tmp_path: Path
) -> None:
    offering = {"name": "paid", "price": 10**9, "atu_seconds": 6.0, "max_machines": 2}
    master = killable(heartbeat_seconds=0.5, offerings=[offering])
    master.start()
    marks = tmp_path / "marks"
    marks.mkdir()
    command = f"touch {marks}/{{x}}; exec sleep 600"
    async with master.client() as client:

        async def both_gone() -> bool:
            machines = (await client.ask("machines", bag=bag))["machines"][:2]
            return all(one["gone"] is not None for one in machines)

        bag = (await client.ask("submit", sweep=sweep(4, command), sampling="none"))["bag"]
        await eventually(lambda: len(list(marks.iterdir())) == 2)
        assert len(workers_in(tmp_path)) == 2
        master.kill(signal.SIGSTOP)
        await eventually(lambda: not workers_in(tmp_path), 20)
        master.kill(signal.SIGCONT)
        await eventually(both_gone)  # who cancels first has them stopped for that
        await client.ask("cancel", bag=bag)
        await over(client, bag)
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert all("lease" in one["reason"] for one in machines[:2])
    assert all(one["gone"] - one["charged_since"] <= 8.0 for one in machines[:2])


async def test_results_left_on_a_machine_whose_lease_ended_without_a_master_count_with_their_files(
    killable: Make, tmp_path: Path
) -> None:
    """Its worker has ended; the folder that it kept them in is still there."""
    marks = tmp_path / "marks"
    rented = {"name": "rented", "price": 10**7, "atu_seconds": 3.0, "max_machines": 1, "slots": 2,
              "boundary_seconds": 0.3, "backend": "local"}  # fmt: skip
    master = killable(heartbeat_seconds=0.5, offerings=[rented])
    master.start()
    command = f"{counting(marks, 1.5)}; echo {{x}} > kept"
    async with master.client() as client:
        asked = {"sweep": sweep(2, command, outputs=["kept"]), "budget": 10**9}
        bag = (await client.ask("submit", **asked))["bag"]
        await eventually(lambda: _busy(client))
    master.kill()
    await eventually(lambda: not workers_in(tmp_path))
    assert len(list(marks.iterdir())) == 2, "they ended in time"
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
    assert (status["state"], status["done"]) == ("complete", 2)
    assert runs(marks) == {"0": 1, "1": 1}
    kept = sorted((tmp_path / "state" / "output" / str(bag)).rglob("*kept"))
    assert [file.read_text() for file in kept] == ["0\n", "1\n"]
