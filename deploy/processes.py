"""Commands of this machine, run without blocking the loop and never for longer than a limit."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Final

from bats.common.errors import BrokenInvariantError
from bats.common.records import dataclass
from bats.deploy.protocol import BusyError, RefusedError

CHILD_ENDS_SECONDS: Final = 5.0  # a killed process is gone at once, unless its disk hangs


@dataclass(frozen=True, slots=True)
class Finished:
    code: int  # negative: ended by that signal
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The last line it said about its failure: what a sentence for the user can quote."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines()]
        return next((line for line in reversed(lines) if line), f"exit code {self.code}")


async def run(
    *argv: str,
    limit_seconds: float,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command to its end, in English (`LC_ALL=C`); its exit code is for the caller to judge.

    Raises BusyError when it takes longer than the limit (it is killed, with its children, then)
    and RefusedError when there is no such command.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", **(env or {})},
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise RefusedError(
            f"The program `{argv[0]}` cannot be run on this machine ({error.strerror}); "
            "install it or correct PATH."
        ) from error
    try:
        async with asyncio.timeout(limit_seconds):
            out, err = await process.communicate(stdin or None)
    except TimeoutError:
        raise BusyError(f"`{argv[0]}` did not answer within {limit_seconds:g} s.") from None
    finally:
        if process.returncode is None:
            await _end(process)
    code = await process.wait()
    return Finished(code, out.decode(errors="replace"), err.decode(errors="replace"))


def pipe_of(end: asyncio.StreamReader | None) -> asyncio.StreamReader:
    """The end of a pipe that the process was started with."""
    if end is None:
        raise BrokenInvariantError("A process was started without the pipe that is read now.")
    return end


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CHILD_ENDS_SECONDS):
            await process.communicate()
