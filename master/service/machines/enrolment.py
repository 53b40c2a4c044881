"""Workers are enrolled: the key that each is known by, and the number of those started by hand."""

from collections.abc import Callable, Iterable, Mapping

from bats.common.messages import NOBODY, BagId, Hello, MachineId
from bats.master.brain.protocol.numbering import BEFORE_BY_HAND, bag_of, by_hand, from_table
from bats.master.service.machines.workers import Workers
from bats.master.service.owner import Owner
from bats.master.service.wire.admission import Admission
from bats.master.service.wire.hand_keys import HandKeys
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store


class Enrolment:
    def __init__(
        self,
        machines: Iterable[MachineRow],
        owners: Callable[[], Mapping[BagId, Owner]],
        store: Store,
        workers: Workers,
        admission: Admission,
        hand_keys: HandKeys,
    ) -> None:
        """`machines`: all that the store knows."""
        numbers = (row.id for row in machines if by_hand(row.id))
        self._last = max(numbers, default=BEFORE_BY_HAND)  # the last number given
        self._owners = owners
        self._store = store
        self._workers = workers
        self._admission = admission
        self._hand_keys = hand_keys

    def number_by_hand(self, key: str, hello: Hello) -> MachineId:
        """The number of a worker's own key; of who has none yet, none that is another's."""
        own, wanted = self._hand_keys.of(key), hello.machine
        if own:
            wanted = own.machine
        elif self._hand_keys.owner(wanted) or self._is_anothers(wanted, hello):
            wanted = NOBODY
        number = self._numbered(wanted)
        if own:
            self._hand_keys.came(key, number, hello.host)
        return number

    def _is_anothers(self, number: MachineId, hello: Hello) -> bool:
        known = self._workers.of(number)
        return known is not None and known.incarnation != hello.incarnation

    def _numbered(self, wanted: MachineId) -> MachineId:
        """The number of a worker started by hand; a new one if it has none."""
        if wanted > 0:
            wanted = from_table(wanted)
        if 0 < wanted <= self._last:
            return wanted
        self._last = MachineId(self._last + 1)
        return self._last

    def enroll_by_hand(self, key: str) -> bool:
        return self._admission.admit_by_hand(key) and self._hand_keys.admit(key)

    def enroll(self, machine: MachineId, key: str, done: Callable[[], None]) -> bool:
        """Admit the machine's own key; `done` once that is durable. False if it cannot be."""
        runner = self._owners().get(bag_of(machine))
        if runner is None or machine not in runner.machines.rows:
            return False
        if not self._admission.enroll(machine, key):
            return False
        runner.machines.keeps_key(machine, key)
        self._store.then(done)
        return True

    def came_with(self, machine: MachineId, key: str) -> None:
        """The machine has come with this key of those that it may have been sent."""
        self._admission.settle(machine, key)
        runner = self._owners().get(bag_of(machine))
        if runner is not None and machine in runner.machines.rows:
            runner.machines.keeps_key(machine, key)
