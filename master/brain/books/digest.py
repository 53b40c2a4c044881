"""The digest of a run's books: two engines that agree in it agree in what is so."""

import hashlib
from typing import Final

from bats.master.brain.books.state import Run

_CHARACTERS: Final = 32


def digest(run: Run) -> str:
    """Of every task's state, every machine, the money and the phase; no plan, no prediction."""
    found = hashlib.sha256(run.tasks.states)
    for machine in sorted(run.pool.machines.values(), key=lambda one: one.id):
        told = (machine.id, machine.cluster, machine.state.value, machine.charged_since)
        found.update(repr(told).encode())
    money = (run.phase.value, run.ledger.settled, run.ledger.reserved, run.ledger.limit)
    found.update(repr(money).encode())
    return found.hexdigest()[:_CHARACTERS]
