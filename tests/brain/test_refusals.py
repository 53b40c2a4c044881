"""Who is refused is told one number for all of the bag, sample and rest; and it then suffices."""

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.workbench import HOUR, Bench, offering, only, settings

from bats.common.money import Money, money
from bats.master.brain.books.phase import Phase
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Chosen, Resumed, SetAside
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.brain.views.told import needs, refusals
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import Workload, log_normal, normal

AMOUNT = re.compile(r"\$(\d[\d,]*\.?\d*)")
IN_ALL = re.compile(r"needs \$(\S+) in all")


def told(words: str) -> Money:
    found = IN_ALL.search(words)
    assert found, words
    return money(found[1].replace(",", ""))


class World(Simulation):
    """A bag on two kinds of machines, whose user answers the first offer."""

    def __init__(
        self, seed: int, *, tasks: int, workload: Workload, atu: float, **more: object
    ) -> None:
        runtimes = workload.draw(tasks, np.random.default_rng(seed))
        hourly = {"slow": 1.0, "fast": 3.0}
        kinds = tuple(
            offering(name, f"{price * atu / HOUR:.6f}", machines=8, atu=atu)
            for name, price in hourly.items()
        )
        of = Settings(tasks, kinds, rule="ask", seed=seed)
        of = replace(of, **more)  # type: ignore[arg-type]
        speeds = (1.0, 2.0 + 2 * (seed % 2))
        conditions = Conditions(start_seconds=lambda rng, _: rng.uniform(20, 60))
        conditions = replace(conditions, answers=self.answer)
        super().__init__(
            of, lambda task, cluster: float(runtimes[task]) / speeds[cluster], conditions, seed
        )
        self.words = ""

    def answer(self, schedules: tuple[Schedule, ...], now: float) -> tuple[float, Chosen] | None:
        """A cent is too little; what is named instead is taken, a minute later."""
        if self.words or not schedules or self.engine.run.settings.rule != ASK:
            return None
        self.words = refusals.why_not(self.engine.run, Chosen("fastest", money("0.01")))
        return (now + 60, Chosen("fastest", told(self.words))) if self.words else None


def outcomes(tasks: int, atu: float, workload: Workload) -> list[tuple[bool, float]]:
    """Of bags whose users take the budget that is named: whether they end, and what it left over.

    None whose rest is done in paid time, for which nothing is refused.
    """
    found = []
    for seed in range(6):
        world = World(seed, tasks=tasks, workload=workload, atu=atu)
        end = world.run().end
        if world.words:
            assert end is not None
            spent = world.engine.run.ledger.settled
            assert spent <= told(world.words)
            found.append((end.outcome is do.BagOutcome.COMPLETE, told(world.words) / spent))
    return found


@pytest.mark.parametrize("atu", [1.0, 60.0, HOUR])
@pytest.mark.parametrize("tasks", [100, 400])
def test_the_budget_that_is_named_finishes_the_bag_and_is_not_far_more(
    atu: float, tasks: int
) -> None:
    found = outcomes(tasks, atu, normal())
    assert found
    assert all(finished for finished, _ in found)
    assert max(more for _, more in found) < 1.25


def test_it_finishes_most_bags_whose_tasks_have_hardly_a_typical_length() -> None:
    """Of which a sample tells little: it holds those that end first, and few of the longest."""
    found = [one for atu in (1.0, 60.0) for one in outcomes(200, atu, log_normal())]
    assert sum(finished for finished, _ in found) >= 0.6 * len(found)


def waiting(budget: int | None = None, deadline: float | None = None) -> Bench:
    """A hundred tasks of an hour, runtimes known, nothing chosen yet."""
    bench = Bench(
        settings(
            100, offering(machines=8), rule="ask", known=(tuple([HOUR] * 30),), budget=budget,
            deadline_seconds=deadline,
        )
    )  # fmt: skip
    bench.begin()
    assert bench.run.phase is Phase.CHOOSING
    return bench


def test_the_amount_named_is_taken_and_what_is_less_is_refused_with_the_same() -> None:
    bench = waiting()
    enough = told(refusals.why_not(bench.run, Chosen("fastest", money("0.01"))))
    assert enough >= money(300)
    assert told(refusals.why_not(bench.run, Chosen("fastest", money(200)))) == enough
    assert refusals.why_not(bench.run, Chosen("fastest", enough)) == ""


def test_an_amount_that_is_shown_in_cents_is_enough() -> None:
    assert needs.whole_cents(Money(1_234_567_891)) == money("1.24")
    assert needs.whole_cents(money("1.24")) == money("1.24")


def test_a_budget_that_was_taken_is_not_refused_when_a_schedule_is_named_afterwards() -> None:
    bench = waiting()
    bench(Chosen("fastest", money(250)))  # as if it had sufficed then
    assert refusals.why_not(bench.run, Chosen("fastest", money(250))) != ""
    assert refusals.why_not(bench.run, Chosen("cheapest")) == ""


def test_a_deadline_that_all_machines_miss_is_told_with_the_soonest_end() -> None:
    bench = waiting()
    words = refusals.why_not(bench.run, Chosen("fastest", None, 5 * HOUR))
    assert words.startswith("The deadline cannot be earlier than 13 h 30 min: then all machines")
    assert refusals.why_not(bench.run, Chosen("fastest", None, 13.5 * HOUR)) == ""


def test_no_deadline_is_promised_where_no_machine_can_be_had() -> None:
    bench = waiting()
    bench(SetAside(0, "it is closed"))
    words = refusals.too_late(bench.run, 20 * HOUR)
    assert words == "No deadline can be kept: no machine can be had for the last 100 tasks."


def test_a_deadline_that_costs_more_than_the_budget_is_told_with_what_would_do() -> None:
    bench = waiting()
    words = refusals.why_not(bench.run, Chosen("fastest", money(100), 20 * HOUR))
    assert words.startswith("To be done within 20 h 0 min it needs $3")
    assert "in all, more than the budget of $100.00; $0.00 are spent" in words
    assert refusals.why_not(bench.run, Chosen("fastest", told(words), 20 * HOUR)) == ""


def test_a_budget_that_was_chosen_stays_when_a_schedule_is_named_afterwards() -> None:
    bench = waiting()
    prices = {one.name: one.budget for one in bench.run.schedules}
    assert prices["cheapest"] < money(302) < prices["fastest"]
    bench(Chosen("fastest", money(302)))
    bench(Chosen("fastest"), 60)
    assert bench.run.ledger.limit == money(302)
    bench(Chosen("fastest", money(500)), 120)
    assert bench.run.ledger.limit == money(500)


def test_a_deadline_that_cannot_be_met_gets_the_fastest_there_is() -> None:
    late, fast = (
        World(3, tasks=128, workload=normal(1.0, 0.1), atu=60.0, rule="fastest", **more)
        for more in ({"deadline_seconds": 120.0}, {})
    )
    ended, soonest = late.run().ended_at, fast.run().ended_at
    assert ended is not None
    assert soonest is not None
    assert ended <= 1.05 * soonest
    (said,) = [words for _, words in late.history.decisions if "cannot be earlier" in words]
    assert "goes on as fast as its money allows" in said


def test_a_deadline_that_costs_more_than_the_budget_gets_the_fastest_for_it() -> None:
    late, fast = waiting(), waiting()
    said = only(do.Decided, late(Chosen("fastest", money(301), 13 * HOUR)))
    assert said[0].words.startswith("To be done within 13 h 0 min it needs $3")
    assert said[0].words.endswith("it goes on as fast as its money allows.")
    fast(Chosen("fastest", money(301)))
    assert late.run.plan is not None
    assert fast.run.plan is not None
    assert late.run.plan.mix == fast.run.plan.mix
    assert late.run.ledger.limit == fast.run.ledger.limit == money(301)


def test_an_end_out_of_budget_names_what_then_does() -> None:
    finished = 0
    for seed in range(6):
        world = World(
            seed, tasks=100, workload=normal(), atu=60.0, rule="fastest", budget=money(10)
        )
        end = world.run().end
        assert end is not None
        assert end.outcome is do.BagOutcome.OUT_OF_BUDGET
        (enough,) = re.findall(r"choose a budget of \$(\S+)", end.words)
        world.deliver(Chosen("fastest", money(enough)), world.engine.run.now + 60)
        end = world.go_on().end
        assert end is not None
        finished += end.outcome is do.BagOutcome.COMPLETE
        assert world.engine.run.ledger.settled <= money(enough)
    assert finished == 6


def test_a_budget_that_pays_for_no_machine_is_told_with_what_one_takes() -> None:
    kinds = (offering("dear", "0.50"), offering("cheap", "0.041"), offering("none", 0, machines=0))
    words = refusals.pays_for_nothing(money("0.04"), kinds, "$")
    assert "The budget of $0.04 pays for no machine: the cheapest, cheap, is had for $0.05" in words
    assert refusals.pays_for_nothing(money("0.05"), kinds, "$") == ""
    assert refusals.pays_for_nothing(None, kinds, "$") == ""
    assert refusals.pays_for_nothing(money(0), (*kinds, offering("desk", 0)), "$") == ""


def test_a_budget_spent_before_any_task_has_ended_says_how_long_one_ran() -> None:
    world = World(1, tasks=2, workload=normal(600.0, 1.0), atu=60.0, rule="fastest",
                  budget=money("0.30"))  # fmt: skip
    for k in range(1, 20):
        world.tell(Resumed(), k * HOUR / 4)  # it is paused, as no task ends
    end = world.run().end
    assert end is not None
    assert end.outcome is do.BagOutcome.OUT_OF_BUDGET
    assert re.search(r"\$0\.\d+ are spent and none has ended yet: one had run for .* on", end.words)
