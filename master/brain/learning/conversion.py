"""Conversion of what a sample has shown into what is known of each cluster, and of all together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from bats.common.messages import TaskId
from bats.common.records import dataclass
from bats.master.brain.learning.profile import RuntimeProfile
from bats.master.brain.learning.regression import SAME, Line, fit
from bats.master.brain.learning.step_profiles import ratio_of_steps

Observed = Mapping[TaskId, float]
"""The runtimes of tasks on one cluster."""

StepOf = Callable[[int], int]

NO_STEP: Final = "no step has run on both clusters; equal speed is assumed"


@dataclass(frozen=True, slots=True)
class Learned:
    """Knowledge by the numbers of clusters, of which something has been observed."""

    profiles: Mapping[int, RuntimeProfile]
    lines: Mapping[int, Line]  # from the canonical cluster to each
    canonical: RuntimeProfile


def by_regression(observed: Mapping[int, Observed]) -> Learned:
    """Convert every runtime to the base and from there to every cluster (T §3.1.3)."""
    base = max(observed, key=lambda k: (len(observed[k]), -k))
    lines = {k: SAME if k == base else _line(observed[base], here) for k, here in observed.items()}
    return _learned(observed, base, lines)


def by_steps(learned: Learned, observed: Mapping[int, Observed], step_of: StepOf) -> Learned:
    """The same of a workflow, whose steps differ, where lines are in doubt.

    Tasks of one step are alike. Without a step that ran on both clusters equal speed is assumed.
    """
    base = next((k for k, line in learned.lines.items() if line is SAME), None)
    doubtful = [k for k, line in learned.lines.items() if line.doubt is not None]
    if base is None or not doubtful:
        return learned
    totals = {k: _totals(here, step_of) for k, here in observed.items()}
    lines = dict(learned.lines)
    for k in doubtful:
        ratio = ratio_of_steps(totals[base], totals[k])
        if ratio is not None:
            lines[k] = replace(lines[k], beta0=0.0, beta1=ratio, least=0.0)
        elif not observed[k].keys() & observed[base].keys():
            lines[k] = Line(0.0, 1.0, doubt=NO_STEP)
    return _learned(observed, base, lines)


def _totals(here: Observed, step_of: StepOf) -> dict[int, tuple[int, float]]:
    found: dict[int, tuple[int, float]] = {}
    for task, seconds in here.items():
        count, total = found.get(step_of(task), (0, 0.0))
        found[step_of(task)] = count + 1, total + seconds
    return found


def _learned(observed: Mapping[int, Observed], base: int, lines: Mapping[int, Line]) -> Learned:
    full = dict(observed[base])
    for k, here in observed.items():
        for task, seconds in here.items():
            full.setdefault(task, lines[k].back(seconds))
    profiles = {
        k: RuntimeProfile(
            here[task] if task in here else lines[k].convert(seconds)
            for task, seconds in full.items()
        )
        for k, here in observed.items()
    }
    return Learned(profiles, lines, RuntimeProfile(full.values()))


def by_means(runtimes: Mapping[int, Sequence[float]]) -> Learned:
    """Draw lines by the ratio of mean runtimes, for clusters without tasks in common."""
    profiles = {k: RuntimeProfile(seconds) for k, seconds in runtimes.items()}
    lines: dict[int, Line] = {}
    for k, profile in profiles.items():
        first = next(iter(profiles.values()))
        lines[k] = Line(0.0, profile.mean_done / first.mean_done) if lines else SAME
    canonical = RuntimeProfile(
        lines[k].back(seconds) for k, profile in profiles.items() for seconds in profile.sample()
    )
    return Learned(profiles, lines, canonical)


def _line(on_base: Observed, here: Observed) -> Line:
    """Through the tasks that ran on both; without one, tasks of both are alike on average."""
    pairs = [task for task in here if task in on_base]
    if pairs or not any(on_base.values()) or not any(here.values()):
        return fit([on_base[task] for task in pairs], [here[task] for task in pairs])
    ratio = fmean(here.values()) / fmean(on_base.values())
    return Line(0.0, ratio, doubt="no task has run on both clusters")
