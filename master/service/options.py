"""The setup of a master: where it keeps its state, where it listens, how patient it is."""

import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from bats.common.capacity.pool_rules import Pool
from bats.common.folders import default_state
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.deploy.protocol import Backend
from bats.master.addresses import HERE
from bats.master.api.requests import SetCap
from bats.master.policy_packages import import_policies

Place = tuple[str, str, str]


def place_of(offering: Offering) -> Place:
    """Offerings alike in this are the same place, whatever they cost."""
    return offering.name, offering.backend, repr(sorted(offering.settings.items()))


def sharings() -> tuple[str, ...]:
    """The names of ways to share machines, those of other packages too."""
    from bats.master.brain.household.sharing import SHARINGS

    import_policies()
    return tuple(SHARINGS)


@dataclass(frozen=True, slots=True)
class Options:
    state: Path = field(default_factory=default_state)
    restored: bool = False  # the store is a copy: give it an identity of its own
    bind: str = HERE  # this computer only; machines elsewhere need an address they can reach
    port: int = 0  # 0: the port of this state folder's last master, else any that is free
    reach: tuple[str, ...] = ()  # hosts under which machines may find us; () is worked out
    offerings: tuple[Offering, ...] = ()  # for bags that bring none of their own
    fixed_offerings: bool = False  # bags may bring none of their own
    currency: str = "$"
    sharing: str = "fair"  # of common machines among bags; a name in SHARINGS
    placement: str = ""  # by name, of the household's placements; "": as it was left
    pools: tuple[Pool, ...] = ()  # that it keeps; `offerings` has theirs as bags see them
    caps: tuple[SetCap, ...] = ()  # that stand from its start on, in place of earlier ones
    user_weights: Mapping[str, float] = field(default_factory=dict)  # of machines shared; else 1
    notify: str = ""  # a command that is told of choices, pauses and ends, of all bags
    output: Path | None = None  # where tasks' output goes; None: `output` in the state folder
    reserve_bytes: int | None = None  # of each disk; None: a twentieth, at most 1 GB
    task_files_bytes: int = 16 << 30  # that the output files of a task may come to
    bag_files_bytes: int = 1 << 40
    web_port: int | None = None  # of the web page; None: there is none, 0: any port that is free
    web_bind: str = HERE  # the page speaks plain HTTP: elsewhere only on a trusted network
    heartbeat_seconds: float = 5.0
    missed_heartbeats: int = 3  # then a machine counts as silent
    rejoin_seconds: float = 30.0  # what machines get to come back to a restarted master
    busy_seconds: float = 600.0  # without anything to give; then an offering is planned without
    join_seconds: float = 600.0  # from being charged to joining; then a machine is stopped
    poll_seconds: float = 5.0  # longest time between two looks at the machines of a back end
    backends: Mapping[Place, Backend] = field(default_factory=dict)  # that were made beforehand
    worker_command: tuple[str, ...] = (sys.executable, "-m", "bats.worker")

    @property
    def silence_seconds(self) -> float:
        return self.heartbeat_seconds * self.missed_heartbeats

    @property
    def output_folder(self) -> Path:
        return (self.output or self.state / "output").expanduser().absolute()
