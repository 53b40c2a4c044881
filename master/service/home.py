"""The state folder's own files: the master's keys and port, and the access files for others.

Keys persist, so that workers and clients find the same master after a restart. Only the owner of
the folder can read them.
"""

import os
import stat
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.wire.keys import Access, KeyPair, keep_pair, write_access, write_private

ACCESS: Final = "access.json"  # for clients: may submit, cancel, choose
WORKER: Final = "worker.json"  # for workers started by hand: may only run tasks
_PORT: Final = "port"


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
        self.worker: Final = self._pair("worker")

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
        for name, role, pair in (
            (ACCESS, "client", self.client),
            (WORKER, "worker", self.worker),
        ):
            access = Access(
                "client" if role == "client" else "worker",
                addresses,
                self.server.public,
                pair.public,
                pair.secret,
            )
            write_access(self.folder / name, access)

    def _pair(self, who: str) -> KeyPair:
        return keep_pair(self.folder / "keys" / f"{who}.json")
