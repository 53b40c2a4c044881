"""One seed: its story is run and judged; each in a folder of its own that is then removed."""

import gc
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from fate.checks import judge
from fate.stories import story_of
from fate.undone import FIXES
from fate.world import World

# A process that is killed between its start and its first step never takes that.
_KILLED_AT_BIRTH = r"coroutine '(Provider\._live|World\._serve)' was never awaited"


@dataclass(frozen=True, slots=True)
class Verdict:
    seed: int
    violations: tuple[str, ...]
    steps: int  # events that the engine took
    machines: int
    seconds: float  # of virtual time
    loans: Counter[str]  # how often what happened to machines lent


def run_seed(seed: int, undone: str = "", *, told: bool = False) -> Verdict:
    story = story_of(seed)
    shm = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="fate-", dir=shm if shm.is_dir() else None))
    world = World(seed, folder, story)
    _log_to(world if told else None)
    if told:
        print(story.offering)
        for one in story.errands:
            print(f"{one.at:9.2f} {one.name}: steps of {one.steps} tasks, inputs {[*one.inputs]}, "
                  f"budget {one.budget}")  # fmt: skip
        for at, what, seconds in story.befalls:
            print(f"{at:9.2f} {what} for {seconds:.1f} s")
    unraisable, sys.unraisablehook = sys.unraisablehook, lambda _: None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _KILLED_AT_BIRTH)
        try:
            with FIXES[undone](world) if undone else nullcontext():
                try:
                    violations = judge(world, world.run())
                except Exception as error:  # also of books that cannot be replayed
                    violations = [f"the world ended: {error!r}"]
                    if told:
                        raise
            return Verdict(
                seed, tuple(violations), world.steps, len(world.provider.machines), world.loop.now,
                world.loans.counts,
            )  # fmt: skip
        finally:
            world.close()
            del world
            gc.collect()
            sys.unraisablehook = unraisable
            shutil.rmtree(folder, ignore_errors=True)


def _log_to(world: World | None) -> None:
    def tell(_logger: Any, _method: str, event: dict[str, Any]) -> str:
        assert world is not None
        said = event.pop("event")
        event.pop("exc_info", None)
        rest = " ".join(f"{key}={value}" for key, value in event.items())
        return f"{world.loop.now:9.2f} {said} {rest}".replace(str(world.folder), "…")

    def drop(*_: Any) -> Any:
        raise structlog.DropEvent

    structlog.configure(
        processors=[drop if world is None else tell], cache_logger_on_first_use=False
    )
