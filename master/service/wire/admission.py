"""Keys and the roles they stand for; a machine's stands for that machine."""

import enum
from dataclasses import dataclass

from bats.common.messages import NOBODY, MachineId


class Role(enum.Enum):
    CLIENT = "client"
    HAND = "worker started by hand"  # one key for all of them
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Peer:
    role: Role
    machine: MachineId = NOBODY
    ticket: bool = False  # known by its ticket's key, which it may trade for one of its own

    def __str__(self) -> str:
        return f"machine {self.machine}" if self.role is Role.MACHINE else f"a {self.role.value}"


class Admission:
    """Keys admitted, asked for at every handshake and message, so that revoking acts at once."""

    def __init__(self, client: str, hand: str) -> None:
        self._peers = {client: Peer(Role.CLIENT), hand: Peer(Role.HAND)}
        self._keys: dict[MachineId, set[str]] = {}

    def peer(self, key: str) -> Peer | None:
        return self._peers.get(key)

    def admit(self, machine: MachineId, key: str, *, ticket: bool) -> None:
        self._peers[key] = Peer(Role.MACHINE, machine, ticket)
        self._keys.setdefault(machine, set()).add(key)

    def enroll(self, machine: MachineId, key: str) -> bool:
        """Admit the machine's own key in place of its ticket's; False if that key is another's."""
        if key in self._peers:
            return False
        self.revoke(machine)
        self.admit(machine, key, ticket=False)
        return True

    def revoke(self, machine: MachineId) -> None:
        for key in self._keys.pop(machine, ()):
            del self._peers[key]
