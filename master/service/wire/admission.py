"""Keys and the roles they stand for; a machine's stands for that machine."""

import enum
from typing import Final

from bats.common.messages import NOBODY, MachineId
from bats.common.records import dataclass


class Role(enum.Enum):
    CLIENT = "client"
    HAND = "worker started by hand"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Peer:
    role: Role
    machine: MachineId = NOBODY
    ticket: bool = False  # known by its ticket's key, which it may trade for one of its own
    own: bool = False  # of a worker started by hand: by a key that no other worker has
    user: str = ""  # the name that a client's key carries; "" the master's own

    def __str__(self) -> str:
        if self.user:
            return self.user
        return f"machine {self.machine}" if self.role is Role.MACHINE else f"a {self.role.value}"


_BY_HAND: Final = Peer(Role.HAND, own=True)


class Admission:
    """Keys admitted, asked for at every handshake and message, so that revoking acts at once."""

    def __init__(self, client: str, hand: str) -> None:
        self._peers = {client: Peer(Role.CLIENT), hand: Peer(Role.HAND)}
        self._hand = hand
        self._keys: dict[MachineId, set[str]] = {}

    @property
    def invitation(self) -> str:
        """The key with which workers started by hand come first."""
        return self._hand

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

    def admit_user(self, name: str, key: str) -> None:
        self._peers[key] = Peer(Role.CLIENT, user=name)

    def lock_out_user(self, key: str) -> None:
        del self._peers[key]

    def admit_by_hand(self, key: str) -> bool:
        """Admit a worker's own key in place of the invitation; False if that key is another's."""
        return self._peers.setdefault(key, _BY_HAND) is _BY_HAND

    def lock_out(self, key: str, invitation: str) -> None:
        """Neither this worker's own key is admitted any more nor the invitation that it had."""
        del self._peers[key]
        del self._peers[self._hand]
        self._hand = invitation
        self._peers[invitation] = Peer(Role.HAND)

    def settle(self, machine: MachineId, key: str) -> None:
        """The machine has come with this key; its others are good for nothing any more."""
        known = self._keys.get(machine, set())
        for other in known - {key}:
            del self._peers[other]
        known &= {key}

    def revoke(self, machine: MachineId) -> None:
        for key in self._keys.pop(machine, ()):
            del self._peers[key]
