"""A master in a process of its own, whose calendar jumps as a file says.

usage: serve_master.py OPTIONS     as JSON; `calendar` names the file, which holds seconds to add
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from bats.common.errors import BatsError
from bats.common.log import set_up_logging
from bats.master.service.api.submission import offerings_from_plain
from bats.master.service.master import Master, serve
from bats.master.service.options import Options

_calendar = time.time


def jump_as_told(file: Path) -> None:
    """The only clock that an administrator or NTP can move: the others count from the boot."""

    def jumping() -> float:
        return _calendar() + float(file.read_text())

    time.time = jumping


def main() -> None:
    told = json.loads(sys.argv[1])
    jump_as_told(Path(told.pop("calendar")))
    set_up_logging("json")
    offerings = offerings_from_plain(told.pop("offerings"))
    options = Options(
        **{**told, "state": Path(told["state"]), "output": Path(told["output"])},
        offerings=offerings,
    )

    def ready(_: Master) -> None:
        print("ready", flush=True)

    try:
        asyncio.run(serve(options, ready))
    except BatsError as error:
        sys.exit(f"bats: {error}")


if __name__ == "__main__":
    main()
