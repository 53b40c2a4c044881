"""A bag's engine rebuilt from its journal, as it was when the last master ended."""

import gc
from dataclasses import dataclass, field
from typing import Any

import msgpack

from bats.common.messages import MachineId
from bats.master.brain.commands import (
    RenewLease,
)
from bats.master.brain.engine import Engine
from bats.master.brain.journal import event_from
from bats.master.service.bag import Bag


@dataclass(slots=True)
class Replayed:
    """A bag's engine rebuilt from its journal, with what its commands left behind."""

    engine: Engine
    last: float = 0.0
    leases: dict[MachineId, float] = field(default_factory=dict)

    @classmethod
    def of(cls, bag: Bag, events: Any) -> "Replayed":
        """May take a while, and touches nothing else: fit for another thread."""
        self = cls(Engine(bag.settings))
        collecting = gc.isenabled()
        gc.disable()  # a million short-lived objects, and no cycles among them
        try:
            self._replay(events)
        finally:
            if collecting:
                gc.enable()
        return self

    def _replay(self, events: Any) -> None:
        handle = self.engine.handle
        for _, now, written in events:
            self.last = now
            for command in handle(event_from(msgpack.unpackb(written)), now):
                if type(command) is RenewLease:
                    self.leases[command.machine] = command.until
