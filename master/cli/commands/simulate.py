"""`bats simulate`: what would it cost? The scheduler runs the bag in virtual time, many times."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bats.common.capacity.packing import packed
from bats.common.capacity.resources import Resources
from bats.common.errors import UsageError, quoted
from bats.common.money import money
from bats.common.units import seconds
from bats.master.cli.base import Common, command, common
from bats.master.cli.display.formatting import amount, count
from bats.master.cli.display.tables.study_table import StudyFacts, facts_of, lines, told
from bats.master.cli.policy_options import policy_given, policy_options
from bats.master.cli.questions import BagName
from bats.master.cli.sweep_options import TERM

if TYPE_CHECKING:
    from bats.common.offering import Offering
    from bats.master.bag import Bag
    from bats.master.simulate.runtimes_of_steps import StepTasks
    from bats.master.simulate.study import Case, World
    from bats.master.simulate.workloads import Workload
    from bats.master.sweep.work import Work
    from bats.master.sweep.workflow.workflow import Workflow

KINDS: Final = (
    "cheapest", "cheapest+10%", "cheapest+20%", "fastest-20%", "fastest-10%", "fastest",
)  # fmt: skip
_USUAL_TASKS: Final = 1000
_MOST_ROWS: Final = 100_000  # of parameters, that a formula is worked out for


@command(
    examples="""
bats simulate sweep.toml --runtimes 12m --clouds clouds.toml       tasks of 12 minutes
bats simulate --tasks 1000 --runtimes normal:mean=15m,sigma=2m --budget 40 --budget 60
bats simulate --runtimes runs.csv --column seconds --pick fastest --deadline 6h
bats simulate sweep.toml --runtimes '0.5 * n ** 2'  seconds, by the sweep's parameter n
bats simulate steps.toml --runtimes prepare=2m --runtimes levy      one step, and all others
bats simulate montage.json --clouds clouds.toml    as long as its tasks took when recorded
bats simulate --bag 3 --budget 5                   as long as those of bag 3 took
bats simulate --runtimes levy --speed large=2.5 --tail none --html levy.html
"""
)
@click.argument("sweep", required=False, metavar="[SWEEP]")
@click.option(
    "--runtimes",
    multiple=True,
    metavar="[STEP=]TIMES",
    help="How long tasks take: a duration, a CSV file of seconds, a formula of the sweep's "
    "parameters in seconds, such as '0.5 * n', or a distribution: normal, levy, multi-modal, "
    "log-normal, weibull, bimodal, pareto. For each step of a workflow its own (STEP=TIMES).",
)
@click.option("--column", metavar="NAME", help="Which column of the CSV file (the first).")
@click.option("--bag", type=BagName(), help="Take the runtimes of this bag, which has been run.")
@click.option(
    "--tasks",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="How many (those of the sweep, the bag or the file; else 1000).",
)
@click.option(
    "--clouds",
    "clouds_file",
    default="",
    metavar="FILE",
    help="Which machines can be had, and their prices.",
)
@click.option(
    "--speed",
    "speeds",
    multiple=True,
    metavar="OFFERING=FACTOR",
    help="How fast its machines are; TIMES are those of speed 1.",
)
@click.option("--start", metavar="DURATION", help="How long a machine takes to start (0s).")
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="MONEY",
    help="What all of it may cost at most; also several.",
)
@click.option("--deadline", metavar="DURATION", help="When it should be done: 2h 30m.")
@click.option(
    "--pick",
    "picks",
    multiple=True,
    metavar="SCHEDULE",
    type=click.Choice([*KINDS, "balanced"]),
    help="Only this of the six schedules; also several.",
)
@click.option("--term", metavar="DURATION", hidden=True)
@policy_options
@click.option(
    "--runs",
    type=click.IntRange(1, 100_000),
    default=30,
    show_default=True,
    help="How often each case is run, each time with a new bag.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="The same seed gives the same figures.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes that simulate (one for each core).",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write a page with a drawing.",
)
@common
def simulate(common: Common, /, sweep: str | None, **given: Any) -> None:
    """Simulates a bag without running it: what would it cost, and how long would it take?

    The very scheduler that spends the money runs the bag in virtual time: it samples, chooses,
    watches, and copies tasks in the tail. Without --budget, --deadline and --pick it shows the six
    schedules; where machines may be lost, also the strategies that no other beats in both time and
    price, by what a simulated run shows of them. No master is needed and no machine is started.
    """
    from bats.master.queries.plans import foreseen
    from bats.master.simulate.study import pools_shown, simulations, study

    world, workload, cases, tail = _wanted(common, sweep, given)
    runs = given["runs"]
    workers = given["workers"] or len(os.sched_getaffinity(0))
    with _progress(common, simulations(cases, tail, runs)) as step:
        summaries = study(
            world, cases, workload, tail=tail, runs=runs, seed=given["seed"], workers=workers,
            step=step,
        )  # fmt: skip
    facts = facts_of(world, workload, summaries, tail=tail, seed=given["seed"])
    if (known := pools_shown(world, workload, given["seed"])) is not None:
        facts["frontier"] = foreseen(known, cases[0].rule, world.currency)
    if given["html"] is not None:
        from bats.master.report.study_page import html

        given["html"].write_text(html(facts, *lines(facts)), encoding="utf-8")
        facts["written"] = str(given["html"])
    common.facts(facts, lambda: told(facts), StudyFacts)


# --- what is asked --------------------------------------------------------------------------------


def _wanted(
    common: Common, sweep_file: str | None, given: Mapping[str, Any]
) -> "tuple[World, Workload, list[Case], str]":
    """The last is the tail strategy."""
    from bats.master.clouds.clouds_in_python import Clouds
    from bats.master.clouds.clouds_reading import clouds
    from bats.master.simulate.given_runtimes import parameters, workload
    from bats.master.simulate.runtimes_of_steps import as_recorded, of_steps
    from bats.master.simulate.study import USUAL_TAIL, Case, World
    from bats.master.sweep.workflow.workflow import Workflow

    written, column = given["runtimes"], given["column"]
    sweep = _read(sweep_file) if sweep_file else None
    workflow = sweep if isinstance(sweep, Workflow) else None
    recorded = workflow is not None and any(workflow.seconds)
    earlier = given["bag"] is not None
    if (written and earlier) or not (written or earlier or recorded):
        raise click.UsageError(
            "Say how long tasks take, by one of --runtimes and --bag: "
            "--runtimes 12m, --runtimes normal:mean=15m,sigma=2m, --runtimes runs.csv"
            + (f"; of one step --runtimes {workflow.steps[0].name}=12m." if workflow else ".")
        )
    if column and not written:
        raise click.UsageError("--column goes with --runtimes FILE.")
    rows = _rows(sweep)
    before: Mapping[str, float] = {}
    bag: Bag | None = None
    if earlier:
        bag, drawn, before = _of_bag(common, given["bag"], sweep)
    elif workflow is not None and written:
        drawn = of_steps(written, column, _steps(workflow))
    elif workflow is not None:
        drawn = as_recorded(workflow.seconds, _steps(workflow))
    elif len(written) > 1:
        raise click.UsageError(
            "--runtimes is given once for a bag whose tasks are alike; steps have their own."
        )
    else:
        drawn = workload(written[0], column, rows)
    if bag is not None and not given["clouds_file"]:
        found = Clouds(bag.settings.offerings, bag.settings.currency)
    else:
        found = clouds(given["clouds_file"])
    described = sweep or (bag.sweep if bag else None)
    usual = described.count if described else drawn.count or _USUAL_TASKS
    its_own = bag is not None and not given["clouds_file"]  # which count its tasks already
    graph = described.graph if isinstance(described, Workflow) else None
    if graph is not None and given["tasks"] not in (None, usual):
        raise click.UsageError(f"--tasks: the workflow has its {count(usual, 'task')}.")
    if graph is not None and written:
        graph = replace(graph, seconds=b"")  # what was recorded is not what is asked about
    needs = described.needs if described and not its_own else Resources()
    if given["term"] is not None:
        _duration(given["term"], "--term")
        click.echo(f"{TERM}.", err=True)
    deadline = _duration(given["deadline"], "--deadline")
    if deadline is None and sweep:
        deadline = sweep.deadline_seconds
    policy = {**(described.policy if described else {}), **policy_given(given)}
    tail = str(policy.pop("tail", USUAL_TAIL))
    policy.pop("seed", None)  # of the engine; the study has one of its own
    world = World(
        given["tasks"] or usual,
        packed(found.offerings, needs),
        _speeds(found.offerings, given["speeds"], before),
        deadline,
        _duration(given["start"], "--start") or 0.0,
        described.replicate if described else True,
        found.currency,
        policy,
        parameters(rows) if rows and given["tasks"] in (None, len(rows)) else (),
        graph,
    )
    budgets = [_money(one) for one in given["budgets"]]
    if not budgets and sweep and sweep.budget is not None:
        budgets = [sweep.budget]
    picks = given["picks"] or ([sweep.pick] if sweep and sweep.pick else [])
    cases = [
        Case(amount(budget, found.currency) + (f", {rule}" if picks else ""), rule, budget)
        for budget in budgets
        for rule in picks or ["fastest"]
    ]
    if not budgets:
        loses = any(not one.reliable for one in found.offerings)
        one_way = (
            deadline is not None
            or all(one.free for one in found.offerings)
            or (tail == "ntdmr" and loses)  # which offers no schedules
        )
        cases = [Case(rule, rule) for rule in picks or (["fastest"] if one_way else KINDS)]
    return world, drawn, cases, tail


def _rows(sweep: "Work | None") -> Sequence[Mapping[str, str]]:
    """The parameters of each task of a sweep; none of a workflow."""
    from bats.master.sweep.sweep import Sweep

    if not isinstance(sweep, Sweep) or sweep.open or sweep.count > _MOST_ROWS:
        return ()
    values = (sweep.space.values(index) for index in range(sweep.count))
    return [dict(zip(sweep.names, row, strict=True)) for row in values]


def _read(file: str) -> "Work":
    """The work of a file, be it a sweep, steps, or another system's workflow."""
    from bats.master.sweep.arguments import from_arguments
    from bats.master.sweep.workflow.formats import foreign_workflow
    from bats.master.sweep.workflow.task_list import Emulation

    workflow = foreign_workflow(file, Emulation(timed=False))  # its commands do not matter
    return workflow or from_arguments((), file=file, settings={})


def _steps(work: "Workflow") -> "list[StepTasks]":
    from bats.master.simulate.runtimes_of_steps import StepTasks

    return [StepTasks(step.name, step.count, _rows(step)) for step in work.steps]


def _sizes(workflow: "Workflow") -> dict[str, int]:
    """The number of tasks of each step."""
    return {step.name: step.count for step in workflow.steps}


def _of_bag(
    common: Common, wanted: int | str, work: "Work | None"
) -> "tuple[Bag, Workload, dict[str, float]]":
    """The bag, the runtimes of its tasks, and how fast its machines were.

    Tasks of a workflow take as long as they did, if it is asked about with the same steps.
    """
    from bats.master.bag import read_bag
    from bats.master.queries.question import find_bag
    from bats.master.simulate.given_runtimes import of_clusters
    from bats.master.simulate.runtimes_of_steps import of_run
    from bats.master.store.reader import Reader
    from bats.master.sweep.workflow.workflow import Workflow

    with Reader(common.state) as reader:
        number = find_bag(reader, wanted)
        bag = read_bag(reader, number)
        ran, asked = bag.sweep, work or bag.sweep
        if (
            isinstance(ran, Workflow)
            and isinstance(asked, Workflow)
            and _sizes(ran) == _sizes(asked)
        ):
            found = reader.left_by(number, range(ran.count))
            done = ((one.task, one.cluster, one.wall_seconds) for one in found)
            return bag, *of_run(done, _steps(ran))
        names = [row.cluster for row in reader.clusters(number)]
        return bag, *of_clusters({n: reader.runtimes(number, n) for n in names})


def _speeds(
    offerings: "Sequence[Offering]", given: Sequence[str], before: Mapping[str, float]
) -> tuple[float, ...]:
    """Speeds as they were given; else the earlier run's; else its settings'; else 1."""
    names = [str(one.name) for one in offerings]
    chosen: dict[str, float] = {}
    for written in given:
        name, _, factor = written.partition("=")
        if name not in names:
            raise UsageError(
                f"--speed: there is no offering {quoted(name)}; there are {', '.join(names)}."
            )
        try:
            chosen[name] = float(factor)
        except ValueError:
            chosen[name] = 0.0
        if not 0 < chosen[name] < 1e9:
            raise UsageError(f"--speed {written}: the factor should be a number above 0.")
    usual = {str(one.name): one.settings.get("speed", 1.0) for one in offerings}
    return tuple(chosen.get(name, before.get(name, float(usual[name]))) for name in names)


def _money(written: str) -> Any:
    try:
        value = money(written)
    except ValueError as error:
        raise UsageError(f"--budget: {error}.") from None
    if value < 0:
        raise UsageError(f"--budget {written}: a budget is 0 or more.")
    return value


def _duration(written: str | None, option: str) -> float | None:
    try:
        return None if written is None else seconds(written)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from None


@contextmanager
def _progress(common: Common, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error while a person is watching."""
    if common.quiet or common.as_json or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress("simulating", *columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)
