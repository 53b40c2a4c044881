"""The price of uptime: the one place that turns seconds of a machine into money.

Each ATU is paid in full when it is entered (T §2.2). An uptime that ends exactly on a boundary
has not entered the next ATU. A machine that was charged at all is charged one ATU or the minimum.
"""

import math
from typing import Final

from bats.common.money import Money
from bats.common.offering import Offering

ROUNDING: Final = 1e-9  # relative: k * atu / atu must give k back, whatever floats make of it


def atus(offering: Offering, uptime_seconds: float) -> int:
    """The number of ATUs that an uptime enters, the minimum charge included."""
    billed = max(uptime_seconds, offering.minimum_seconds)
    return max(1, math.ceil(billed / offering.atu_seconds * (1 - ROUNDING)))


def charge(offering: Offering, uptime_seconds: float) -> Money:
    """The charge for one machine that was up for so long."""
    return charge_atus(offering, atus(offering, uptime_seconds))


def charge_atus(offering: Offering, count: int) -> Money:
    """The charge for one machine that has entered `count` ATUs."""
    return Money(count * offering.price)


def atus_to_work(offering: Offering, seconds: float) -> int:
    """The number of ATUs that pay for so much work on one machine.

    It is told to stop in good time before the last of them ends: that time is not worked.
    """
    return atus(offering, seconds + offering.boundary_seconds)


def charge_to_work(offering: Offering, seconds: float) -> Money:
    """The charge for so much work on one machine; plans and promises count with it."""
    return charge_atus(offering, atus_to_work(offering, seconds))


def begun_before(atu_seconds: float, since: float, at: float) -> int:
    """The number of ATUs that begin before then, of a machine that is charged since so long."""
    if at <= since:
        return 0  # also when the cap has always stood
    return math.ceil((at - since) / atu_seconds * (1 - ROUNDING))


def first_atus(offering: Offering) -> int:
    """The fewest ATUs to reserve: they are billed anyway, or cover the first lease."""
    lease = offering.lease_seconds
    return atus(offering, lease + offering.boundary_seconds if lease else 0.0)


def paid_uptime(offering: Offering, count: int) -> float:
    """The uptime that `count` ATUs pay for."""
    return count * offering.atu_seconds


def paid_work(offering: Offering, count: int) -> float:
    """The seconds of work that `count` ATUs pay for."""
    return paid_uptime(offering, count) - offering.boundary_seconds
