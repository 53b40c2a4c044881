"""`bats access`: where the keys are that clients and workers need."""

from bats.common.errors import UsageError
from bats.common.keys import read_access
from bats.master.cli.base import Common, command, common
from bats.master.cli.reach import ACCESS

_WORKER = "worker.json"


@command(
    examples="""
bats access                             which files, and for which master
scp "$(bats access -q)" laptop:         to use this master from elsewhere
"""
)
@common
def access(common: Common) -> None:
    """Shows the access files of the master of this state folder. They hold secret keys."""
    path = common.access or common.state / ACCESS
    if not path.exists():
        raise UsageError(f"There is no access file {path}. `bats master` writes one.")
    held = read_access(path)
    facts = {
        "access": str(path),
        "role": held.role,
        "master": list(held.master),
        "worker_access": str(path.with_name(_WORKER)) if held.role == "client" else None,
    }

    def text() -> str:
        if common.quiet:
            return str(path)
        lines = [f"master    {', '.join(held.master)}", f"{held.role:<9} {path}"]
        if facts["worker_access"]:
            lines.append(f"worker    {facts['worker_access']}")
        return "\n".join(lines)

    common.facts(facts, text)
