"""Learns by SARSA to dispatch two elevators; the result is how long passengers wait (T §6.1).

An epoch is a day. The cars share what they learn and what they lose: as many points each tick as
passengers wait in the building, so that the points lost in a day are its total waiting time.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from elevators import Building, NearestCallDispatcher, Passenger, RandomDispatcher, Situation
from task_program import (
    at_least,
    check_pace,
    computing_parser,
    keep_pace,
    report,
    scaled,
    share,
)

Values = defaultdict[Situation, list[float]]  # Q(s, a): the points to come, by floor chosen


@dataclass(slots=True)
class SarsaDispatcher:
    """Learns from each decision when its car has to take the next one: on-policy, one step."""

    values: Values
    exploration: float
    rate: float
    discount: float  # per tick, as decisions lie unequally far apart
    chance: Random
    last_values: list[float] | None = None
    last_choice: int = 0
    points: float = 0.0
    weight: float = 1.0

    def choose(self, situation: Situation) -> int:
        values = self.values[situation]
        if self.chance.random() < self.exploration:
            choice = self.chance.randrange(len(values))
        else:
            choice = values.index(max(values))
        if self.last_values is not None:
            outcome = self.points + self.weight * values[choice]
            error = outcome - self.last_values[self.last_choice]
            self.last_values[self.last_choice] += self.rate * error
        self.last_values, self.last_choice = values, choice
        self.points, self.weight = 0.0, 1.0
        return choice

    def observe(self, waiting: int) -> None:
        self.points -= self.weight * waiting
        self.weight *= self.discount


def day(building: Building, seed: int, days_left: int) -> list[Passenger]:
    """The passengers of a day; those of the last are the same however many epochs precede it."""
    return building.draw_day(Random(f"{seed}/{days_left}"))


def learn(
    building: Building, epochs: int, exploration: float, rate: float, discount: float, seed: int
) -> list[int]:
    """The total waiting time of each epoch.

    Exploration and learning rate shrink with the days left; the last day shows what was learned.
    """
    values: Values = defaultdict(lambda: [0.0] * building.floors)  # nothing is so good: try it
    chance = Random(seed)
    totals = []
    for days_left in reversed(range(epochs)):
        remaining = days_left / epochs
        first, second = (
            SarsaDispatcher(values, exploration * remaining, rate * remaining, discount, chance)
            for _ in range(2)
        )
        totals.append(building.waiting_time(day(building, seed, days_left), (first, second)))
    return totals


def read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    arguments = computing_parser(__doc__, "an epoch")
    arguments.add_argument("--epochs", type=at_least(1), default=1000, help="days to learn")
    arguments.add_argument("--floors", type=at_least(2), default=5)
    arguments.add_argument("--ticks", type=at_least(1), default=400, help="length of a day")
    arguments.add_argument("--arrivals", type=share, default=0.25, help="passengers per tick")
    arguments.add_argument("--exploration", type=share, default=0.1, help="at first")
    arguments.add_argument("--rate", type=share, default=0.2, help="of learning, at first")
    arguments.add_argument("--discount", type=share, default=0.8, help="per tick")
    return arguments.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    arguments = read_arguments(words)
    check_pace(arguments)
    building = Building(arguments.floors, arguments.ticks, arguments.arrivals)
    epochs = scaled(arguments.epochs, arguments.scale)
    totals = learn(
        building,
        epochs,
        arguments.exploration,
        arguments.rate,
        arguments.discount,
        arguments.seed,
    )
    last_day = day(building, arguments.seed, days_left=0)
    anywhere = RandomDispatcher(building.floors, Random(arguments.seed))
    nearest = NearestCallDispatcher()
    result = {
        "program": "sarsa",
        "epochs": epochs,
        "seed": arguments.seed,
        "passengers": len(last_day),
        "total_waiting_time": totals[-1],
        "baseline": {
            "nearest_call": building.waiting_time(last_day, (nearest, nearest)),
            "random": building.waiting_time(last_day, (anywhere, anywhere)),
        },
    }
    keep_pace(arguments, epochs)
    report(result, arguments.out)


if __name__ == "__main__":
    main()
