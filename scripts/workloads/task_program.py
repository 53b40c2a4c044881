"""Parts of a task's program: common arguments, a JSON result, the pace of an emulated machine.

A local machine can pass for a slower or faster one: its worker sets `BATS_SPEED`, and the task
takes the time that such a machine would need by sleeping, before it reports, for the rest of it.
That time follows from the work alone. Processor time would not do: the same task takes a seventh
more of it when thirty are under way than when three are.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping

ROOM = 1.5  # in the pace proposed: another time the same work may take more processor time


def at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is not {least} or more")
        return value

    return number


def positive_float(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def non_negative_float(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of 0 or more")
    return value


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def parser(purpose: str | None) -> argparse.ArgumentParser:
    """Knows the arguments that all the programs have; each adds its own."""
    arguments = argparse.ArgumentParser(description=purpose)
    arguments.add_argument("--seed", type=int, default=0, help="the same seed, the same result")
    arguments.add_argument("--out", metavar="FILE", help="write the result here as well")
    arguments.add_argument(
        "--speed",
        type=positive_float,
        default=os.environ.get("BATS_SPEED", "1"),
        help="how fast a machine to pass for (default: $BATS_SPEED, else 1)",
    )
    return arguments


def computing_parser(purpose: str | None, step: str) -> argparse.ArgumentParser:
    """For programs that use the processor: how much work, and how fast a machine of speed 1 is.

    `step` is what the size of the task counts, with its article.
    """
    arguments = parser(purpose)
    arguments.add_argument(
        "--scale",
        type=positive_float,
        default=1.0,
        help="factor on the size of the task, to fit a sweep to the machine at hand (default: 1)",
    )
    arguments.add_argument(
        "--pace",
        metavar="SECONDS",
        type=non_negative_float,
        default=0.0,
        help=f"how long {step} takes on a machine of speed 1 (default: 0, as fast as this one can)",
    )
    arguments.set_defaults(step=step)
    return arguments


def scaled(size: int, scale: float) -> int:
    return max(1, round(size * scale))


def report(result: Mapping[str, object], out: str | None) -> None:
    """Print the result; a file gets it whole or not at all, as a task may be stopped any time."""
    line = json.dumps(result)
    if out is not None:
        from pathlib import Path  # late, because it takes 6 ms to load

        part = Path(f"{out}.{os.getpid()}.part")
        part.write_text(line + "\n")
        part.replace(out)
    print(line)


def check_pace(arguments: argparse.Namespace) -> None:
    """Refuse another speed when nothing says what speed 1 is; asked before the work."""
    if arguments.speed != 1 and not arguments.pace:
        raise SystemExit(
            f"Set --pace, the seconds that {arguments.step} takes on a machine of speed 1, "
            f"to pass for one of speed {arguments.speed:g}."
        )


def keep_pace(arguments: argparse.Namespace, steps: int) -> None:
    """Sleep until the emulated machine would have done the work; refuse when this one is slower.

    By processor time: a task that only waited for a core is late, but its pace is not too short.
    """
    if not arguments.pace:
        return
    seconds = steps * arguments.pace / arguments.speed
    used = time.process_time()
    if used > seconds:
        proposed = ROOM * used * arguments.speed / steps
        raise SystemExit(
            f"The task took {used:.3g} s of processor time and a machine of speed "
            f"{arguments.speed:g} has {seconds:.3g} s for it, so this computer cannot pass for "
            f"one. Set --pace to {proposed:.2g} or more."
        )
    rest_until_age(seconds)


def rest_until_age(seconds: float) -> None:
    """Sleep until this process is so old: what it took to start counts as part of the task."""
    time.sleep(max(0.0, seconds - age_seconds()))


def age_seconds() -> float:
    """The seconds since this process started; a lower bound where the system does not say."""
    try:
        # The name of the program stands in brackets and may hold spaces; field 22 is the start.
        with open("/proc/self/stat") as file:  # noqa: PTH123 - pathlib takes 6 ms to load
            fields = file.read().rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, AttributeError):
        return time.process_time()
