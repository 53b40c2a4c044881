"""The level of parallelism by tokens, kept up while tasks end, and exact (thesis §2.3.1)."""

from figures import Report

from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.parallelism import Incremental, exact, token
from bats.master.simulate.workflows import layered
from bats.master.simulate.workflows.scientific import Generate, ligo, montage, sipht
from studies.study import Options, Study, chance, run_all

FAMILIES: dict[str, Generate] = {
    "Montage": montage,
    "SIPHT": sipht,
    "LIGO": ligo,
    "layered": layered.drawn,
}
EQUAL = {"Montage": 0.95, "SIPHT": 0.95, "LIGO": 0.65}
"""The share of workflows in which tokens count the whole width, at least."""


def compare(job: tuple[str, int, int]) -> tuple[int, int]:
    """Of one workflow: the level by tokens, and its width."""
    name, number, seed = job
    rng = chance(seed, 31, number)
    size = 2 * int(rng.integers(15, 200))
    near = neighbours(FAMILIES[name](size, rng).graph)
    return token(near), exact(near)


def execute(job: tuple[int, int]) -> tuple[bool, bool, bool]:
    """A random execution: incremental as counted anew, the width never rises, tokens never above.

    Widths are taken at a few of its moments, levels after every task.
    """
    number, seed = job
    rng = chance(seed, 32, number)
    generate = list(FAMILIES.values())[number % len(FAMILIES)]
    near = neighbours(generate(2 * int(rng.integers(15, 60)), rng).graph)
    waits = [len(parents) for parents in near.parents]
    ready = [task for task in range(len(near)) if not waits[task]]
    kept, done = Incremental(near), set[int]()
    width, same, falling, below = exact(near), True, True, True
    while ready:
        task = ready.pop(int(rng.integers(len(ready))))
        kept.finish(task)
        done.add(task)
        for child in near.children[task]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
        same &= kept.level == token(near, done)
        same &= kept.look_ahead(2) == token(near, done, depth=2)
        if len(done) % 10 == 0:
            now = exact(near, done)
            falling &= now <= width
            below &= kept.level <= now
            width = now
    return same, falling, below


def run(report: Report, options: Options) -> None:
    each = 12 if options.quick else 100
    never_above = True
    for name in FAMILIES:
        jobs = [(name, number, options.seed) for number in range(each)]
        found = run_all(compare, jobs, options, f"wf-lop {name}")
        never_above &= all(tokens <= width for tokens, width in found)
        equal = sum(tokens == width for tokens, width in found) / len(found)
        ratio = sum(tokens for tokens, _ in found) / sum(width for _, width in found)
        report.figure(f"{name}: tokens count the whole width", None, equal, "share")
        report.figure(f"{name}: tokens to width", None, ratio)
        if name in EQUAL:
            report.bar(f"{name}: equal in a share of", EQUAL[name], equal, equal >= EQUAL[name])
    report.bar("tokens never above the width", "all", str(never_above), never_above)
    runs = [(number, options.seed) for number in range(8 if options.quick else 50)]
    executions = run_all(execute, runs, options, "wf-lop executions")
    for place, words in enumerate(
        (
            "kept up to date as counted anew after every task",
            "the width never rises while a workflow runs",
            "tokens never above the width while a workflow runs",
        )
    ):
        ok = all(one[place] for one in executions)
        report.bar(words, "all", str(ok), ok)


STUDIES = (Study("wf-lop", "levels of parallelism: by tokens, incremental, exact", run),)
