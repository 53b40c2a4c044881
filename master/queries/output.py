"""Output of tasks: what they wrote, or have written so far."""

from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.folders import printed_path
from bats.common.messages import BagId, Outcome, Result, TaskId
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import GetLog
from bats.master.bag import Bag, read_bag
from bats.master.queries.question import Question
from bats.master.store.reader import Reader

_PIECE_BYTES: Final = 256 << 10
_MOST_OUTPUT_BYTES: Final = 8 << 20  # of one output among others; `log` tells all of it


@takes(GetLog)
async def log(question: Question, want: GetLog) -> replies.Log:
    number = await question.bag(want.bag)
    if want.stream not in ("out", "err"):
        raise UsageError(f'`stream` should be "out" or "err", not {quoted(want.stream)}.')
    if want.live:
        return await _live(question, number, want)
    return await question.read(lambda reader: output(reader, number, want))


async def _live(question: Question, number: BagId, want: GetLog) -> replies.Log:
    """Output with that of a task that still runs. `over`: no attempt after this one counts.

    One that was lost with its machine is answered by attempt 0, so that the next is asked for.
    """
    at_work, task = question.at_work(number), TaskId(want.task)
    nothing: replies.Log = {
        "bag": number,
        "task": task,
        "attempt": 0,
        "data": b"",
        "offset": want.offset,
        "total": 0,
        "over": False,
    }
    if at_work is not None and task < at_work.bag.sweep.count:
        if seen := await at_work.glimpse(task, want.attempt, want.stream, want.offset):
            attempt, data, total = seen
            return {**nothing, "attempt": attempt, "data": data, "total": total}
        if not at_work.settled(task) and not await question.read(
            lambda reader: any(one.attempt == want.attempt for one in reader.story(number, task))
        ):
            lost = at_work.overtaken(task, want.attempt)
            return {**nothing, "attempt": 0 if lost else want.attempt}
    elif question.known(number) is not None:  # it waits for its turn
        return nothing
    settled = at_work is None or at_work.settled(task)  # not after: it may end while we read
    found = await question.read(lambda reader: output(reader, number, want))
    return {**found, "over": found["counts"] and settled}


def output(reader: Reader, number: BagId, want: GetLog) -> replies.Log:
    """A piece of what an attempt that has ended wrote."""
    bag, task = read_bag(reader, number), TaskId(want.task)
    must_exist(bag, task)
    attempts = reader.story(number, task)
    if not attempts:
        raise UsageError(
            f"Task {task} of bag {number} has not ended yet; there is no output of it."
        )
    tries = sorted(row.attempt for row in attempts)
    if want.attempt and want.attempt not in tries:
        had = ", ".join(map(str, tries))
        raise UsageError(
            f"Task {task} of bag {number} has had attempt {had}; there is no output of "
            f"attempt {want.attempt}."
        )
    counts = max(attempts, key=lambda row: (row.outcome is Outcome.DONE, row.attempt)).attempt
    attempt, stream, offset = want.attempt or counts, want.stream, want.offset
    path = Path(bag.output_folder, printed_path(task, attempt, stream))
    try:
        with path.open("rb") as file:
            total = file.seek(0, 2)
            file.seek(min(offset, total))
            data = file.read(_PIECE_BYTES)
        missing = False
    except FileNotFoundError:
        data, total = b"", 0
        sent = {name for row in attempts if row.attempt == attempt for name, *_ in row.outputs}
        missing = f"std{stream}" in sent
    return {
        "bag": number,
        "task": task,
        "attempt": attempt,
        "path": str(path),
        "data": data,
        "offset": offset,
        "total": total,
        "counts": attempt == counts,
        "missing": missing,  # it is on its way from the machine
    }


def whole_output(bag: Bag, row: Result) -> str:
    """The kept part of what the task wrote on stdout."""
    try:
        with Path(bag.output_folder, printed_path(row.task, row.attempt, "out")).open("rb") as file:
            return file.read(_MOST_OUTPUT_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return ""


def must_exist(bag: Bag, task: TaskId) -> None:
    """Raises UsageError."""
    if task >= (count := bag.sweep.count):
        has = f"tasks 0 to {count - 1}" if count > 1 else "one task, 0"
        raise UsageError(f"Bag {bag.id} has {has}, no {task}.")
