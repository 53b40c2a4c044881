"""What a master decides about a lease and what a worker makes of it fit together."""

from itertools import product

import pytest

from bats.common.messages import MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.machine import Machine
from bats.worker.link.lease import Lease

ATUS = (1.0, 60.0, 3600.0)
BOUNDARIES = (0.5, 3.0, 60.0)  # of local machines, of others, at the most
COUNTS = (1, 10, 100, 900)
RESERVED = [  # never so little that a machine would have to stop as it starts
    (atu, boundary, count)
    for atu, boundary, count in product(ATUS, BOUNDARIES, COUNTS)
    if atu * count > boundary
]


@pytest.mark.parametrize(("atu", "boundary", "count"), RESERVED)
def test_a_worker_stops_late_enough_to_be_paid_on_and_soon_enough_to_be_gone(
    atu: float, boundary: float, count: int
) -> None:
    machine = Machine(
        MachineId(1),
        0,
        Offering(ClusterName("one"), money(1), atu, 1, boundary_seconds=boundary),
        requested_at=0.0,
    )
    machine.charged_since, machine.atus = 0.0, count
    lease = Lease(machine.lease_seconds, 0.0, machine.margin_seconds)
    assert machine.stop_by(0.0) + boundary / 4 <= lease.stops, "a renewal travels for a while"
    assert lease.stops <= lease.ends <= machine.paid_until(0.0) - boundary / 8


def test_a_renewal_counts_from_the_stamp_it_answers_and_none_replaces_a_later_one() -> None:
    lease = Lease(60.0, 1000.0, 3.0)
    lease.renew(50.0, 1020.0)
    assert lease.ends == 1070.0
    lease.renew(500.0, 1010.0)  # it was overtaken
    assert lease.ends == 1070.0
    lease.renew(5.0, 1020.0)
    assert lease.ends == 1025.0
