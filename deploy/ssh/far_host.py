"""One far host: puts the worker there when it is absent, and has it do what `verbs.py` offers."""

import asyncio
import base64
import importlib.resources
import json
import secrets
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bats.common.messages import MachineId
from bats.common.ticket import Ticket, to_json
from bats.deploy import payload
from bats.deploy.host import verbs
from bats.deploy.host.roster import STOP_GRACE_SECONDS
from bats.deploy.protocol import BusyError, RefusedError, Sighting
from bats.deploy.ssh.ssh_program import Client

ANSWER_SECONDS: Final = 60.0
COPY_SECONDS: Final = 300.0
INSTALL_SECONDS: Final = 400.0
PYTHONS: Final = "python3 python3.14 python3.13 python3.12 python3.11"
NO_PYTHON: Final = 43
FIND_PYTHON: Final = """\
for p in {pythons}; do
  if command -v "$p" >/dev/null 2>&1 &&
     "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    exec "$p" -I - "$@" <<'THE_END_OF_BOOTSTRAP'
{bootstrap}
THE_END_OF_BOOTSTRAP
  fi
done
exit {no_python}
"""


class Host:
    def __init__(self, name: str, client: Client, folder: str, pythons: str, roster: str) -> None:
        """`folder` is where everything of ours goes there, `roster` the part for our machines."""
        self.name = name
        self._client = client
        self._folder = folder
        self._pythons = pythons or PYTHONS
        self._roster = roster
        self._worker: tuple[str, ...] = ()  # the command that does what `verbs.py` offers
        self._preparing = asyncio.Lock()

    async def prepare(self) -> None:
        """See to it that the worker is there; raises BusyError or RefusedError."""
        async with self._preparing:
            if not self._worker:
                await self._prepare()

    async def reaches(self, addresses: Sequence[str]) -> bool:
        """True if any of these (`host:port`) can be reached from there."""
        found = await self._bootstrap(ANSWER_SECONDS, "probe", self._folder, *addresses)
        return any(found["reaches"])

    def state_folder(self, machine: MachineId) -> str:
        """The folder where a worker there keeps its own things; known once it is prepared."""
        return f"{self._roster}/{machine}/state"

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, str]:
        """Start workers; returns for each what went wrong, "" if nothing did."""
        lines = "".join(to_json(ticket) for ticket in tickets).encode()
        answers = await self._ask("start", stdin=lines)
        return {MachineId(answer["machine"]): answer["error"] for answer in answers}

    async def look(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        return _sightings(await self._ask("look", *map(str, machines)))

    async def living(self) -> Mapping[MachineId, Sighting]:
        return _sightings(await self._ask("living"))

    async def stop(self, machines: Sequence[MachineId]) -> None:
        limit = ANSWER_SECONDS + STOP_GRACE_SECONDS
        await self._ask("stop", *map(str, machines), limit_seconds=limit)

    async def log(self, machine: MachineId) -> str:
        return (await self._say("log", str(machine))).rstrip("\n")

    async def left(self, machine: MachineId, name: str, offset: int, size: int) -> bytes:
        answers = await self._ask("left", str(machine), name, str(offset), str(size))
        return base64.b64decode(answers[-1]["left"]) if answers else b""

    async def _prepare(self) -> None:
        found = await self._bootstrap(ANSWER_SECONDS, "probe", self._folder)
        plain = (found["version"], found["platform"]) != payload.compiled_for()
        packed = await asyncio.to_thread(payload.build, plain=plain)
        folder = found["folder"]
        name = f"{packed.name}-{found['version']}" if plain else packed.name
        target = f"{folder}/{name}"
        if name not in found["workers"]:
            draft = f"{target}.{secrets.token_hex(4)}.zip"  # hosts may share their home folder
            await self._install(packed, draft, target)
        self._worker = (found["python"], "-I", target)
        self._roster = f"{folder}/{self._roster}"

    async def _install(self, packed: payload.Payload, archive: str, target: str) -> None:
        copied = await self._client.run(
            *(self.name, "/bin/sh", "-c", f"cat > {shlex.quote(archive)}"),
            stdin=packed.data,
            limit_seconds=COPY_SECONDS,
        )
        if copied.code:
            raise RefusedError(f"The worker cannot be copied to {self.name}: {copied.complaint}")
        done = await self._bootstrap(
            INSTALL_SECONDS,
            "install",
            archive,
            packed.sha256,
            target,
            *filter(None, [packed.requirements]),
        )
        if done["error"]:
            how = f"{self.name}'s own pip, as its Python differs, " if packed.requirements else ""
            raise RefusedError(
                f"The worker cannot be installed on {self.name}: {how}said: {done['error']}"
            )

    async def _bootstrap(self, limit_seconds: float, *argv: str) -> dict[str, Any]:
        code = importlib.resources.files("bats.deploy.host").joinpath("bootstrap.py").read_text()
        script = FIND_PYTHON.format(pythons=self._pythons, bootstrap=code, no_python=NO_PYTHON)
        done = await self._client.run(
            *(self.name, "/bin/sh", "-s", "--", *argv),
            stdin=script.encode(),
            limit_seconds=limit_seconds,
        )
        if done.code == NO_PYTHON:
            raise RefusedError(
                f"{self.name} has no Python 3.11 or later (tried {self._pythons}). "
                "Install one there, or set `python` to its path."
            )
        answers = _answers(done.stdout)
        if not answers:
            raise RefusedError(f"{self.name} cannot run the worker: {done.complaint}")
        return answers[-1]

    async def _ask(
        self, verb: str, *argv: str, stdin: bytes = b"", limit_seconds: float = ANSWER_SECONDS
    ) -> list[dict[str, Any]]:
        return _answers(await self._say(verb, *argv, stdin=stdin, limit_seconds=limit_seconds))

    async def _say(
        self, verb: str, *argv: str, stdin: bytes = b"", limit_seconds: float = ANSWER_SECONDS
    ) -> str:
        await self.prepare()
        done = await self._client.run(
            *(self.name, *self._worker, verb, self._roster, *argv),
            stdin=stdin,
            limit_seconds=limit_seconds,
        )
        if done.code:
            self._worker = ()  # it may have been removed: look again next time
            raise BusyError(f"{self.name}: {done.complaint}")
        return done.stdout


def _answers(said: str) -> list[dict[str, Any]]:
    """The lines of JSON; what a login script prints besides is passed over."""
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


def _sightings(answers: list[dict[str, Any]]) -> Mapping[MachineId, Sighting]:
    return {MachineId(answer["machine"]): verbs.unpack(answer) for answer in answers}
