"""What uptime costs: the one place that turns seconds of a machine into money.

Each ATU is paid in full when it is entered (T §2.2). An uptime that ends exactly on a boundary
has not entered the next ATU. A machine that was charged at all is charged one ATU or the minimum.
"""

import math
from typing import Final

from bats.common.money import Money
from bats.common.offering import Offering

ROUNDING: Final = 1e-9  # relative: k * atu / atu must give k back, whatever floats make of it


def atus(offering: Offering, uptime_seconds: float) -> int:
    """How many ATUs a machine that was up for so long has entered, the minimum charge included."""
    billed = max(uptime_seconds, offering.minimum_seconds)
    return max(1, math.ceil(billed / offering.atu_seconds * (1 - ROUNDING)))


def charge(offering: Offering, uptime_seconds: float) -> Money:
    """What one machine costs that was up for so long."""
    return charge_atus(offering, atus(offering, uptime_seconds))


def charge_atus(offering: Offering, count: int) -> Money:
    """What one machine costs that has entered `count` ATUs."""
    return Money(count * offering.price)


def atus_to_work(offering: Offering, seconds: float) -> int:
    """How many ATUs a machine is paid for that works for so long.

    It is told to stop in good time before the last of them ends: that time is not worked.
    """
    return atus(offering, seconds + offering.boundary_seconds)


def charge_to_work(offering: Offering, seconds: float) -> Money:
    """What one machine costs that works for so long; what plans and promises count with."""
    return charge_atus(offering, atus_to_work(offering, seconds))


def first_atus(offering: Offering) -> int:
    """What is reserved at least: what is billed anyway, and until it may end itself unheard."""
    lease = offering.lease_seconds
    return atus(offering, lease + offering.boundary_seconds if lease else 0.0)


def paid_uptime(offering: Offering, count: int) -> float:
    """The uptime that `count` ATUs pay for."""
    return count * offering.atu_seconds


def paid_work(offering: Offering, count: int) -> float:
    """For how long a machine works that is paid for `count` ATUs."""
    return paid_uptime(offering, count) - offering.boundary_seconds
