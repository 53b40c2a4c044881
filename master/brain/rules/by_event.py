"""The rule of each event: a function of the run and of what happened."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.protocol.events import (
    Added,
    AllAdded,
    Allotted,
    Allowed,
    Announced,
    Asked,
    Begin,
    Borrowed,
    Cancelled,
    Charged,
    Chosen,
    Closed,
    Collecting,
    Ended,
    Foretold,
    Found,
    GivenUp,
    Gone,
    Granted,
    Hampered,
    Joined,
    LeftOut,
    Lends,
    Limited,
    Ordered,
    Preferred,
    Resumed,
    Retried,
    Returned,
    SetAside,
    Silent,
    Suspended,
    TakenBack,
    Unwanted,
    Weighed,
    Woken,
)
from bats.master.brain.rules import (
    adding,
    capping,
    choosing,
    dispatch,
    recorded_facts,
    replanning,
    sampling,
    user_orders,
)
from bats.master.brain.rules.machines import (
    borrowing,
    hiring,
    lending,
    life,
    replicating,
    shares,
)


def _begin(run: Run, _: Begin) -> None:
    run.begun, run.began_at = True, run.now
    run.next_monitor = run.now + replanning.monitor_seconds(run)
    sampling.begin(run)


def _set_aside(run: Run, event: SetAside) -> None:
    hiring.set_aside(run, run.clusters[event.cluster], event.reason)
    if run.phase is Phase.EXECUTING:
        replanning.replan(run, "an offering was set aside")


def _woken(run: Run, _: Woken) -> None:
    run.woken_at = None


def _hampered(run: Run, event: Hampered) -> None:
    run.hampered = event.reason


RULES: Final[Mapping[type, Callable[[Run, Any], None]]] = {
    Begin: _begin,
    Charged: life.charged,
    Joined: life.joined,
    Silent: life.silent,
    Announced: life.announced,
    Found: life.found,
    Gone: life.gone,
    Ended: dispatch.on_ended,
    Collecting: dispatch.on_collecting,
    Returned: life.returned,
    Chosen: choosing.choose,
    Foretold: choosing.foretold,
    Weighed: replicating.weighed,
    Preferred: replicating.preferred,
    Allowed: choosing.allow,
    LeftOut: user_orders.left_out,
    Added: adding.added,
    AllAdded: adding.all_added,
    Cancelled: user_orders.cancelled,
    Retried: user_orders.retried,
    Suspended: user_orders.suspended,
    Resumed: user_orders.resumed,
    Hampered: _hampered,
    SetAside: _set_aside,
    Woken: _woken,
    Granted: shares.granted,
    Limited: shares.limited,
    Allotted: capping.allotted,
    Ordered: user_orders.ordered,
    Lends: lending.lends,
    Unwanted: lending.unwanted,
    Borrowed: borrowing.borrowed,
    TakenBack: borrowing.taken_back,
    Asked: recorded_facts.asked,
    GivenUp: recorded_facts.given_up,
    Closed: recorded_facts.closed,
}
