"""A machine that works can do without its master for its lease, whatever the ATU."""

import pytest
from helpers.workbench import MINUTE

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.machine import MachineState
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Simulation

LEASE_SECONDS = 30.0


def leases(atu_seconds: float, budget: str = "1") -> list[float]:
    """The seconds that machines could go on, unheard, at each event while they worked."""
    rented = Offering(
        ClusterName("rented"),
        Money(int(money("0.0001") * atu_seconds)),
        atu_seconds,
        4,
        boundary_seconds=3.0,
        lease_seconds=LEASE_SECONDS,
    )
    found: list[float] = []

    def look(engine: Engine) -> None:
        run = engine.run
        found.extend(
            machine.lease_until(run.now) - run.now
            for machine in run.pool.alive()
            if machine.state is MachineState.UP and machine.active
        )

    asked = Settings(40, (rented,), money(budget))
    history = Simulation(asked, lambda task, _: 50.0 + 7 * (task % 11), after_event=look).run()
    assert len(history.records) == 40
    return found


@pytest.mark.parametrize("atu_seconds", [1.0, 10.0])
def test_with_money_a_machine_that_works_is_always_paid_ahead_for_its_lease(
    atu_seconds: float,
) -> None:
    assert min(leases(atu_seconds)) >= LEASE_SECONDS


def test_an_atu_that_is_longer_ends_without_its_master() -> None:
    assert min(leases(2 * MINUTE)) < LEASE_SECONDS
