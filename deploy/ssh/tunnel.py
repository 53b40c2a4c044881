"""A way back: a port on a far host that leads to the master, for hosts that cannot reach it.

It is held open by a command that waits for the end of its input, so it closes when the master
ends, however that happens. Broken, it is made again with the same port, which is what the
workers there know.
"""

import asyncio
import re
from typing import Final

from bats.deploy.processes import pipe_of
from bats.deploy.protocol import BackendError, BusyError
from bats.deploy.ssh.ssh_program import Client, explain

OPEN_SECONDS: Final = 20.0
RETRY_FIRST_SECONDS: Final = 1.0
RETRY_LAST_SECONDS: Final = 30.0
# Only the end of the far sshd ends what still runs through the tunnel.
FAR_END: Final = "exec /bin/sh -c 'echo open; cat; kill $PPID'"
ALLOCATED: Final = re.compile(r"Allocated port (\d+) for remote forward")


class Tunnel:
    def __init__(self, client: Client, host: str, target: str, port: int = 0) -> None:
        """`target` is `host:port` as seen from here; port 0 lets the far host choose one."""
        self._client = client
        self._host = host
        self.target = target
        self.port = port
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Raises BusyError or RefusedError; afterwards it is kept open until `close`."""
        await self._connect()
        self.keep_open()

    def keep_open(self) -> None:
        """Open it as soon as that can be done, and again whenever it breaks."""
        self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        if self._keeping:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._end()

    async def _connect(self) -> None:
        forward = f"127.0.0.1:{self.port}:{self.target}"
        self._process = await asyncio.create_subprocess_exec(
            *("ssh", *self._client.alone(), "-o", "ExitOnForwardFailure=yes", "-R", forward),
            *("--", self._host, FAR_END),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        out, errors = pipe_of(self._process.stdout), pipe_of(self._process.stderr)
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                opened = await out.readline()
        except TimeoutError:
            await self._end()
            raise BusyError(
                f"The tunnel to {self._host} did not open in {OPEN_SECONDS:g} s."
            ) from None
        said = ""
        while not self.port or not opened:
            line = (await errors.readline()).decode(errors="replace")
            said += line
            if allocated := ALLOCATED.search(line):
                self.port = int(allocated[1])
            if not line:
                break
        if not opened or not self.port:
            await self._end()
            raise self._explain(said)

    def _explain(self, said: str) -> BackendError:
        if "forwarding failed" in said:
            return BusyError(
                f"{self._host} does not open a port for the way back to the master: "
                f"{said.strip().splitlines()[-1]}. Its sshd may need AllowTcpForwarding."
            )
        return explain(self._host, said)

    async def _keep(self) -> None:
        wait = RETRY_FIRST_SECONDS
        while True:
            if self._process:
                await pipe_of(self._process.stderr).read()  # its end is that of the connection
                await self._end()
                await asyncio.sleep(RETRY_FIRST_SECONDS)
            try:
                await self._connect()
                wait = RETRY_FIRST_SECONDS
            except BackendError:
                await asyncio.sleep(wait)
                wait = min(2 * wait, RETRY_LAST_SECONDS)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            if process.returncode is None:
                process.kill()
            await process.communicate()
