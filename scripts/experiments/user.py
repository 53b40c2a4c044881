"""A bag as its user runs it: `bats run` and a clouds file, a process and a folder of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from studies.study import Progress

from bats.common.billing import charge
from bats.common.messages import BagId
from bats.common.money import Money, as_decimal
from bats.master.clouds.clouds_reading import clouds
from bats.master.report.renting import Rented

from . import lab

SIDE_BY_SIDE: Final = 3  # tasks sleep: so many masters do not disturb each other
FAREWELL_SECONDS: Final = 60.0  # to end in order, when it was told to
_BATS: Final = Path(sys.executable).with_name("bats")
_LINES: Final = 12
_RUNNING: Final[set["subprocess.Popen[bytes]"]] = set()

Job = TypeVar("Job")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Ran:
    live: lab.Live
    budget: Money
    exit_code: int
    screen: str  # the last lines of it
    bill: Money  # by the uptimes that were noted where the machines ran, not in the master's books


def run(
    words: Callable[[Path], Sequence[str]],
    clouds_file: str,
    budget: Money,
    *,
    longest_seconds: float,
    again: int = 3,
) -> Ran:
    """`words` are those of the sweep, which may put files into the folder that they are given.

    What lasts longer is interrupted, as Ctrl-C does. A run in which the computer stood still is
    done again, up to so many times.
    """
    with lab.state_folder() as folder:
        path = folder / "clouds.toml"
        path.write_text(clouds_file, encoding="utf-8")
        offerings = clouds(path).offerings
    return lab.undisturbed(
        lambda still: _run(words, clouds_file, budget, longest_seconds, still), offerings, again
    )


def side_by_side(run: Callable[[Job], Done], jobs: Sequence[Job], label: str) -> list[Done]:
    """The results in the order of the jobs; interrupted, what runs is told to end in order."""
    progress = Progress(label, len(jobs))
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
                progress.step()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(_RUNNING):
                process.terminate()
            raise
    progress.end()
    return [future.result() for future in futures]


def _run(
    words: Callable[[Path], Sequence[str]],
    clouds_file: str,
    budget: Money,
    longest_seconds: float,
    stood_still: list[float],
) -> Ran:
    with lab.state_folder() as state:
        (state / "clouds.toml").write_text(clouds_file, encoding="utf-8")
        with (state / "screen").open("w") as screen:
            argv = [str(_BATS), "run", "--state", str(state), "--clouds", "clouds.toml"]
            argv += ["--budget", str(as_decimal(budget)), *words(state)]
            process = subprocess.Popen(argv, cwd=state, stdout=screen, stderr=subprocess.STDOUT)
            _RUNNING.add(process)
            try:
                code = process.wait(longest_seconds)
            except subprocess.TimeoutExpired:
                process.terminate()
                code = process.wait(FAREWELL_SECONDS)
            finally:
                _RUNNING.discard(process)
                process.kill()
        said = "\n".join((state / "screen").read_text().splitlines()[-_LINES:])
        try:
            live = lab.read(state, BagId(1), [], "", stood_still)
        except Exception as error:
            raise RuntimeError(f"`bats run` ended with {code}:\n{said}") from error
        bill = Money(sum(_billed(state, one) for one in live.account.machines))
        return Ran(live, budget, code, said, bill)


def _billed(state: Path, machine: Rented) -> Money:
    ended = state / "local" / machine.offering.name / str(machine.id) / "ended.json"
    seconds = json.loads(ended.read_text())["charged_seconds"] if ended.exists() else None
    return Money(0) if seconds is None else charge(machine.offering, seconds)
