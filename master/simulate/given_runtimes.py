"""Runtimes as users write them: a distribution, a duration, a formula, or a file of runtimes."""

import csv
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator

from bats.common.errors import UsageError, quoted
from bats.common.units import seconds
from bats.master.brain.protocol.formulas import formula
from bats.master.brain.protocol.parameters import MOST_TASKS, Parameters, parameters_of
from bats.master.simulate.workloads import (
    MINUTE,
    Runtimes,
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


def workload(
    written: str, column: str | None = None, rows: Sequence[Mapping[str, str]] = ()
) -> Workload:
    """`normal:mean=15m,sigma=2m`, `90s` or `runs.csv`; raises UsageError with one sentence.

    Of a sweep whose tasks have these parameters also `0.5 * n ** 2`, in seconds.
    """
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
    if column is None and rows:
        return _by_parameters(written, rows)
    raise UsageError(
        f"{quoted(written)} is neither a file, nor a duration, nor a distribution; "
        f"distributions are {', '.join(DISTRIBUTIONS)}."
    )


def _by_parameters(written: str, rows: Sequence[Mapping[str, str]]) -> Workload:
    """The runtime of each task by its own parameters: every bag is the same."""
    names = {name: "" for name in rows[0] if all(_is_number(row[name]) for row in rows)}
    example = f"0.5 * {next(iter(names), 'n')}"
    try:
        law = formula(written, names, example)
        found = [law({name: float(row[name]) for name in names}) for row in rows]
    except (ArithmeticError, ValueError, TypeError) as error:
        raise UsageError(
            f"{quoted(written)} is neither a file, nor a duration, nor a distribution "
            f"({', '.join(DISTRIBUTIONS)}), nor a formula of seconds: {error}."
        ) from None
    bad = next((k for k, t in enumerate(found) if not 0 < t < math.inf), None)
    if bad is not None:
        raise UsageError(
            f"By {quoted(written)} task {bad} takes {found[bad]:g} s; it should take time."
        )
    runtimes = np.asarray(found, dtype=np.float64)

    def draw(n: int, _rng: Generator) -> Runtimes:
        return np.resize(runtimes, n)

    return Workload("by parameters", f"{written} seconds", draw, len(rows))


def parameters(rows: Sequence[Mapping[str, str]]) -> Parameters:
    """The parameters of tasks that runtimes may follow from, as of a bag that is run."""
    if not 0 < len(rows) <= MOST_TASKS:
        return ()
    return parameters_of({name: [row[name] for row in rows] for name in rows[0]})


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


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
