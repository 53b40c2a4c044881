"""Commands on other hosts through the system's `ssh`: one connection per host, shared and kept.

The user's own `~/.ssh/config` holds: names, jump hosts, keys, agents. Only what a program without
a terminal needs is set here. Failures of the connection itself become one sentence each.
"""

import asyncio
import re
import shlex
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Final

from bats.deploy import processes
from bats.deploy.processes import Finished
from bats.deploy.protocol import BackendError, BusyError, RefusedError

CONNECT_SECONDS: Final = 10
KEPT_SECONDS: Final = 60  # a connection outlives its last use, and a master that was killed
SSH_FAILED: Final = 255  # exit code of ssh itself; our commands use others
LONGEST_FOLDER: Final = 45  # of 107 characters, ssh takes 58 for a name of its own
ALWAYS: Final = (
    *("-T", "-x", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}"),
    *("-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no"),  # meant for a person's logins
    *("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3", "-o", "LogLevel=INFO"),
)

CHANGED_KEY: Final = (
    "The key of {host} is not the one known for it. If it was reinstalled, forget the old one: "
    "ssh-keygen -R {host}"
)
UNKNOWN_KEY: Final = (
    "The key of {host} is not known here. Connect once by hand and compare it: ssh {host}"
)
NOT_LET_IN: Final = (
    "{host} does not let us in ({said}). `ssh {host} true` must work without a question: "
    "add your key there (ssh-copy-id {host}) or name it in ~/.ssh/config."
)
NO_ADDRESS_NOW: Final = "The address of {host} cannot be looked up just now ({said})."
NO_SUCH_HOST: Final = "There is no host {host} ({said}). Correct `hosts` or ~/.ssh/config."
BAD_CONFIG: Final = "The configuration of ssh is not right: {said}"
REFUSES: Final = "{host} refuses connections ({said}). Is sshd running there?"
UNREACHABLE: Final = "{host} cannot be reached: {said}"

COMPLAINTS: Final[tuple[tuple[str, type[BackendError], str], ...]] = (
    # what ssh says, whether trying again may help, what we say
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", RefusedError, CHANGED_KEY),
    ("Host key verification failed", RefusedError, UNKNOWN_KEY),
    ("Permission denied", RefusedError, NOT_LET_IN),
    ("Temporary failure in name resolution", BusyError, NO_ADDRESS_NOW),
    ("Could not resolve hostname", RefusedError, NO_SUCH_HOST),
    (r"onfiguration option|config file|keyword|unsupported option", RefusedError, BAD_CONFIG),
    ("Connection refused", BusyError, REFUSES),
    ("", BusyError, UNREACHABLE),
)


def explain(host: str, stderr: str) -> BackendError:
    """The error for what ssh said when it failed, in one sentence that says what to do."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for pattern, kind, sentence in COMPLAINTS:
        said = next((line for line in reversed(lines) if re.search(pattern, line)), "")
        if said or not pattern:
            return kind(sentence.format(host=host, said=said or "ssh gave no reason"))
    raise AssertionError("the last pattern fits everything")


class Client:
    """All hosts of one offering."""

    def __init__(self, options: tuple[str, ...], folder: Path) -> None:
        """Connections are kept in the folder, if its path is as short as that of a socket must."""
        self._options = options
        self._borrowed = len(str(folder)) > LONGEST_FOLDER
        self._sockets = Path(tempfile.mkdtemp(prefix="bats-ssh-")) if self._borrowed else folder
        self._sockets.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._connecting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._connected: set[str] = set()

    async def run(
        self, host: str, *argv: str, limit_seconds: float, stdin: bytes = b""
    ) -> Finished:
        """Run a command there; its own failure is for the caller, that of ssh is raised."""
        command = (*self.shared(), "--", host, shlex.join(argv))
        if host in self._connected:
            return await self._run(host, command, limit_seconds, stdin)
        async with self._connecting[host]:  # or all of the first would make a connection each
            return await self._run(host, command, limit_seconds, stdin)

    async def _run(
        self, host: str, command: tuple[str, ...], limit_seconds: float, stdin: bytes
    ) -> Finished:
        try:
            done = await processes.run("ssh", *command, limit_seconds=limit_seconds, stdin=stdin)
        except BusyError:
            self._connected.discard(host)
            raise BusyError(f"{host} did not answer within {limit_seconds:g} s.") from None
        if done.code == SSH_FAILED:
            self._connected.discard(host)
            raise explain(host, done.stderr)
        self._connected.add(host)
        return done

    def shared(self) -> tuple[str, ...]:
        path = f'ControlPath="{_escaped(self._sockets)}/%C"'
        keep = f"ControlPersist={KEPT_SECONDS}"
        share = ("-o", "ControlMaster=auto", "-o", path, "-o", keep)
        return (*ALWAYS, "-o", "ClearAllForwardings=yes", *share, *self._options)

    def alone(self) -> tuple[str, ...]:
        """Options for a connection of its own, that lives as long as its process."""
        return (*ALWAYS, "-o", "ControlMaster=no", "-o", "ControlPath=none", *self._options)

    async def close(self) -> None:
        for socket in list(self._sockets.glob("*")):
            leave = ("-o", f'ControlPath="{_escaped(socket)}"', "-O", "exit", "any")
            await processes.run("ssh", *self._options, *leave, limit_seconds=CONNECT_SECONDS)
        if self._borrowed:
            await asyncio.to_thread(shutil.rmtree, self._sockets, ignore_errors=True)


def _escaped(path: Path) -> str:
    """A path as ssh reads it in its configuration, between quotes."""
    return str(path).replace("%", "%%")
