"""A machine that the master has asked a back end for, from then on until it is gone."""

import asyncio
from collections.abc import Mapping
from typing import Final

from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.common.ticket import UNRENEWED
from bats.common.units import in_words
from bats.deploy.protocol import Gone, Sighting
from bats.master.brain.protocol.events import Cause
from bats.master.service.owner import Owner

_CAUSES: Final[Mapping[Gone | None, Cause]] = {
    Gone.STOPPED: Cause.STOPPED,
    Gone.EXPIRED: Cause.EXPIRED,
    Gone.PREEMPTED: Cause.PREEMPTED,
    Gone.FAILED: Cause.FAILED,
    Gone.LOST: Cause.FAILED,
    None: Cause.FAILED,
}


class Watched:
    """A machine on its way from being asked for to being gone."""

    __slots__ = (
        "announced", "asked", "charged_since", "cluster", "ended", "failure", "first_lease",
        "joined", "left", "lost_since", "machine", "owner", "resumed", "seen", "starting",
        "stopping", "waits",
    )  # fmt: skip

    def __init__(self, machine: MachineId, owner: Owner, cluster: int) -> None:
        self.machine = machine
        self.owner = owner
        self.cluster = cluster
        self.starting = False  # the back end is being asked for it
        self.asked = False  # it has been, so it may be there
        self.first_lease = 0.0  # seconds, of its ticket; 0 of one that an earlier master asked for
        self.resumed = False  # asked for in an earlier life of this master, or just not yet
        self.joined = False
        self.ended = False  # it is gone, and what it left is being fetched
        self.left = asyncio.Event()  # its worker said goodbye
        self.stopping = ""  # why
        self.failure = ""  # what we hold against it, when it is we who stop it
        self.charged_since: float | None = None
        self.lost_since: float | None = None  # since when the back end does not know it
        self.announced = False  # by the provider: it takes the machine away soon
        self.seen: Sighting | None = None
        self.waits = ""  # why it cannot be had yet

    @property
    def offering(self) -> Offering:
        """The offering as its owner knows it; to others it may have another price or size."""
        return self.owner.offerings[self.cluster]

    def end(self, seen: Sighting) -> tuple[Cause, str]:
        """The cause of its end, and what is told of it, by what its back end says."""
        cause = Cause.FAILED if self.failure else _CAUSES[seen.gone]
        if self.stopping and not self.failure and seen.gone is Gone.LOST:
            cause = Cause.STOPPED
        # One that was told to go went for that reason, be it that its lease was over first.
        as_told = seen.gone in {Gone.STOPPED, Gone.EXPIRED, Gone.LOST}
        told_to = self.stopping if as_told else ""
        gone = seen.gone.value if seen.gone else ""
        detail = self.failure or told_to or seen.detail or self.stopping or gone
        if detail == UNRENEWED and not self.joined:
            seconds = f" of {in_words(self.first_lease)}" if self.first_lease else ""
            detail = (
                f"its lease{seconds} ran out before it joined: "
                f"give {self.offering.name} a longer `lease`"
            )
        return cause, detail
