"""Events and settings as plain data, for the journal from which an engine is rebuilt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any, Final

from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId, MachineId, Outcome, TaskId
from bats.common.money import Money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.protocol.events import (
    Added,
    AllAdded,
    Allotted,
    Allowed,
    Announced,
    Begin,
    Borrowed,
    Cancelled,
    Cause,
    Charged,
    Chosen,
    Collecting,
    Ended,
    Ending,
    Event,
    Foretold,
    Found,
    Gone,
    Granted,
    Hampered,
    Joined,
    LeftOut,
    Lends,
    Limited,
    Order,
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
from bats.master.brain.protocol.graph import Graph, graph_from
from bats.master.brain.protocol.numbering import from_journal
from bats.master.brain.protocol.parameters import parameters_from, parameters_to_plain
from bats.master.brain.protocol.settings import Sampling, Settings

FORMAT: Final = 1

CODES: Final[Mapping[type, int]] = {
    Begin: 0,
    Charged: 1,
    Joined: 2,
    Silent: 3,
    Gone: 4,
    Ended: 5,
    Returned: 6,
    Chosen: 7,
    Cancelled: 8,
    Retried: 9,
    SetAside: 10,
    Woken: 11,
    Announced: 12,
    Found: 13,
    Resumed: 14,
    Collecting: 15,
    Granted: 16,
    Limited: 17,
    Foretold: 18,
    Allowed: 19,
    LeftOut: 20,
    Suspended: 21,
    Allotted: 22,
    Ordered: 23,
    Added: 24,
    AllAdded: 25,
    Lends: 26,
    Unwanted: 27,
    Borrowed: 28,
    TakenBack: 29,
    Weighed: 30,
    Preferred: 31,
    Hampered: 32,
}
"""Written to disk: never change one, only add."""

_OF_MACHINES: Final = frozenset(
    CODES[kind]
    for kind in (
        Charged,
        Joined,
        Silent,
        Gone,
        Ended,
        Collecting,
        Returned,
        Announced,
        Found,
        Granted,
    )
)
"""Events that begin with the number of a machine."""

_READERS: Final[Mapping[int, Callable[..., Event]]] = {
    0: Begin,
    1: lambda machine, since: Charged(MachineId(machine), since),
    2: lambda machine, slots, holding, cluster: Joined(
        MachineId(machine), slots, tuple((TaskId(t), a) for t, a in holding), cluster
    ),
    3: lambda machine: Silent(MachineId(machine)),
    4: lambda machine, at, cause, detail: Gone(MachineId(machine), at, Cause(cause), detail),
    5: lambda machine, flat, why=(): Ended(MachineId(machine), _endings(flat, why)),
    6: lambda machine, tasks: Returned(MachineId(machine), tuple(map(TaskId, tasks))),
    7: Chosen,
    8: Cancelled,
    9: lambda tasks: Retried(tuple(map(TaskId, tasks))),
    10: SetAside,
    11: Woken,
    12: lambda machine, reason: Announced(MachineId(machine), reason),
    13: lambda machine, unpaid_since: Found(MachineId(machine), unpaid_since),
    14: Resumed,
    15: lambda machine, attempts: Collecting(
        MachineId(machine), tuple((TaskId(t), a) for t, a in attempts)
    ),
    16: lambda machine, slots: Granted(MachineId(machine), slots),
    17: Limited,
    18: lambda schedules: Foretold(tuple(map(_schedule, schedules))),
    19: Allowed,
    20: lambda tasks: LeftOut(tuple(map(TaskId, tasks))),
    21: Suspended,
    22: Allotted,
    23: lambda order: Ordered(Order(order)),
    24: Added,
    25: AllAdded,
    26: Lends,
    27: lambda machine: Unwanted(MachineId(machine)),
    28: lambda machine, *rest: Borrowed(MachineId(machine), *rest),
    29: lambda machine: TakenBack(MachineId(machine)),
    30: lambda strategy, seconds, cost, of, kept: Weighed(strategy, seconds, Money(cost), of, kept),
    31: Preferred,
    32: Hampered,
}


def plain(event: Event) -> list[Any]:
    """The event as a list that msgpack takes; a million endings pass here, so they lie flat.

    Why some of them failed follows, with the places of those; version 0.1.0 did not tell.
    """
    if type(event) is Ended:
        flat: list[Any] = []
        why: list[Any] = []
        for place, ending in enumerate(event.endings):
            flat += ending.task, ending.attempt, ending.outcome, ending.seconds
            if ending.why:
                why += place, ending.why
        return [5, event.machine, flat, why] if why else [5, event.machine, flat]
    if type(event) is Foretold:
        return [CODES[Foretold], [_flat(schedule) for schedule in event.schedules]]
    written: list[Any] = [CODES[type(event)]]
    for part in fields(event):
        value = getattr(event, part.name)
        written.append(value.value if isinstance(value, Cause | Order) else value)
    return written


def code_of(packed: bytes) -> int:
    """The event's code, of `CODES`, without unpacking it: the second byte of a list in msgpack."""
    return packed[1]


def event_from(written: list[Any], bag: BagId | None = None) -> Event:
    """The event again, machines by today's numbers; StoreDamagedError when it is none.

    `bag` is the one whose journal it is from; None for an event that is in no store.
    """
    try:
        if bag is not None and written[0] in _OF_MACHINES:
            written = [written[0], from_journal(written[1], bag), *written[2:]]
        return _READERS[written[0]](*written[1:])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreDamagedError(
            f"the journal holds an event that cannot be read: {written!r:.200}"
        ) from error


def plain_settings(settings: Settings) -> dict[str, Any]:
    written: dict[str, Any] = {"format": FORMAT}
    for part in fields(settings):
        value = getattr(settings, part.name)
        if isinstance(value, Sampling):
            value = str(value)
        elif isinstance(value, Graph):
            value = value.to_plain()
        elif part.name == "parameters":
            value = parameters_to_plain(value)
        elif part.name == "offerings":
            value = [
                {f.name: _copy(getattr(offering, f.name)) for f in fields(offering)}
                for offering in value
            ]
        written[part.name] = value
    return written


def settings_from(written: Mapping[str, Any]) -> Settings:
    """The settings again; StoreDamagedError when they were written by a newer program."""
    if written.get("format") != FORMAT:
        raise StoreDamagedError(
            f"the run's settings have format {written.get('format')}, this program reads {FORMAT}; "
            "use the release of BaTS that wrote them"
        )
    values = {name: value for name, value in written.items() if name != "format"}
    values.pop("term_seconds", None)  # until 0.1.0: how long short ATUs were reserved for
    values["known"] = tuple(map(tuple, values["known"]))
    values["learned"] = tuple(map(tuple, values.get("learned", ())))
    values["learned_losses"] = tuple(map(tuple, values.get("learned_losses", ())))
    values["learned_slowness"] = tuple(map(tuple, values.get("learned_slowness", ())))
    values["learned_weight"] = tuple(values.get("learned_weight", ()))
    values["parameters"] = parameters_from(values.get("parameters", ()))
    if values.get("graph") is not None:
        values["graph"] = graph_from(values["graph"])
    values["offerings"] = tuple(
        Offering(
            **{
                **offering,
                "name": ClusterName(offering["name"]),
                "price": Money(offering["price"]),
            }
        )
        for offering in values["offerings"]
    )
    return Settings(**values)


def _flat(schedule: Schedule) -> list[Any]:
    values = [getattr(schedule, part.name) for part in fields(Schedule)]
    bounds = values.pop()
    return [*values, None if bounds is None else list(astuple(bounds))]


def _schedule(flat: list[Any]) -> Schedule:
    name, budget, mix, seconds, cost, delta_n, cushion, raised, bounds = flat
    told = None if bounds is None else Bounds(*bounds)
    return Schedule(name, budget, tuple(mix), seconds, cost, delta_n, cushion, raised, told)


def _endings(flat: list[Any], why: Sequence[Any]) -> tuple[Ending, ...]:
    words = dict(zip(why[::2], why[1::2], strict=True))
    return tuple(
        Ending(flat[k], flat[k + 1], Outcome(flat[k + 2]), flat[k + 3], words.get(k // 4, ""))
        for k in range(0, len(flat), 4)
    )


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
