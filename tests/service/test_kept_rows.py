"""What is written down of the machines of a pool."""

from types import SimpleNamespace
from typing import Any

from bats.common.messages import MachineId
from bats.master.brain.pools.pool_events import Event
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.events import Charged
from bats.master.brain.protocol.numbering import FIRST_POOL, before_first
from bats.master.service.pools.pool_machines import PoolMachines
from bats.master.store.rows import MachineRow


def test_an_answer_without_an_address_leaves_the_known_one_in_the_books() -> None:
    machine = MachineId(before_first(FIRST_POOL) + 1)
    row = MachineRow(machine, FIRST_POOL, "node", "slurm", address="node7", requested=1.0)
    kept: list[MachineRow] = []
    happened: list[Event] = []
    store: Any = SimpleNamespace(machine=kept.append)
    none: Any = None
    machines = PoolMachines(
        FIRST_POOL, StandingPool(before_first(FIRST_POOL)), [row], lambda: 9.0, store, none, none,
        happened.append,
    )  # fmt: skip
    machines.charged(machine, 5.0, "")
    assert kept == [row._replace(charged_since=5.0)]
    assert happened == [Charged(machine, 5.0)]
