"""Workflows under a live master: durable before ready, whatever is killed."""

import os
import random
import signal
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers.service import Make, becomes, free, over, results
from helpers.workers import workers_in

from bats.master.sweep.columns import Spaced
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.workflow.after import After
from bats.master.sweep.workflow.task_list import ListedTask, TaskList, workflow_from
from bats.master.sweep.workflow.workflow import Workflow


def numbered(name: str, count: int, command: str, **more: Any) -> Sweep:
    space = Space((Axis(("x",), (Spaced(0, 1, count),)),))
    return Sweep(space, name=name, command=command, **more)


def flow(*steps: tuple[Sweep, list[After]], retries: int = 0) -> dict[str, Any]:
    made = Workflow(
        tuple(step for step, _ in steps),
        tuple(tuple(after) for _, after in steps),
        (retries,) * len(steps),
        name="flow",
    )
    return made.to_plain()


async def test_a_task_begins_when_what_it_waits_for_is_on_the_disk(
    killable: Make, tmp_path: Path
) -> None:
    """Each task counts, at its start, the results that the store holds."""
    count = (
        "python3 -c \"import sqlite3; db = sqlite3.connect('file:$BATS_STORE?mode=ro', uri=True); "
        "print(db.execute('SELECT count(*) FROM results').fetchone()[0])\""
    )
    master = killable()
    master.start()
    steps = [
        Sweep(name=f"s{k}", command=count, env={"BATS_STORE": str(master.folder / "store.db")})
        for k in range(5)
    ]
    chain = flow((steps[0], []), *((b, [After(a.name)]) for a, b in zip(steps, steps[1:])))  # noqa: B905, RUF007
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=chain))["bag"]
        assert (await over(client, bag))["state"] == "complete"
        seen = [int(row["excerpt"]) for row in await results(client, bag)]
    assert seen == [0, 1, 2, 3, 4]


async def test_a_workflow_of_500_tasks_outlives_its_master_and_a_worker(
    killable: Make, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    names = [f"{step}-{x}" for step in "ab" for x in range(249)] + ["c-0", "d-0"]

    def runs() -> Counter[str]:
        """The number of times that each task was begun, by its own account."""
        return Counter(path.name.partition(".")[0] for path in marks.iterdir())

    mark = f"mktemp {marks}/%s-{{x}}.XXXXXX"
    after = f"ls {marks}/%s > /dev/null && "
    master = killable(heartbeat_seconds=0.5)
    master.start()
    work = flow(
        (numbered("a", 249, mark % "a"), []),
        (numbered("b", 249, after % "a-{x}.*" + mark % "b"), [After("a", ("x",))]),
        (numbered("c", 1, after % "b-248.*" + mark % "c"), [After("b")]),
        (numbered("d", 1, after % "c-0.*" + mark % "d"), [After("c")]),
        retries=5,
    )
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=work, replicate=False))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 150)
    master.kill()
    master.start()
    async with master.client() as client:
        recorded = {row["task"]: row["attempt"] for row in await results(client, bag)}
        assert len(recorded) >= 100  # what was counted last need not have been durable
        await becomes(client, bag, lambda status: status.get("done", 0) >= 300)
        durable = {names[row["task"]] for row in await results(client, bag)}
        assert max(runs().values()) == 1  # the master was killed: nothing runs again for that
        os.kill(next(iter(workers_in(tmp_path).values())), signal.SIGKILL)
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 500)
        rows = await results(client, bag)
    assert sorted(row["task"] for row in rows) == list(range(500))
    assert {row["task"]: row["attempt"] for row in rows if row["task"] in recorded} == recorded
    starts = {row["task"]: row["started"] for row in rows}
    ends = {row["task"]: row["started"] + row["wall_seconds"] for row in rows}
    assert all(starts[249 + k] > ends[k] - 0.05 for k in range(249))
    again = {task for task, times in runs().items() if times > 1}
    assert not again & durable  # only what ran on the worker that was killed, or was not yet told
    assert max(runs().values()) <= 2
    assert len(runs()) == 500


async def test_outputs_of_a_step_are_inputs_of_the_next_by_content_on_another_machine(
    killable: Make, tmp_path: Path
) -> None:
    """Two machines of one slot share nothing; the master is killed between the steps."""
    gate = tmp_path / "gate"
    made = Workflow(
        (
            numbered("make", 4, "echo {x} > part-{x}; echo mine > note", outputs=("*",)),
            numbered("twice", 4, f"until test -e {gate}; do sleep .05; done; test ! -e part-1{{x}} "
                     "&& echo $((2 * $(cat part-{x}))) > twice-{x}", outputs=("twice-*",)),
            Sweep(name="sum", command="echo $(cat twice-* make/*/note; ls)"),
        ),
        ((), (After("make", ("x",)),), (After("twice"), After("make"))),
        (0, 0, 0),
        brings=((), ("make",), ("twice", "make")),
        name="flow",
    )  # fmt: skip
    master = killable(heartbeat_seconds=0.5, offerings=[asdict(free(1, 2))])
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=made.to_plain()))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) == 4)
    master.kill()
    master.start()
    gate.touch()
    async with master.client() as client:
        status = await over(client, bag)
        rows = {row["task"]: row for row in await results(client, bag)}
        assert (status["state"], status["done"]) == ("complete", 9), rows
    said = rows[8]["excerpt"].split()
    assert said[:4] == ["0", "2", "4", "6"]
    assert said[4:8] == ["mine"] * 4
    assert said[8:] == ["make", *(f"part-{k}" for k in range(4)), *(f"twice-{k}" for k in range(4))]
    assert len({row["machine"] for row in rows.values()}) == 2


async def test_of_500_tasks_a_failed_one_cuts_off_its_descendants_and_retry_does_just_those(
    killable: Make, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    rng = random.Random(18)
    parents = {t: rng.sample(range(t), min(t, rng.choice([0, 1, 1, 2]))) for t in range(500)}
    broken = max(range(50, 250), key=lambda task: len(_below(parents, task)))
    listed = [
        ListedTask(
            str(task),
            tuple(map(str, above)),
            f"mktemp {marks}/{task}.XXXXXX && "
            + (f"test -e {tmp_path}/mended" if task == broken else "true"),
            retries=0,
        )
        for task, above in parents.items()
    ]
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        work = workflow_from(TaskList("flow", listed)).to_plain()
        bag = (await client.ask("submit", sweep=work))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 100)
    master.kill()
    master.start()
    async with master.client() as client:
        status = await over(client, bag, 120.0)
        lost = _below(parents, broken)
        assert (status["state"], status["failed"]) == ("with failures", 1)
        assert (status["done"], status["cut_off"]) == (499 - len(lost), len(lost))
        recorded = {row["task"] for row in await results(client, bag)}
        assert set(range(500)) - recorded == lost
        before = {path.name for path in marks.iterdir()}
        (tmp_path / "mended").touch()
        await client.ask("retry", bag=bag, tasks="failed")
        status = await over(client, bag, 120.0)
        assert (status["state"], status["done"]) == ("complete", 500)
    ran = sorted(int(name.partition(".")[0]) for name in _names(marks) - before)
    assert ran == sorted({broken, *lost})


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _below(parents: dict[int, list[int]], task: int) -> set[int]:
    """All that wait for the task, directly or not."""
    found: set[int] = set()
    for child in range(task + 1, len(parents)):
        if {task, *found} & set(parents[child]):
            found.add(child)
    return found
