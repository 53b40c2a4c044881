"""Workflows put together in Python, a task at a time, each a future."""

import shlex
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bats.common.errors import BatsError, UsageError, quoted

if TYPE_CHECKING:
    from bats.master.sweep.workflow.workflow import Workflow


class TaskFailedError(BatsError):
    """A task of a flow failed for good; `result` is all that is known of it.

    try:
        part.result()
    except TaskFailedError as error:
        print(error, error.result["excerpt"])
    """

    def __init__(self, result: dict[str, Any]) -> None:
        last = (result.get("excerpt") or "").strip().split("\n")[-1]
        super().__init__(
            f"task {result['task']} {result['outcome']}, exit code {result['exit_code']}"
            + (f": {last}" if last else "")
        )
        self.result = result


class FlowTask(Future[dict[str, Any]]):
    """A task of a flow: `result()` waits for it, once the flow is followed."""

    def __init__(self, flow: "Flow", number: int, after: Sequence["FlowTask"]) -> None:
        super().__init__()
        self.flow = flow
        self.id = str(number)
        self.after = tuple(after)


class _Bag(Protocol):
    def results(self) -> Iterable[Any]: ...


class Flow:
    """Tasks that wait for one another.

    flow = Flow("study")
    prepared = flow.task("./prepare.sh")
    parts = [flow.task(["./sim", str(x)], after=[prepared]) for x in range(10)]
    flow.task("./gather.sh", after=parts)
    with connect() as master:
        bag = master.submit(flow)
        flow.follow(bag)
        print(parts[3].result()["values"])
    """

    def __init__(self, name: str = "flow", folder: str | Path = ".") -> None:
        """Commands run in the folder."""
        self.name = name
        self._folder = Path(folder).absolute()
        self._tasks: list[FlowTask] = []
        self._listed: list[Any] = []

    def task(
        self,
        command: str | Sequence[str],
        *,
        after: FlowTask | Iterable[FlowTask] = (),
        step: str = "task",
        retries: int | None = None,
    ) -> FlowTask:
        """One more task: a line for the shell, or a program with its arguments.

        Tasks of a step should take about as long. What it waits for must be of this flow.
        """
        from bats.master.sweep.workflow.task_list import ListedTask

        parents = [after] if isinstance(after, FlowTask) else list(after)
        if others := [one for one in parents if not isinstance(one, FlowTask)]:
            raise UsageError(f"`after` takes what task() gave, not {quoted(others[0])}.")
        if strangers := [one for one in parents if one.flow is not self]:
            raise UsageError(f"Task {strangers[0].id} is of another flow; `after` names own ones.")
        line = command if isinstance(command, str) else shlex.join(map(str, command))
        if not line.strip():
            raise UsageError("A task needs a command.")
        task = FlowTask(self, len(self._tasks), parents)
        self._listed.append(
            ListedTask(
                task.id,
                tuple(one.id for one in parents),
                line,
                step,
                retries=retries,
                where=f"task {task.id} of {self.name}",
            )
        )
        self._tasks.append(task)
        return task

    def workflow(self) -> "Workflow":
        """The work to submit; `master.submit(flow)` asks for it."""
        from bats.master.sweep.workflow.task_list import TaskList, workflow_from

        if not self._tasks:
            raise UsageError(f"The flow {self.name} has no task yet.")
        return workflow_from(TaskList(self.name, self._listed, str(self._folder)))

    def follow(self, bag: _Bag) -> list[FlowTask]:
        """Let the futures know what becomes of them, from another thread; all of them are given.

        One that fails for good has a TaskFailedError, one that was never run a NotRunError.
        """
        for task in self._tasks:
            if not task.done():
                task.set_running_or_notify_cancel()
        threading.Thread(target=self._hear, args=(bag,), daemon=True, name="bats-flow").start()
        return list(self._tasks)

    def _hear(self, bag: _Bag) -> None:
        by_id = {task.id: task for task in self._tasks}
        words = "the bag ended without it"
        try:
            for result in bag.results():
                task = by_id[str(result["parameters"]["id"])]
                if task.done():
                    continue
                if result["outcome"] == "done":
                    task.set_result(result)
                else:
                    task.set_exception(TaskFailedError(result))
        except BatsError as error:
            words = str(error)
        failed: dict[FlowTask, FlowTask] = {}  # of each that was cut off: the first that failed
        for task in self._tasks:  # after all that it waits for
            before = (failed.get(one, one) for one in task.after)
            cause = next((one for one in before if _failed(one)), None)
            if task.done():
                continue
            why = words
            if cause is not None:
                failed[task] = cause
                why = f"task {cause.id}, which it waits for, failed"
            task.set_exception(NotRunError(f"task {task.id} of {self.name}: {why}"))


def _failed(task: FlowTask) -> bool:
    return not task.cancelled() and isinstance(task.exception(), TaskFailedError)


class NotRunError(BatsError):
    """`part.result()` has none: what the task waits for failed, or the bag ended before."""
