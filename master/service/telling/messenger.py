"""Runs the commands that a user wants to be told by, one after another, beside all other work."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from bats.common.errors import quoted

_PATIENCE_SECONDS: Final = 60.0  # for one command
_FAREWELL_SECONDS: Final = 10.0  # for all of them when the master ends
_MOST_WAITING: Final = 1000

log = structlog.get_logger()


class Messenger:
    """A command gets one JSON object on its standard input, in the master's state folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: asyncio.Queue[tuple[str, bytes, Callable[[str], None]]] = asyncio.Queue()
        self._sending: asyncio.Task[None] | None = None
        self._failed: set[str] = set()  # commands of which that has been told

    def send(self, command: str, told: Mapping[str, Any], failed: Callable[[str], None]) -> None:
        """`failed` hears why, in words, the first time that this command does not work."""
        if self._waiting.qsize() >= _MOST_WAITING:
            return
        data = json.dumps(told, ensure_ascii=False, default=str).encode()
        self._waiting.put_nowait((command, data + b"\n", failed))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def close(self) -> None:
        """Send what waits, if that does not take long."""
        if self._sending is None:
            return
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._waiting.join()
        except TimeoutError:
            log.warning("notices were not sent", waiting=self._waiting.qsize())
        self._sending.cancel()
        await asyncio.gather(self._sending, return_exceptions=True)

    async def _send_all(self) -> None:
        while True:
            command, data, failed = await self._waiting.get()
            try:
                why = await self._run(command, data)
            except OSError as error:
                why = f"it cannot be started: {error.strerror}"
            if why and command not in self._failed:
                self._failed.add(command)
                log.warning("a notice failed", command=command, why=why)
                failed(f"notify = {quoted(command)}: {why}; this is not told again")
            self._waiting.task_done()

    async def _run(self, command: str, data: bytes) -> str:
        """The reason why it failed, "" if it did not."""
        process = await asyncio.create_subprocess_shell(
            command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._folder,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                _, said = await process.communicate(data)
        except TimeoutError:
            return f"it took longer than {_PATIENCE_SECONDS:.0f} s"
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if not process.returncode:
            return ""
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        return f"exit code {process.returncode}" + (f", {quoted(last)}" if last else "")
