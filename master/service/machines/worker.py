"""One worker's connection: what it was told, what it said last, what waits to be sent to it."""

from bats.common.messages import AttemptId, BagId, MachineId, TaskId


class Worker:
    __slots__ = (
        "bags",
        "heard_at",
        "holding",
        "host",
        "incarnation",
        "kills",
        "machine",
        "offering",
        "orders",
        "pid",
        "queued",
        "route",
        "running",
        "silent",
        "slots",
        "stopping",
        "stored",
    )

    def __init__(
        self, machine: MachineId, route: bytes, incarnation: str, slots: int, offering: str
    ) -> None:
        self.machine = machine
        self.route = route
        self.incarnation = incarnation  # one per daemon process
        self.slots = slots
        self.offering = offering  # that a worker started by hand wants to count as
        self.host = ""
        self.pid = 0
        self.holding: tuple[AttemptId, ...] = ()  # when it came
        self.running: tuple[tuple[AttemptId, float], ...] = ()  # at its last heartbeat
        self.queued = 0
        self.heard_at = 0.0  # by the loop's clock
        self.silent = False
        self.stopping = False
        self.stored = 0  # results up to this serial have been taken in
        self.bags: set[BagId] = set()  # whose specs it knows
        self.orders: dict[BagId, list[tuple[TaskId, int]]] = {}  # to be sent this turn
        self.kills: list[AttemptId] = []
