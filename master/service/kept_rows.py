"""The rows of an owner's machines, as they are written down: keys, addresses, bills."""

from collections.abc import Mapping

from bats.common.messages import BagId, MachineId
from bats.common.offering import Offering
from bats.master.brain.protocol.commands import StartMachines
from bats.master.service.machines.worker import Worker
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store


class KeptRows:
    """Rows of the machines of one bag or pool, which says what else happens to them."""

    def __init__(self, rows: Mapping[MachineId, MachineRow], store: Store) -> None:
        self.rows = dict(rows)
        self._store = store

    def _keep(self, row: MachineRow) -> None:
        self.rows[row.id] = row
        self._store.machine(row)

    def _keep_requested(
        self, command: StartMachines, owner: BagId, offering: Offering, at: float
    ) -> None:
        for machine in command.machines:
            self._keep(MachineRow(machine, owner, offering.name, offering.backend, requested=at))

    def _keep_joined(self, row: MachineRow, worker: Worker, at: float) -> None:
        """The time when it first joined stays, and the address that its provider gave."""
        address = row.address or f"{worker.host} pid {worker.pid}"
        self._keep(row._replace(joined=row.joined or at, address=address))

    def knows_key(self, machine: MachineId, public: str) -> None:
        """One more key that this machine is admitted with, also after a restart of the master."""
        self._keep_keys(machine, [*self.rows[machine].keys, public])

    def keeps_key(self, machine: MachineId, public: str) -> None:
        """It is admitted with this key only from now on."""
        if self.rows[machine].keys != [public]:
            self._keep_keys(machine, [public])

    def _keep_keys(self, machine: MachineId, keys: list[str]) -> None:
        self._keep(self.rows[machine]._replace(public_key=" ".join(keys).encode()))

    def _keep_charged(self, machine: MachineId, since: float, address: str) -> None:
        """An answer without an address does not make the known one forgotten."""
        row = self.rows[machine]
        self._keep(row._replace(charged_since=since, address=address or row.address))
