"""Needs of a master that are known early: where it listens, and local machines, which are made
ready while the heavy modules load: each takes part of a second.

Import nothing heavy here.
"""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace

from bats.common.offering import Offering
from bats.deploy.local import Local
from bats.deploy.protocol import Site
from bats.deploy.spare_keeper import SpareKeeper
from bats.master.addresses import bind_for
from bats.master.service.options import Options, Place, place_of

LOCAL = "local"


def warmed(
    options: Options, offerings: Sequence[Offering], spare: SpareKeeper | None = None
) -> Options:
    """The same, listening where their machines find it, with local back ends being made ready.

    The first of these may have the spare keeper.
    """
    # A local machine is known by its folder: no master's id is needed, and none is known yet.
    site = Site("", str(options.state.expanduser().absolute()), options.worker_command)
    backends: dict[Place, Local] = {}
    for offering in offerings:
        if offering.backend == LOCAL:
            backends[place_of(offering)] = local = Local(offering, site)
            threading.Thread(target=_warm, args=(local, spare), daemon=True).start()
            spare = None
    if spare:
        spare.close()
    return replace(options, backends=backends, bind=bind_for(offerings))


def _warm(local: Local, spare: SpareKeeper | None) -> None:
    with contextlib.suppress(Exception):  # what is wrong will be wrong again, and said, at a start
        local.warm(spare)
