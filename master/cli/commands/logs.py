"""`bats logs`: what a task wrote, or writes."""

import sys
from collections.abc import AsyncIterator

import click

from bats.master.api.asking import ask, parts
from bats.master.api.replies import Log
from bats.master.api.requests import GetLog, GetResults, GetStatus
from bats.master.cli.access import look
from bats.master.cli.archive import Archive
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.display.terminal import put
from bats.master.cli.questions import BagName
from bats.master.client import Bag, Client, Output, follow_log


@command(
    examples="""
bats logs last 17          what task 17 wrote to its standard output
bats logs 3 17 --err       to its standard error
bats logs 3 17 --attempt 1
bats logs -f last 17       what it writes, while it runs; ends with the task
bats logs -f               what each task of the newest bag wrote, as they end
"""
)
@click.argument("bag", type=BagName(), default="last")
@click.argument("task", type=click.IntRange(0), required=False)
@click.option("-f", "--follow", is_flag=True,
              help="Go on while it runs; without a task, until the bag ends.")  # fmt: skip
@click.option("--err", is_flag=True, help="Standard error instead of standard output.")
@click.option("--attempt", type=click.IntRange(1), help="An earlier try (default: what counts).")
@common
def logs(
    common: Common,
    bag: int | str,
    task: int | None,
    follow: bool,
    err: bool,
    attempt: int | None,
) -> int:
    """Prints the output of a task; of all tasks, each line with its number, with --follow.

    On a terminal control characters are written out; --raw shows them as they are.

    Ctrl-C only ends the following.
    """
    if task is None and not follow:
        raise click.UsageError("Name a TASK too, or follow all of them with -f.")
    if task is None and attempt is not None:
        raise click.UsageError("--attempt needs a TASK.")
    try:
        if not follow:
            run(_print(common, bag, task or 0, "err" if err else "out", attempt or 0))
        elif task is not None:
            run(_follow(common, bag, task, err=err, attempt=attempt or 0))
        else:
            run(_follow_all(common, bag, err=err))
    except KeyboardInterrupt:
        if follow:
            return 130
        raise
    return 0


async def _print(common: Common, bag: int | str, task: int, stream: str, attempt: int) -> None:
    async with look(common) as client:
        offset = 0
        while True:
            want = GetLog(bag, task=task, stream=stream, attempt=attempt, offset=offset)
            piece = await ask(client, want)
            if common.as_json:
                common.facts({**piece, "stream": stream}, lambda: None)
            else:
                put(piece["data"])
            if not piece["total"] and stream == "out" and not (common.quiet or common.as_json):
                await _other_stream(client, piece)
            offset += len(piece["data"])
            if not piece["data"] or offset >= piece["total"]:
                break
        sys.stdout.flush()


async def _other_stream(client: Client | Archive, piece: Log) -> None:
    """Tell who looks where nothing is where there is something."""
    bag, task, attempt = piece["bag"], piece["task"], piece["attempt"]
    other = await ask(client, GetLog(bag, task=task, stream="err", attempt=attempt))
    if other["total"]:
        sys.stdout.flush()
        print(
            f"bats: nothing on standard output, {other['total']:,} bytes on standard error: "
            f"bats logs {bag} {task} --err",
            file=sys.stderr,
        )


async def _follow(common: Common, bag: int | str, task: int, *, err: bool, attempt: int) -> None:
    async with look(common) as client:
        number = (await ask(client, GetStatus(bag)))["bag"]
        last = 0
        async for piece in follow_log(client, number, task, err=err, attempt=attempt):
            if last and piece.attempt != last and not common.quiet:
                print(f"--- attempt {piece.attempt}", file=sys.stderr, flush=True)
            last = piece.attempt
            _put(common, task, piece)


async def _follow_all(common: Common, bag: int | str, *, err: bool) -> None:
    async with look(common) as client:
        number = (await ask(client, GetStatus(bag)))["bag"]
        async for task in _ended(client, number):
            async for piece in follow_log(client, number, task, err=err):
                _put(common, task, piece, f"{task}: ".encode())


async def _ended(client: Client | Archive, bag: int) -> AsyncIterator[int]:
    """The tasks that have written something, as they end."""
    if isinstance(client, Client):
        async for result in Bag(client, bag).results():
            yield result["task"]
        return
    async for part in parts(client, GetResults(bag)):
        for row in part["results"]:
            yield row["task"]


def _put(common: Common, task: int, piece: Output, before: bytes = b"") -> None:
    if common.as_json:
        facts = {"task": task, "attempt": piece.attempt, "data": piece.data}
        common.facts(facts, lambda: None)
        return
    data = piece.data
    if before:
        data = b"".join(before + line for line in data.splitlines(keepends=True))
        data += b"" if data.endswith(b"\n") else b"\n"
    put(data)
    sys.stdout.flush()
