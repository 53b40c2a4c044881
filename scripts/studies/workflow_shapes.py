"""Generated workflows beside what the thesis prints of them: sizes, work, levels, makespans."""

from statistics import fmean, median

from figures import Report

from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.parallelism import token
from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.mixtures import (
    MIXED,
    SIZES,
    hyper_gamma,
    makespan,
    size_of,
)
from bats.master.simulate.workflows.scientific import Generate, ligo, montage, sipht
from studies.study import Options, Study, chance, run_all

PLACES = 100
MAKESPANS = {"small": (1136.0, 0.20), "medium": (429.0, 0.15), "large": (130.0, 0.25)}
"""Table 2.2, of the mixture on an empty system: seconds, and how near ours must come."""

SHARES = {name: sizes.share for name, sizes in SIZES.items()}


def drawn(job: tuple[int, int]) -> list[tuple[str, int, float, float, list[float]]]:
    """Of so many workflows of a seed: class, size, work, makespan, raw runtimes."""
    seed, count = job
    rng = chance(seed, 21)
    found = []
    for _ in range(count):
        name, size = size_of(rng)
        raw = MIXED[int(rng.integers(len(MIXED)))](size, rng)
        scaled = raw.scaled(hyper_gamma(rng))
        alone = makespan(scaled, PLACES)
        found.append((name, len(raw.seconds), scaled.total, alone, list(raw.seconds)))
    return found


def one_entry_and_exit(of: Generated) -> bool:
    near = neighbours(of.graph)
    entries = sum(not parents for parents in near.parents)
    exits = sum(not children for children in near.children)
    return len(near.order) == len(near) and entries == exits == 1


def exact_sizes(options: Options) -> bool:
    """Every even size has its number of tasks, in no circle, between one entry and one exit."""
    rng = chance(options.seed, 20)
    for size in range(30, 600, 60 if options.quick else 6):
        wanted = {montage: size, ligo: size, sipht: size - round(size / 31)}
        for generate, tasks in wanted.items():
            if generate(size, rng).graph.tasks != tasks:
                return False
            if not one_entry_and_exit(generate(size, rng, one_end=True)):  # type: ignore[call-arg]
                return False
    return True


def level(generate: Generate, size: int, options: Options) -> float:
    """The mean level of parallelism of workflows of a size."""
    rng = chance(options.seed, 23, size)
    return fmean(
        token(neighbours(generate(size, rng).graph)) for _ in range(5 if options.quick else 50)
    )


def run(report: Report, options: Options) -> None:
    whole = exact_sizes(options)
    report.bar("sizes exact, no circles, one entry, one exit", "all", str(whole), whole)
    jobs = [(options.seed + k, 300 if options.quick else 3000) for k in range(3)]
    every = [one for found in run_all(drawn, jobs, options, "wf-shapes") for one in found]
    size = fmean(tasks for _, tasks, *_ in every)
    slack = 3.0 if options.quick else 1.0  # a tenth of the workflows has three times the noise
    report.figure("mean size of the mixture", 69.5, size, "tasks")
    report.bar("mean size within 3 of 69.5", 3.0 * slack, abs(size - 69.5),
               abs(size - 69.5) <= 3 * slack)  # fmt: skip
    for name, share in SHARES.items():
        ours = sum(one[0] == name for one in every) / len(every)
        report.figure(f"share of {name} workflows", share, ours)
        limit = 0.025 * slack
        report.bar(f"share of {name} within .025", limit, abs(ours - share),
                   abs(ours - share) <= limit)  # fmt: skip
    total = fmean(one[2] for one in every)
    off = abs(total - 3600) / 3600
    report.figure("mean work", 3600, total, "s")
    report.bar("mean work within 3 %", 0.03 * slack, off, off <= 0.03 * slack)
    middle = median(seconds for one in every for seconds in one[4])
    report.figure("median raw runtime of a task", 10.6, middle, "s")
    report.bar("median raw runtime within .3 s of 10.6", 0.3 * slack, abs(middle - 10.6),
               abs(middle - 10.6) <= 0.3 * slack)  # fmt: skip
    for name, (published, tolerance) in MAKESPANS.items():
        ours = fmean(one[3] for one in every if one[0] == name)
        off = abs(ours - published) / published
        report.figure(f"makespan alone on {PLACES} places, {name}", published, ours, "s")
        report.bar(f"makespan of {name} ones", tolerance * slack, off, off <= tolerance * slack)
    at_800 = level(ligo, 800, options)
    report.figure("LoP of LIGO, 800 tasks", None, at_800)
    report.bar("LoP of LIGO at 800 in [150, 200]", "150..200", at_800, 150 <= at_800 <= 200)
    for kind, generate in {"Montage": montage, "SIPHT": sipht}.items():
        at_350 = level(generate, 350, options)
        report.figure(f"LoP of {kind}, 350 tasks", None, at_350)
        report.bar(f"LoP of {kind} at 350 is 200 or more", 200.0, at_350, at_350 >= 200)


STUDIES = (Study("wf-shapes", "generated workflows: sizes, work, parallelism", run),)
