"""The state folder's own files: the master's keys and port, and the access files for others.

Keys persist, so that workers and clients find the same master after a restart. Only the owner of
the folder can read them.
"""

import json
import os
import re
import stat
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.wire.keys import (
    Access,
    KeyPair,
    Role,
    is_key,
    keep_pair,
    new_pair,
    read_private_json,
    renew_pair,
    write_access,
    write_private,
)

ACCESS: Final = "access.json"  # for clients: may submit, cancel, choose
WORKER: Final = "worker.json"  # for workers started by hand: invites, to run tasks
_PORT: Final = "port"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w-]{0,31}", re.ASCII)


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        seen = self.folder.stat()
        if seen.st_uid != os.geteuid():
            raise UsageError(
                f"{self.folder} belongs to somebody else; choose another state folder."
            )
        if stat.S_IMODE(seen.st_mode) & 0o077:
            self.folder.chmod(0o700)
        self.server: Final = self._pair("server")
        self.client: Final = self._pair("client")
        self.worker = self._pair("worker")  # invites workers started by hand
        self.users = self._kept_users()

    def last_port(self) -> int:
        """The port of the last master here, for the next to listen on; 0 if there was none."""
        try:
            port = int((self.folder / _PORT).read_text())
        except (OSError, ValueError):
            return 0
        return port if 0 < port < 65536 else 0

    def publish(self, addresses: tuple[str, ...], port: int) -> None:
        """Write down where the master is, for those who may know.

        What has not changed is not touched: a full disk must not make us forget our port.
        """
        try:
            self._publish(addresses, port)
        except OSError as error:
            raise UsageError(
                f"Nothing can be written in {self.folder}: {error.strerror}. Make room there."
            ) from None

    def _publish(self, addresses: tuple[str, ...], port: int) -> None:
        write_private(self.folder / _PORT, f"{port}\n")
        files: list[tuple[str, Role, KeyPair]] = [
            (ACCESS, "client", self.client),
            (WORKER, "worker", self.worker),
            *((self.access_of(name).name, "client", pair) for name, pair in self.users.items()),
        ]
        for name, role, pair in files:
            access = Access(role, addresses, self.server.public, pair.public, pair.secret)
            write_access(self.folder / name, access)

    def invite_anew(self) -> KeyPair:
        """Another key for the invitation; `publish` writes it down for workers to come."""
        self.worker = renew_pair(self._file("worker"))
        return self.worker

    # --- users ------------------------------------------------------------------------------------

    def access_of(self, user: str) -> Path:
        """The access file of a named user; `publish` writes it."""
        return self.folder / f"access-{user}.json"

    def add_user(self, name: str) -> KeyPair:
        """A key that carries this name. Raises UsageError."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"A user's name has letters, digits, `-` and `_`, at most 32, not {quoted(name)}."
            )
        if name in self.users:
            raise UsageError(f"{name} has a key already: {self.access_of(name)}.")
        self._keep_users({**self.users, name: new_pair()})
        return self.users[name]

    def drop_user(self, name: str) -> KeyPair:
        """The key that carried this name is nobody's from now on. Raises UsageError."""
        if name not in self.users:
            raise UsageError(f"No user is called {quoted(name)}; `bats access list` tells them.")
        gone = self.users[name]
        self._keep_users({user: pair for user, pair in self.users.items() if user != name})
        self.access_of(name).unlink(missing_ok=True)
        return gone

    def _kept_users(self) -> dict[str, KeyPair]:
        try:
            held = read_private_json(self._file("users"), "a list of users' keys")
        except FileNotFoundError:
            return {}
        return {
            name: KeyPair(pair["public"], pair["secret"])
            for name, pair in held.items()
            if is_key(pair.get("public")) and is_key(pair.get("secret"))
        }

    def _keep_users(self, users: dict[str, KeyPair]) -> None:
        told = {name: asdict(pair) for name, pair in users.items()}
        write_private(self._file("users"), json.dumps(told))
        self.users = users

    def _file(self, who: str) -> Path:
        return self.folder / "keys" / f"{who}.json"

    def _pair(self, who: str) -> KeyPair:
        return keep_pair(self._file(who))
