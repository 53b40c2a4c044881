"""Runtimes as users write them: a distribution, a duration, or a file of runtimes."""

import csv
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.units import seconds
from bats.master.simulate.workloads import (
    MINUTE,
    Workload,
    bimodal,
    constant,
    from_csv,
    from_runtimes,
    log_normal,
    multi_modal,
    normal,
    truncated_levy,
    truncated_pareto,
    weibull,
)

DISTRIBUTIONS: Final[Mapping[str, Callable[..., Workload]]] = {
    "normal": normal,
    "levy": truncated_levy,
    "multi-modal": multi_modal,
    "log-normal": log_normal,
    "weibull": weibull,
    "bimodal": bimodal,
    "pareto": truncated_pareto,
}
_DURATION: Final = "_minutes"  # the ending of parameters that users write as durations


def workload(written: str, column: str | None = None) -> Workload:
    """`normal:mean=15m,sigma=2m`, `90s` or `runs.csv`; raises UsageError with one sentence."""
    name, _, parameters = written.partition(":")
    if column is None and name in DISTRIBUTIONS:
        return _drawn(name, parameters)
    if Path(written).is_file():
        try:
            return from_csv(Path(written), column)
        except (UnicodeDecodeError, csv.Error):
            raise UsageError(f"{written} is no CSV file of runtimes in seconds.") from None
    if column is None:
        try:
            return constant(_above_0(written, seconds) / MINUTE)
        except ValueError:
            pass
    raise UsageError(
        f"{quoted(written)} is neither a file, nor a duration, nor a distribution; "
        f"distributions are {', '.join(DISTRIBUTIONS)}."
    )


def of_clusters(runtimes: Mapping[str, Sequence[float]]) -> tuple[Workload, dict[str, float]]:
    """The runtimes of a finished run, and how fast its clusters were: the busiest has speed 1."""
    known = {name: list(found) for name, found in runtimes.items() if found}
    if not known:
        raise UsageError("No task of that bag was done: nothing tells how long its tasks take.")
    means = {name: math.fsum(found) / len(found) for name, found in known.items()}
    base = max(known, key=lambda name: len(known[name]))
    speeds = {name: means[base] / mean for name, mean in means.items()}
    pooled = [t * speeds[name] for name, found in known.items() for t in found]
    return from_runtimes(pooled, "an earlier run"), speeds


def _drawn(name: str, written: str) -> Workload:
    make = DISTRIBUTIONS[name]
    known = {key.removesuffix(_DURATION): key for key in inspect.signature(make).parameters}
    given: dict[str, float] = {}
    for part in written.split(",") if written else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in known or not equals:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise UsageError(f"{name}: {quoted(part)} says nothing; {name} {takes}.")
        try:
            if known[key].endswith(_DURATION):
                given[known[key]] = _above_0(value, seconds) / MINUTE
            else:
                given[known[key]] = _above_0(value, float)
        except ValueError as error:
            raise UsageError(f"{name}: {key}: {error}.") from None
    return make(**given)


def _above_0(written: str, read: Callable[[str], float]) -> float:
    try:
        value = read(written)
    except ValueError:
        if read is seconds:
            raise
        raise ValueError(f"{quoted(written)} is not a number") from None
    if not 0 < value < math.inf:
        raise ValueError(f"{quoted(written)} should be above 0")
    return value
