"""Options of an experiment on the command line."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    minute_seconds: float | None  # how long a model minute lasts; None: as suits the experiment
    seed: int
    quick: bool  # a small part of it
    files: Path | None = None  # a folder of recorded workflows; None: generated ones
