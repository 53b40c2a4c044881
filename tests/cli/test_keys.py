"""While keys are read, Ctrl-C interrupts the program and nothing else."""

import sys

from helpers.terminal import Terminal
from helpers.user import User
from helpers.waiting import until

PROGRAM = """
import asyncio, pathlib, signal
from bats.master.cli.display.keyboard import Keys

async def main():
    interrupted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    keys = Keys(print)
    keys.start()
    print(*range(1200), sep="\\n", flush=True)
    pathlib.Path("written").touch()
    await interrupted.wait()
    keys.stop()
    print("interrupted", flush=True)

asyncio.run(main())
"""


def test_what_is_on_its_way_to_the_screen_arrives_though_ctrl_c_is_pressed(user: User) -> None:
    """Terminals throw away what is beyond their first 4 KiB, if they are not told otherwise."""
    user.write("program.py", PROGRAM)
    with Terminal(user, shell=f"'{sys.executable}' program.py") as terminal:
        until((user.folder / "written").exists)
        terminal.press("\x03")
        terminal.until("interrupted")
        assert terminal.ends() == 0
        assert terminal.screen.everything.split() == [*map(str, range(1200)), "interrupted"]
