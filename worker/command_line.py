"""`bats worker`: reads its ticket, then runs the daemon under its guardian.

Nothing but the standard library is loaded before the ticket is read, so `--help` is immediate.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bats.common.errors import BatsError

if TYPE_CHECKING:
    from bats.common.ticket import Ticket
    from bats.worker.guardian import Lifeline

EXAMPLES = """\
examples:
  bats worker --access ~/.bats/worker.json --slots 4     join by hand, with four slots
  bats worker --ticket -  < ticket.json                  as a back end starts it
"""


def main(argv: Sequence[str] | None = None) -> int:
    gc.set_threshold(100_000)  # what tasks leave here while they wait is no garbage
    parser = _parser()
    given = parser.parse_args(argv)
    from bats.worker.guardian import guard

    try:
        return guard(
            lambda ticket, lifeline: _daemon(ticket, given.log, lifeline),
            lambda: _ticket(given),
            given.lease_fd,
        )
    except BatsError as error:
        print(f"bats worker: {error}", file=sys.stderr)
        return error.exit_code


def _daemon(ticket: "Ticket", style: str, lifeline: "Lifeline") -> int:
    import asyncio

    from bats.common.log import set_up_logging
    from bats.worker.daemon import serve

    as_lines = style == "console" or (style == "auto" and sys.stderr.isatty())
    set_up_logging("console" if as_lines else "json", part="worker", pid=os.getpid())
    try:
        return asyncio.run(serve(ticket, lifeline))
    except BatsError as error:
        print(f"bats worker: {error}", file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bats worker",
        description="Runs tasks for a BaTS master: joins it, takes what it is given, reports.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--ticket", metavar="FILE", help="what a back end hands over; - is stdin")
    how.add_argument("--access", metavar="FILE", help="a worker's access file: join by hand")
    parser.add_argument("--slots", type=_count, help="tasks at a time (default: the cores)")
    parser.add_argument(
        "--memory",
        type=_octets,
        metavar="SIZE",
        help="that all tasks may use, such as 16G (default: the computer's)",
    )
    parser.add_argument(
        "--gpus",
        type=_gpus,
        metavar="N",
        help="GPUs for tasks that ask for some (default: all that are found)",
    )
    parser.add_argument("--name", default="", metavar="OFFERING", help="which offering it is of")
    parser.add_argument("--folder", default="", help="where to keep its state (default: in /tmp)")
    parser.add_argument("--lease-fd", type=int, metavar="N", help="a pipe to write the end of the "
                        "lease to, in seconds since boot, for the machine's watchdog")  # fmt: skip
    parser.add_argument("--log", choices=("auto", "console", "json"), default="auto")
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, as other commands say it."""
        said = message.replace("one of the arguments", "one of")
        self.exit(2, f"bats: {said.removeprefix('argument ')}. See `{self.prog} --help`.\n")


def _octets(text: str) -> int:
    from bats.common.units import octets

    try:
        return octets(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _gpus(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1000")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 100000")
    return int(text)


def _ticket(given: argparse.Namespace) -> "Ticket":
    from dataclasses import replace

    from bats.common.capacity.resources import this_computer
    from bats.common.errors import UsageError
    from bats.common.messages import MachineId
    from bats.common.ticket import Ticket, from_json
    from bats.common.wire.keys import read_access, read_private

    if given.access:
        here = this_computer()
        access = read_access(Path(given.access).expanduser(), "worker")
        return Ticket(
            machine=MachineId(-1),
            master=access.master,
            server_key=access.server_key,
            public_key=access.public_key,
            secret_key=access.secret_key,
            slots=given.slots or here.cpus,
            lease_seconds=_BY_HAND_SECONDS,
            margin_seconds=_BY_HAND_MARGIN_SECONDS,
            single_use=True,  # the access file invites: this worker is then known by its own key
            state_folder=given.folder,
            offering=given.name,
            memory_bytes=given.memory or here.memory_bytes,
            gpus=here.gpus if given.gpus is None else given.gpus,
        )
    if given.name:
        raise UsageError(
            "`--name` goes with `--access`: a ticket already says which machine it is."
        )
    if given.ticket == "-":
        ticket = from_json(sys.stdin.readline(), "standard input")
    else:
        try:
            ticket = from_json(read_private(Path(given.ticket)), given.ticket)
        except FileNotFoundError:
            raise UsageError(f"There is no ticket {given.ticket}.") from None
    if given.slots:
        ticket = replace(ticket, slots=given.slots)
    if given.memory:
        ticket = replace(ticket, memory_bytes=given.memory)
    if given.gpus is not None:
        ticket = replace(ticket, gpus=given.gpus)
    if given.folder:
        ticket = replace(ticket, state_folder=given.folder)
    return ticket


_BY_HAND_MARGIN_SECONDS = 0.5  # whatever the boundary of its offering is
_BY_HAND_SECONDS = 600.0  # to find its master in; then the master's lease counts
