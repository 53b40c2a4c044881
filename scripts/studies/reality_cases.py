"""The cases that showed that version 0.1.0 knew only the papers' world, simulated as a user would.

Offerings come from a clouds file, as for `bats simulate`; so machines must be told to stop a little
before an ATU ends. Each is simulated three times by the code behind that command. Bars: a budget
that was given suffices; without one, every schedule on offer finishes for its own price.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Report

from bats.common.money import Money, as_decimal, money
from bats.common.offering import Offering
from bats.master.clouds.clouds_reading import clouds
from bats.master.simulate.study import Case, Summary, World, study
from bats.master.simulate.workloads import constant

from .cells import MACHINES, MINUTE

SCHEDULES = ("cheapest", "cheapest+10%", "cheapest+20%", "fastest-20%", "fastest-10%", "fastest")
RUNS = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """Equal tasks on two kinds of machines."""

    tasks: int
    seconds: float
    atu: str
    dollars_per_hour: tuple[str, str]
    speeds: tuple[float, float]
    budget: Money | None

    @property
    def name(self) -> str:
        asked = "no budget" if self.budget is None else f"${as_decimal(self.budget)}"
        return f"{self.tasks} × {self.seconds:g} s, ATU {self.atu}, {asked}"

    @property
    def clouds_file(self) -> str:
        return "".join(
            f'[[offering]]\nname = "kind{kind}"\nbackend = "local"\nprice = "{price}"\n'
            f'atu = "{self.atu}"\nmax = {MACHINES}\n'
            for kind, price in enumerate(self.dollars_per_hour)
        )

    @property
    def offerings(self) -> tuple[Offering, ...]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "clouds.toml"
            path.write_text(self.clouds_file, encoding="utf-8")
            return clouds(path).offerings


SHOWN = (
    Shown(60, 90.0, "second", ("0.36", "1.08"), (1.0, 1.0), money(1)),
    Shown(60, 90.0, "minute", ("0.36", "1.08"), (1.0, 1.0), money(1)),
    Shown(40, 8.0, "second", ("2.43", "7.29"), (1.0, 1.0), money("0.40")),
    Shown(60, 20.0, "second", ("0.205", "0.82"), (1.0, 1.0), None),
    Shown(60, 720.0, "second", ("0.205", "0.82"), (1.0, 2.0), None),
    Shown(60, 720.0, "second", ("0.205", "0.82"), (1.0, 2.0), money(5)),
)


def simulated(shown: Shown) -> list[Summary]:
    if shown.budget is None:
        cases = [Case(name, name) for name in SCHEDULES]
    else:
        cases = [Case("the budget", "fastest", shown.budget)]
    world = World(shown.tasks, shown.offerings, shown.speeds)
    return study(world, cases, constant(shown.seconds / MINUTE), runs=RUNS)


def tell(report: Report, cases: Sequence[Shown] = SHOWN) -> None:
    for shown in cases:
        summaries = simulated(shown)
        for one in summaries:
            what = f"{shown.name}: {one.case.name}, ${as_decimal(one.cost.median):.3f}"
            if one.seconds:
                what += f", {one.seconds.median:.0f} s"
            report.figure(what, None, one.finished, f"of {one.runs}")
        finished = sum(one.finished for one in summaries) / sum(one.runs for one in summaries)
        report.bar(f"finished: {shown.name}", 1.0, round(finished, 3), finished == 1.0)
