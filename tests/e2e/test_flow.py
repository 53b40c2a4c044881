"""Workflows from Python: tasks are futures, and what waits for a failed one is told so."""

from concurrent.futures import as_completed

import pytest
from helpers.user import User

from bats import Flow, NotRunError, TaskFailedError, UsageError, connect


def test_futures_of_a_flow_are_done_in_its_order(user: User) -> None:
    flow = Flow("study", folder=user.folder)
    first = flow.task("echo 3 > start")
    parts = [flow.task(["sh", "-c", f"echo p=$(( {k} + $(cat start) ))"], after=first, step="part")
             for k in range(4)]  # fmt: skip
    wrong = flow.task("exit 7", after=first, retries=0)
    never = flow.task("true", after=[*parts, wrong])
    after_it = flow.task("true", after=never)
    with user.master(), connect(user.state / "access.json") as master:
        bag = master.submit(flow, rule="fastest")
        done = list(as_completed(flow.follow(bag), timeout=60))
        assert len(done) == 8
        assert [int(one.result()["values"]["p"]) for one in parts] == [3, 4, 5, 6]
        with pytest.raises(TaskFailedError, match="exit code 7"):
            wrong.result()
        for one in (never, after_it):
            with pytest.raises(NotRunError, match=f"task {wrong.id}, which it waits for, failed"):
                one.result()
        assert bag.wait()["cut_off"] == 2


def test_mistakes_in_a_flow_are_told_when_they_are_made(user: User) -> None:
    flow = Flow("study")
    with pytest.raises(UsageError, match="has no task yet"):
        flow.workflow()
    with pytest.raises(UsageError, match="needs a command"):
        flow.task(" ")
    with pytest.raises(UsageError, match="is of another flow"):
        Flow("other").task("true", after=flow.task("true"))
    with pytest.raises(UsageError, match="not 'prepare'"):
        flow.task("true", after=["prepare"])  # type: ignore[list-item]
