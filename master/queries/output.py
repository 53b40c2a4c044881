"""Output of tasks: what they wrote, or have written so far."""

from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.folders import printed_path
from bats.common.messages import BagId, Outcome, Result, TaskId
from bats.master.bag import Bag, bag_from
from bats.master.queries.question import Body, Question
from bats.master.store.reader import Reader

_PIECE_BYTES: Final = 256 << 10
_MOST_OUTPUT_BYTES: Final = 8 << 20  # of one output among others; `log` tells all of it


async def log(question: Question) -> Body:
    number, task = await question.bag(), TaskId(question.whole("task"))
    stream = question.text("stream", "out")
    if stream not in ("out", "err"):
        raise UsageError(f'`stream` should be "out" or "err", not {quoted(stream)}.')
    attempt, offset = question.whole("attempt", 0), question.whole("offset", 0)
    if question.body.get("live"):
        return await _live(question, number, task, attempt, stream, offset)
    return await question.read(lambda reader: output(reader, number, task, attempt, stream, offset))


async def _live(
    question: Question, number: BagId, task: TaskId, attempt: int, stream: str, offset: int
) -> Body:
    """Output with that of a task that still runs. `over`: no attempt after this one counts."""
    at_work = question.at_work(number)
    facts: Body = {"bag": number, "task": task, "offset": offset, "over": False}
    if at_work is not None and task < at_work.bag.sweep.count:
        if seen := await at_work.glimpse(task, attempt, stream, offset):
            return facts | dict(zip(("attempt", "data", "total"), seen, strict=True))
        if not attempt and not at_work.settled(task):
            return facts | {"attempt": 0, "data": b"", "total": 0}
    elif question.known(number) is not None:  # it waits for its turn
        return facts | {"attempt": 0, "data": b"", "total": 0}
    settled = at_work is None or at_work.settled(task)  # not after: it may end while we read
    found = await question.read(
        lambda reader: output(reader, number, task, attempt, stream, offset)
    )
    return {**found, "over": found["counts"] and settled}


def output(
    reader: Reader, number: BagId, task: TaskId, attempt: int, stream: str, offset: int
) -> Body:
    """A piece of what a task wrote; `attempt` 0 is the one whose result counts."""
    bag = bag_from(reader.bag(number))
    must_exist(bag, task)
    attempts = reader.story(number, task)
    if not attempts:
        raise UsageError(
            f"Task {task} of bag {number} has not ended yet; there is no output of it."
        )
    counts = max(attempts, key=lambda row: (row.outcome is Outcome.DONE, row.attempt)).attempt
    attempt = attempt or counts
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
