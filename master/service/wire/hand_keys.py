"""Keys of workers started by hand: one for each, kept in a file, so that one alone can be revoked.

`worker.json` only invites: who comes with its key trades it for a key that no other worker has.
"""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.messages import NOBODY, MachineId
from bats.common.records import dataclass
from bats.common.wire.keys import is_key, read_private_json, write_private

FILE: Final = "workers.json"
_MOST: Final = 4096
_SHOWN: Final = 8  # characters of a key by which people know it


@dataclass(frozen=True, slots=True)
class HandKey:
    key: str
    since: float  # seconds of the epoch
    machine: MachineId = NOBODY  # that it came as last
    host: str = ""

    @property
    def short(self) -> str:
        return self.key[:_SHOWN]


class HandKeys:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._keys: dict[str, HandKey] = {}
        try:
            held = read_private_json(file, "a list of workers' keys")
        except FileNotFoundError:
            return
        for one in held.get("keys", ()):
            if is_key(one.get("key")):
                machine = MachineId(one["machine"])
                self._keys[one["key"]] = HandKey(one["key"], one["since"], machine, one["host"])

    def all(self) -> list[HandKey]:
        return sorted(self._keys.values(), key=lambda one: one.since)

    def of(self, key: str) -> HandKey | None:
        return self._keys.get(key)

    def owner(self, machine: MachineId) -> HandKey | None:
        """The key that this number belongs to."""
        return next((one for one in self._keys.values() if one.machine == machine), None)

    def admit(self, key: str) -> bool:
        """False if there are too many."""
        if key not in self._keys:
            if len(self._keys) >= _MOST:
                return False
            self._keep([*self._keys.values(), HandKey(key, time.time())])
        return True

    def came(self, key: str, machine: MachineId, host: str) -> None:
        """The worker of this key has this number now."""
        if (held := self._keys[key]) != (now := replace(held, machine=machine, host=host)):
            self._keep(now if one is held else one for one in self._keys.values())

    def revoke(self, named: str) -> HandKey:
        """Forget a key, named by its worker's number or by how it begins; raises UsageError."""
        found = [one for one in self._keys.values() if str(one.machine) == named]
        found = found or [one for one in self._keys.values() if one.key.startswith(named)]
        if len(found) != 1 or not named:
            what = "No key is" if not found else f"{len(found)} keys are"
            raise UsageError(f"{what} called {quoted(named)}; `bats access list` tells them.")
        self._keep(one for one in self._keys.values() if one is not found[0])
        return found[0]

    def _keep(self, keys: Iterable[HandKey]) -> None:
        """Write first: what cannot be kept is not so."""
        wanted = {one.key: one for one in keys}
        told = {"version": 1, "keys": [asdict(one) for one in wanted.values()]}
        write_private(self._file, json.dumps(told))
        self._keys = wanted
