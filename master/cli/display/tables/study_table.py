"""Studies as facts for programs and as a table for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from bats.common.money import Money
from bats.master.api import replies
from bats.master.cli.display import strategies
from bats.master.cli.display.formatting import amount, count, duration, mix, table
from bats.master.cli.policy_options import policy_in_words

if TYPE_CHECKING:
    from bats.master.simulate.study import Summary, World
    from bats.master.simulate.workloads import Workload


class CaseFacts(TypedDict):
    """A way to choose: what its runs came to. Money and times are those of the median run."""

    name: str
    rule: str
    budget: Money | None
    mix: tuple[int, ...] | None
    seconds: dict[str, float] | None
    median_cost: Money
    low_cost: Money
    high_cost: Money
    finished_share: float
    in_time_share: float
    sample_time_share: float
    sample_cost_share: float
    saved_seconds: float | None
    saved_cost: Money | None
    words: str


class ClusterFacts(TypedDict):
    name: str
    speed: float
    max_machines: int
    reliable: bool


class StudyFacts(TypedDict):
    tasks: int
    runtimes: str
    clusters: list[ClusterFacts]
    currency: str
    deadline_seconds: float | None
    tail: str
    policy: dict[str, Any]
    frontier: NotRequired["replies.Frontier"]  # of one more like it, where machines may be lost
    runs: int
    seed: int
    cases: list[CaseFacts]
    written: NotRequired[str]


def facts_of(
    world: "World", workload: "Workload", summaries: "Sequence[Summary]", *, tail: str, seed: int
) -> StudyFacts:
    return {
        "tasks": world.tasks,
        "runtimes": workload.about,
        "clusters": [
            {
                "name": one.name,
                "speed": speed,
                "max_machines": one.max_machines,
                "reliable": one.reliable,
            }
            for one, speed in zip(world.offerings, world.speeds, strict=True)
        ],
        "currency": world.currency,
        "deadline_seconds": world.deadline_seconds,
        "tail": tail,
        "policy": {k: getattr(v, "value", v) for k, v in world.policy.items()},
        "runs": summaries[0].runs,
        "seed": seed,
        "cases": [
            {
                "name": one.case.name,
                "rule": one.case.rule,
                "budget": one.case.budget,
                "mix": one.mix,
                "seconds": None if one.seconds is None else asdict(one.seconds),
                "median_cost": one.cost.median,
                "low_cost": one.cost.low,
                "high_cost": one.cost.high,
                "finished_share": one.finished / one.runs,
                "in_time_share": one.in_time / one.runs,
                "sample_time_share": one.sample_time,
                "sample_cost_share": one.sample_cost,
                "saved_seconds": one.saved_seconds,
                "saved_cost": one.saved_cost,
                "words": one.words,
            }
            for one in summaries
        ],
    }


def lines(facts: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The table's head and rows."""
    currency, names = facts["currency"], [one["name"] for one in facts["clusters"]]
    head = ["budget" if facts["cases"][0]["budget"] is not None else "schedule", "machines",
            "time", "90 % of runs", "price", "90 % of runs", "done"]  # fmt: skip
    late = facts["deadline_seconds"] is not None
    head += ["in time"] * late + ["sample", "tail saves"]
    by_strategy = _by_strategy(facts)
    rows = []
    for one in facts["cases"]:
        took = one["seconds"]
        saved = one["saved_seconds"]
        rows.append(
            [
                one["name"],
                mix(one["mix"], names) if one["mix"] else by_strategy or "the sample's",
                duration(took and took["median"]),
                f"{duration(took['low'])} to {duration(took['high'])}" if took else "–",
                amount(one["median_cost"], currency),
                f"{amount(one['low_cost'], currency)} to {amount(one['high_cost'], currency)}",
                f"{one['finished_share']:.0%}",
                *([f"{one['in_time_share']:.0%}"] * late),
                "–"
                if by_strategy
                else f"{one['sample_time_share']:.0%}, {one['sample_cost_share']:.0%}",
                "–" if saved is None else _signed(saved),
            ]
        )
    return head, rows


def _by_strategy(facts: Mapping[str, Any]) -> str:
    """The words for machines that no sample, but a strategy, decides on; "" elsewhere."""
    loses = any(not one["reliable"] for one in facts["clusters"])
    return "the strategy's" if facts["tail"] == "ntdmr" and loses else ""


def _signed(saved: float) -> str:
    return duration(saved) if saved >= 0 else f"-{duration(-saved)}"


def told(facts: Mapping[str, Any]) -> str:
    clusters = ", ".join(
        f"up to {one['max_machines']:,} {one['name']} of speed {one['speed']:.3g}"
        for one in facts["clusters"]
    )
    about = f"{count(facts['tasks'], 'task')} ({facts['runtimes']}) on {clusters}"
    said = [
        f"{about}; {count(facts['runs'], 'run')} each",
        "",
        table(*lines(facts)),
        "",
        "done: runs that finished within the budget. sample: its share of the time, of the price.",
        f"tail saves: by the strategy {facts['tail']}, against none.",
    ]
    if facts["policy"]:
        said.append(policy_in_words(facts["policy"]))
    said += [
        f"{one['name']}: in {1 - one['finished_share']:.0%} of the runs tasks are left; "
        f"in one of them {one['words']}."
        for one in facts["cases"]
        if one["words"]
    ]
    if frontier := facts.get("frontier"):
        said += ["", strategies.said(frontier)]
    if written := facts.get("written"):
        said.append(f"written: {written}")
    return "\n".join(said)
