"""Verbs of a host: `python3 -I FOLDER VERB ROSTER ...`, answered in JSON.

start ROSTER               tickets on standard input (see `bats.deploy.host.keeper`)
look ROSTER MACHINE...     a line for each: what became of it
stop ROSTER MACHINE...     returns when they are gone
living ROSTER              a line for each machine whose worker lives
log ROSTER MACHINE         the last lines its worker wrote, as they are
left ROSTER MACHINE NAME OFFSET SIZE   a piece of a file that its worker kept, in base64
try ROSTER                 fails unless the worker's modules can be loaded here
"""

import base64
import importlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from bats.common.messages import MachineId
from bats.deploy.host import keeper
from bats.deploy.host.roster import STOP_GRACE_SECONDS, Roster
from bats.deploy.protocol import Gone, Sighting, State

WORKER: Final = ("-m", "bats.worker")


def main() -> None:
    verb, folder, *rest = sys.argv[1:]
    roster = Roster(Path(folder))
    if verb == "left":
        machine, name, offset, size = rest
        piece = roster.left(MachineId(int(machine)), name, int(offset), int(size))
        print(json.dumps({"left": base64.b64encode(piece).decode()}))
        return
    machines = [MachineId(int(number)) for number in rest]
    match verb:
        case "start":
            keeper.main([folder, "--", sys.executable, *WORKER])
        case "look":
            _tell(roster, machines)
        case "stop":
            roster.stop(machines, STOP_GRACE_SECONDS)
        case "living":
            _tell(roster, roster.living())
        case "log":
            print(roster.log(machines[0]))
        case "try":
            importlib.import_module("bats.worker.__main__")
        case _:
            sys.exit(f"host: no such verb: {verb}")


def _tell(roster: Roster, machines: list[MachineId]) -> None:
    for machine in machines:
        print(json.dumps({"machine": machine, **pack(roster.look(machine))}))


def pack(seen: Sighting) -> dict[str, Any]:
    return {
        "state": seen.state.value,
        "address": seen.address,
        "charged_seconds": seen.charged_seconds,
        "gone": seen.gone.value if seen.gone else None,
        "detail": seen.detail,
    }


def unpack(told: dict[str, Any]) -> Sighting:
    return Sighting(
        State(told["state"]),
        told["address"],
        told["charged_seconds"],
        Gone(told["gone"]) if told["gone"] else None,
        told["detail"],
    )
