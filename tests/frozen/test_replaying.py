"""A journal of an earlier release keeps its facts, whatever would be decided today.

What this release decides is made to differ in several ways, so that it need not have changed yet.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
from helpers.releases import Frozen, frozen

from bats.common.messages import BagId, Outcome
from bats.common.money import NOTHING
from bats.master.bag import read_bag
from bats.master.bag_states import OPEN
from bats.master.brain.books.machine import MachineState
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import replay
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.settings import Sampling
from bats.master.queries.replay import Recorded, Replayed
from bats.master.store.reader import Reader

OTHERWISE: dict[str, dict[str, Any]] = {
    "as it was": {},
    "other tasks": {"seed": 5},
    "no sample": {"sampling": Sampling.NONE},
    "whole samples": {"sampling": Sampling.IMPLICIT},
    "one machine each": {"initial_workers": 1},
    "no room": {"prudence": 0.0},
    "a larger sample": {"replicated": 20, "initial_workers": 3},
    "no failures": {"retries": 0, "losses": 0},
    "no money": {"budget": 10**8},
}


@pytest.mark.parametrize("otherwise", OTHERWISE)
@pytest.mark.parametrize("frozen_bag", frozen("running", "ended", "cancelled"), ids=str)
def test_what_was_done_failed_and_paid_is_known_again(
    frozen_bag: Frozen, otherwise: str, tmp_path: Path
) -> None:
    with Reader(frozen_bag.restore(tmp_path / "state")) as reader:
        bag = read_bag(reader, BagId(1))
        bag.settings = replace(bag.settings, **OTHERWISE[otherwise])
        replayed = Replayed.of(bag, reader.events(bag.id), Recorded.of(bag, reader))
        machines, rows = reader.machines(bag.id), list(reader.every_task(bag.id))
    run = replayed.engine.run
    run.tasks.check()
    settled = {task: state for task, state in enumerate(run.tasks.states) if state in (2, 3)}
    recorded = {row.task: row.outcome for row in rows}
    assert settled == {
        task: TaskState.DONE if outcome is Outcome.DONE else TaskState.FAILED
        for task, outcome in recorded.items()
    }
    assert run.ledger.settled == sum(row.cost for row in machines) > 0
    asked = {row.id: row.offering for row in machines if row.gone is None}
    living = {one.id: one for one in run.pool.alive() if one.id not in replayed.unasked()}
    assert {number: one.offering.name for number, one in living.items()} == asked
    assert all(one.charged_since is not None for one in living.values())
    assert {one.state for one in living.values()} <= {MachineState.UP, MachineState.STOPPING}
    if bag.state not in OPEN:
        assert replayed.engine.over
        assert run.ledger.reserved == NOTHING
        assert run.outcome is not None
        assert run.outcome.value == bag.state


@pytest.mark.parametrize("frozen_bag", frozen("running", "cancelled"), ids=str)
def test_the_journal_alone_would_not_do(frozen_bag: Frozen, tmp_path: Path) -> None:
    """It numbers machines, and does not say of which kind they were."""
    with Reader(frozen_bag.restore(tmp_path / "state")) as reader:
        bag = read_bag(reader, BagId(1))
        settings = replace(bag.settings, **OTHERWISE["one machine each"])
        written = [(now, msgpack.unpackb(event)) for _, now, event in reader.events(bag.id)]
        asked = {row.id: row.offering for row in reader.machines(bag.id)}
    run = replay(settings, [(now, event_from(event, bag.id)) for now, event in written]).run
    assert asked != {number: one.offering.name for number, one in run.pool.machines.items()}
