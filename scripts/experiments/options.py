"""Options of an experiment on the command line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    minute_seconds: float | None  # how long a model minute lasts; None: as suits the experiment
    seed: int
    quick: bool  # a small part of it
