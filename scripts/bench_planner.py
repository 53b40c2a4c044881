#!/usr/bin/env python3
"""Seconds that planning takes, on one core, nothing remembered from the plan before.

usage: scripts/bench_planner.py [--quick] [--json]
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from figures import Report

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning import frontier
from bats.master.brain.planning.deadline import cheapest_within
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import Problem, all_machines
from bats.master.brain.planning.schedules import offers

UNITS = 1_000_000  # the budget of the bar, in units of the prices' greatest common divisor
TASKS = (1000, 20_000, 200_000)


@dataclass(frozen=True)
class Market:
    name: str
    clusters: int
    machines: int
    price: Callable[[random.Random], Money]
    atus: tuple[float, ...] = (3600.0,)

    def draw(self, chance: random.Random) -> tuple[Cluster, ...]:
        return tuple(
            Cluster(
                Offering(
                    ClusterName(f"c{i}"),
                    self.price(chance),
                    chance.choice(self.atus),
                    self.machines,
                ),
                chance.uniform(60, 1800),
                self.machines,
            )
            for i in range(self.clusters)
        )


def cents(chance: random.Random) -> Money:
    return money(f"{chance.randint(1, 1000) / 100:.2f}")


def listed(chance: random.Random) -> Money:
    """A price per second as clouds list them: fractions of a cent."""
    return Money(
        money(chance.choice(["0.0104", "0.0416", "0.085", "0.17", "0.192", "0.384"])) // 3600
    )


SMALL = (
    Market("3 clusters × 32, cents per hour", 3, 32, cents),
    Market("3 clusters × 32, hours, minutes and seconds", 3, 32, cents, (1.0, 60.0, 3600.0)),
    Market("3 clusters × 32, per second", 3, 32, listed, (1.0,)),
)
LARGE = Market("20 clusters × 200, cents per hour", 20, 200, cents)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Time on the processor, of the least disturbed try."""
    tries = []
    for _ in range(repeats):
        frontier.forget()
        began = time.process_time()
        work()
        tries.append(time.process_time() - began)
    return min(tries)


def affordable(
    clusters: tuple[Cluster, ...], tasks: int, shares: tuple[float, ...]
) -> Iterator[Problem]:
    """Budgets between the cheapest plan and all machines."""
    cheapest = cheapest_within(clusters, tasks)
    assert cheapest is not None
    highest = all_machines(clusters, tasks).cost
    for share in shares:
        budget = Money(cheapest.cost + int(share * (highest - cheapest.cost)))
        yield Problem(clusters, tasks, budget)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time the mix planner.")
    parser.add_argument("--quick", action="store_true", help="fewer markets")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    chosen = parser.parse_args(arguments)
    report = Report("planner")
    markets = 2 if chosen.quick else 8
    chance = random.Random(1)

    slowest = {}
    for market in SMALL:
        plans, barely, cheapest, six = [], [], [], []
        for _ in range(markets):
            clusters, tasks = market.draw(chance), chance.choice(TASKS)
            least, *problems = affordable(clusters, tasks, (0.0, 0.1, 0.5, 0.9))
            plans += [seconds(lambda p=p: knapsack(p)) for p in problems]
            barely.append(seconds(lambda p=least: knapsack(p)))
            cheapest.append(seconds(lambda c=clusters, n=tasks: cheapest_within(c, n)))
            six.append(seconds(lambda c=clusters, n=tasks: offers(c, n)))
        slowest[market.name] = max(plans)
        report.figure(
            f"{market.name}: plan, median", None, 1e3 * sorted(plans)[len(plans) // 2], "ms"
        )
        report.figure(f"{market.name}: plan, slowest", None, 1e3 * max(plans), "ms")
        report.figure(f"{market.name}: with barely enough, slowest", None, 1e3 * max(barely), "ms")
        report.figure(f"{market.name}: cheapest, slowest", None, 1e3 * max(cheapest), "ms")
        report.figure(f"{market.name}: six offers, slowest", None, 1e3 * max(six), "ms")

    plans, tables = [], []
    for _ in range(markets):
        clusters = LARGE.draw(chance)
        budget = Money(UNITS * math.gcd(*(cluster.offering.price for cluster in clusters)))
        limits = tuple(cluster.limit for cluster in clusters)
        tables.append(seconds(lambda c=clusters, a=limits, b=budget: frontier.frontier(c, a, b)))
        for atus in (1, 5, 40):  # a bag that keeps the mix of this budget busy for so long
            table = frontier.frontier(clusters, limits, budget)
            speed = table.speed_within(Money(budget // atus))
            problem = Problem(clusters, speed * atus * 3600 * 0.97, budget)
            plans.append(seconds(lambda p=problem: knapsack(p)))
    report.figure(f"{LARGE.name}: plan, median", None, 1e3 * sorted(plans)[len(plans) // 2], "ms")
    report.figure(f"{LARGE.name}: plan, slowest", None, 1e3 * max(plans), "ms")
    report.figure(
        "its whole frontier up to 1,000,000 units, slowest", None, 1e3 * max(tables), "ms"
    )

    small = 1e3 * slowest[SMALL[0].name]
    large = 1e3 * max(plans)
    report.bar("3 clusters × 32 machines: a plan, ms", 2, small, small < 2)
    report.bar("20 clusters × 200, a budget of 10^6 units: a plan, ms", 100, large, large < 100)
    return report.finish(chosen.json)


if __name__ == "__main__":
    sys.exit(main())
