"""A master in a process of its own, whose calendar jumps as a file says.

usage: serve_master.py OPTIONS     as JSON; `calendar` names the file, which holds seconds to add,
                                   `synced` the one to which it adds what it has synced
"""

import asyncio
import json
import os
import stat
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


def note_syncs(log: Path) -> None:
    """Files and folders that Python syncs: what a power cut leaves. SQLite syncs by itself."""
    sync, notes = os.fsync, log.open("a", buffering=1)

    def noting(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
        seen = os.fstat(descriptor)
        names = os.listdir(path) if stat.S_ISDIR(seen.st_mode) else None  # noqa: PTH208
        sync(descriptor)
        notes.write(json.dumps([path, names, seen.st_ino, seen.st_size, seen.st_mtime_ns]) + "\n")

    os.fsync = noting


def main() -> None:
    told = json.loads(sys.argv[1])
    jump_as_told(Path(told.pop("calendar")))
    note_syncs(Path(told.pop("synced")))
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
